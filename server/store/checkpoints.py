"""Checkpoints the write-ahead log of a file, mostly on a thread of its own, so that no write waits for it.

SQLite alone would do all of it within a commit, and restart its log only if nobody reads from it at that moment. Under
constant reads the log would grow without bound and slow down every read."""

import threading
import time
from pathlib import Path

import apsw

from server import log
from server.store.faults import as_helpdesk_error
from server.store.file_watch import OpenFiles

LOG_PAGES = 8000  # length of the log that starts a checkpoint: pages that change often are then copied once
BUSY_TIMEOUT_MS = 5000  # another program, such as our own command line, may hold the file for a moment
WAIT_SECONDS = 0.1  # wait for readers of the log, during which writes wait
LOOK_SECONDS = 0.001
PATIENCE = 1.5  # growth of the log until a failed checkpoint is repeated
LOG = log.get("store")


class Checkpoints:
    """Owns the checkpoint thread, which starts with the first checkpoint."""

    def __init__(self, path: Path, files: OpenFiles) -> None:
        self._path = path
        self._files = files
        self._pages = 0
        self._due_at = LOG_PAGES
        self._wake = threading.Event()
        self._is_folded = False  # except the pages written since
        self._is_stopping = False
        self._thread: threading.Thread | None = None

    def committed(self, connection: apsw.Connection, database: str, pages: int) -> int:
        """Called by the writer's connection after each commit. pages: the present length of the log."""
        self._pages = pages
        if pages < LOG_PAGES:
            self._due_at = LOG_PAGES
        elif pages >= self._due_at:
            self._due_at = int(pages * PATIENCE)
            self._wake.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="checkpoints", daemon=True)
                self._thread.start()
        return apsw.SQLITE_OK

    def before_write(self, connection: apsw.Connection) -> None:
        """Restarts the log once it has been checkpointed, so that new reads use the file alone. Waits briefly for those
        that still read from the log. Runs on the writer's thread."""
        if not self._is_folded:
            return
        self._is_folded = False
        give_up_at = time.monotonic() + WAIT_SECONDS

        def may_wait(looks: int) -> bool:
            time.sleep(LOOK_SECONDS)
            return time.monotonic() < give_up_at

        connection.set_busy_handler(may_wait)
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
        except apsw.BusyError:
            pass  # a long read: repeated when the log has grown
        except apsw.Error as error:
            _log_failure(error)
        finally:
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)

    def stop(self) -> None:
        """Waits for the running checkpoint and starts no others."""
        self._is_stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            connection = apsw.Connection(str(self._path))
        except apsw.Error as error:
            _log_failure(error)
            self._thread = None  # the next commit beyond the limit starts another thread
            return
        while not self._is_stopping:
            self._fold(connection)
            self._wake.wait()
            self._wake.clear()
        connection.close(True)

    def _fold(self, connection: apsw.Connection) -> None:
        """Copies the pages that no reader needs from the log any more, while others write."""
        try:
            self._files.require()
            connection.execute("SELECT 1 FROM sqlite_master").fetchall()  # SQLite opens the log with the first read
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except Exception as error:
            _log_failure(error)
        else:
            self._is_folded = True


def _log_failure(error: Exception) -> None:
    LOG.warning("database.log_kept", reason=str(as_helpdesk_error(error)))
