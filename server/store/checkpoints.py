"""Folding the write-ahead log of a file back into it: most of it beside the writer, so that no write waits for it.

SQLite would do all of it within a commit, and begin its log again only where nobody reads from it at that very moment.
Where somebody always does, the log would grow without end, and each read look through all of it."""

import threading
import time
from pathlib import Path

import apsw

from server import log
from server.store.faults import as_helpdesk_error
from server.store.files import OpenFiles

LOG_PAGES = 8000  # of the log before it is folded back: pages that change often are then copied once
BUSY_TIMEOUT_MS = 5000  # another program, such as our own command line, may hold the file for a moment
WAIT_SECONDS = 0.1  # for those who still read from the log; writes wait meanwhile
LOOK_SECONDS = 0.001
PATIENCE = 1.5  # a log that could not be folded back may become so many times as long before it is tried again
LOG = log.get("store")


class Checkpoints:
    """Owns the thread that folds the log back, which begins when there is something to fold."""

    def __init__(self, path: Path, files: OpenFiles) -> None:
        self._path = path
        self._files = files
        self._pages = 0
        self._due_at = LOG_PAGES
        self._wake = threading.Event()
        self._is_folded = False  # but for what was written since
        self._is_stopping = False
        self._thread: threading.Thread | None = None

    def committed(self, connection: apsw.Connection, database: str, pages: int) -> int:
        """What the writer's connection calls after each commit. pages: in the log by now."""
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
        """On the writer's thread: have the log begin again where it has been folded back, so that those who begin to
        read now read the file alone. Waits for those who read from the log already, for a moment."""
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
            pass  # somebody reads for longer: tried again when the log is longer
        except apsw.Error as error:
            _tell(error)
        finally:
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)

    def stop(self) -> None:
        """Wait for the end of the one that runs, and make no further ones."""
        self._is_stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            connection = apsw.Connection(str(self._path))
        except apsw.Error as error:
            _tell(error)
            self._thread = None  # another one begins when the log is longer
            return
        while not self._is_stopping:
            self._fold(connection)
            self._wake.wait()
            self._wake.clear()
        connection.close(True)

    def _fold(self, connection: apsw.Connection) -> None:
        """Copy what nobody needs to find in the log any more, while others write."""
        try:
            self._files.require()
            connection.execute("SELECT 1 FROM sqlite_master").fetchall()  # SQLite knows of a log once it has read
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except Exception as error:
            _tell(error)
        else:
            self._is_folded = True


def _tell(error: Exception) -> None:
    LOG.warning("database.log_kept", reason=str(as_helpdesk_error(error)))
