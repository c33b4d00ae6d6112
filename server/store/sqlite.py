"""The store of one SQLite file: a pool of connections for reads, and one for writes."""

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, TypeVar

import apsw

from server import clock, log
from server.errors import Conflict, Damaged, HelpdeskError
from server.store import sqlite_schema, sqlite_texts
from server.store.checkpoints import BUSY_TIMEOUT_MS, Checkpoints
from server.store.copying import PART, copy_database
from server.store.database import AfterCommit, OfThread, OutOfSteps, Store, TextsWait
from server.store.dialect import add_functions
from server.store.faults import as_helpdesk_error, stopping, timed_out
from server.store.file_watch import OpenFiles, require_own_log
from server.store.fulltext import TextIndex
from server.store.lock import try_lock
from server.store.sqlite_schema import APPLICATION_ID
from server.store.sqlite_texts import Texts
from server.store.statements import SQLITE, SQLITE_COMPOSER, StatementCache
from server.store.tables import Table
from server.store.transaction import Transaction
from server.store.writer import Writer

Result = TypeVar("Result")

MIN_SQLITE = (3, 51, 3)  # earlier versions can corrupt the file by a checkpoint race in WAL mode
PROGRESS_STEPS = 1000  # virtual machine steps between checks of the clock
STATEMENTS_PREPARED = 512  # compiled statements cached per connection; compiling one takes 25 microseconds
MAX_FREE = 16  # pooled connections; more reads at once are rare
MAX_WARM = 4  # pooled connections with a page cache; the others were opened for a burst
WRITER_CACHES = 4  # the writer's page cache as a multiple of a reader's: it updates every index
CLAIM = ".lock"  # suffix of the lock of a file that is a copy's target
COPIED_AT = re.compile(r"[0-9]{9,12}")  # the last part of a copy's name
LOG = log.get("store")


class SqliteStore(Store):
    """path: the database file."""

    dialect = SQLITE
    fault = apsw.Error
    path: Path

    def __init__(
        self,
        path: Path,
        read_seconds: float = 5.0,
        queue_limit: int = 1024,
        batch_limit: int = 64,
        cache_kib: int = 4096,
        max_pages: int = 0,
        after_commit: AfterCommit | None = None,
    ) -> None:
        version = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
        if version < MIN_SQLITE:
            needed = ".".join(map(str, MIN_SQLITE))
            raise Damaged(f"SQLite {needed} or newer is needed, this is {apsw.sqlite_lib_version()}; update apsw")
        super().__init__(StatementCache(SQLITE_COMPOSER.statement), read_seconds, after_commit)
        self.path = path
        self.cache_kib = cache_kib
        self._claim: IO[str] | None = None  # locked while this file is a copy's target
        self._connections: list[apsw.Connection] = []
        self._free: list[apsw.Connection] = []  # a stack: the last one returned has the warmest cache
        self._connections_lock = threading.Lock()
        require_own_log(path)
        writing = self._open(can_write=True)
        writing.execute("SELECT 1 FROM sqlite_master").fetchall()  # creates the log and its index
        self.files = OpenFiles(path)
        self._checkpoints = Checkpoints(path, self.files)
        writing.set_wal_hook(self._checkpoints.committed)
        if max_pages:
            writing.execute(f"PRAGMA max_page_count={int(max_pages)}").fetchall()
        self._writing = writing
        self._texts = Texts()
        self._writer = Writer(self, queue_limit, batch_limit)

    # -- connections ------------------------------------------------------------------------------------------------

    def _open(self, can_write: bool) -> apsw.Connection:
        if not can_write and not self.path.exists():
            raise Damaged(f"there is no database at {self.path}")
        is_old = self.path.exists() and self.path.stat().st_size > 0
        try:
            connection = apsw.Connection(str(self.path), statementcachesize=STATEMENTS_PREPARED)
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            # Plans may not depend on bound values: else many statements are compiled again at each run.
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
            for pragma in (
                "foreign_keys=1",
                "trusted_schema=0",
                "mmap_size=0",
                f"cache_size=-{self.cache_kib * (WRITER_CACHES if can_write else 1)}",
                "temp_store=MEMORY",
            ):
                connection.execute(f"PRAGMA {pragma}").fetchall()
            if can_write:
                if not is_old:  # before WAL mode, so that it is in the header of the file itself
                    connection.execute(f"PRAGMA application_id={APPLICATION_ID}").fetchall()
                connection.execute("PRAGMA journal_mode=WAL").fetchall()
                connection.execute("PRAGMA synchronous=FULL").fetchall()
                connection.execute("PRAGMA wal_autocheckpoint=0").fetchall()  # see checkpoints.py
                connection.execute("PRAGMA journal_size_limit=67108864").fetchall()
            else:
                connection.execute("PRAGMA query_only=1").fetchall()
        except apsw.Error as error:
            raise as_helpdesk_error(error) from error
        if can_write and connection.readonly("main"):  # SQLite silently opens such a file read-only
            connection.close()
            raise Damaged(f"{self.path} cannot be written; check its permissions")
        add_functions(connection)
        connection.set_progress_handler(self._on_progress, PROGRESS_STEPS)
        with self._connections_lock:
            self._connections.append(connection)
        return connection

    def _borrow(self) -> apsw.Connection:
        if self._closed:
            raise stopping()
        try:
            return self._free.pop()
        except IndexError:
            return self._open(can_write=False)

    def _give_back(self, connection: apsw.Connection) -> None:
        """Ends the snapshot of a read and returns the connection to the pool; closes it if it fails or the pool is
        full."""
        try:
            if connection.in_transaction:
                connection.execute("COMMIT")
            if len(self._free) < MAX_FREE:
                if len(self._free) >= MAX_WARM:
                    connection.release_memory()
                self._free.append(connection)
                return
        except apsw.Error as error:
            LOG.exception("reader.failed", of=as_helpdesk_error(error))
        self._drop(connection)

    def _drop(self, connection: apsw.Connection) -> None:
        with self._connections_lock, contextlib.suppress(ValueError):  # the store may be closing
            self._connections.remove(connection)
        connection.close(True)

    def _on_progress(self) -> bool:
        """Returns whether to interrupt the statement: its time, or on the event loop its steps, are used up."""
        local = self._local
        bound = local.bound_left
        if bound is not None:
            local.bound_left = bound - PROGRESS_STEPS
            if local.bound_left <= 0:
                return True
        steps = local.steps_left
        if steps is not None:
            local.steps_left = steps - PROGRESS_STEPS
            if local.steps_left <= 0:
                return True
        deadline = local.deadline
        return deadline is not None and time.monotonic() > deadline

    def bounded(self, steps: int, work: Callable[[], Result]) -> Result:
        local = self._local
        local.bound_left = steps
        try:
            return work()
        except apsw.InterruptError:
            if local.bound_left <= 0:
                raise timed_out() from None
            raise  # the budget of the event loop, or the time of the read: raised by `read`
        finally:
            local.bound_left = None

    def transaction(self, connection: apsw.Connection, can_write: bool) -> Transaction:
        """Returns a transaction object over an open connection. Called by the writer."""
        return Transaction(self, connection, self.statements, can_write)

    def begin(self) -> apsw.Connection:
        self._checkpoints.before_write(self._writing)
        self._writing.execute("BEGIN IMMEDIATE")
        return self._writing

    def commit(self, connection: apsw.Connection) -> None:
        """Commits durably. Raises Damaged if the files were replaced, before or after the commit: a commit into a
        removed file is lost and must not be acknowledged."""
        self.files.require()
        connection.execute("COMMIT")
        self.files.require()

    def undo(self, connection: apsw.Connection) -> None:
        connection.execute("ROLLBACK")

    def is_failed(self, connection: apsw.Connection) -> bool:
        return not connection.in_transaction

    def dropped(self) -> Exception:
        return apsw.FullError("the transaction was dropped")

    def outline(self, connection: apsw.Connection) -> int:
        row = connection.execute("PRAGMA schema_version").fetchone()
        return int(row[0]) if row else 0

    def state(self, connection: apsw.Connection) -> int:
        row = connection.execute("PRAGMA data_version").fetchone()
        return int(row[0]) if row else 0

    def as_helpdesk_error(self, error: BaseException) -> BaseException:
        return as_helpdesk_error(error)

    def read(
        self, work: Callable[[Transaction], Result], steps: int | None = None, seconds: float | None = None
    ) -> Result:
        outer = self._writer.transaction_here() or self._local.shared
        if outer is not None:
            return work(outer)
        self.files.require_lately()
        connection = self._borrow()
        local = self._local
        local.deadline = time.monotonic() + (self.read_seconds if seconds is None else seconds)
        local.steps_left = steps
        tx = Transaction(self, connection, self.statements, False)
        tx.as_indexed = local.is_as_indexed
        try:
            connection.execute("BEGIN")
            return work(tx)
        except TextsWait as error:
            if steps is not None:
                raise  # the event loop must not wait for the writer
            names = error.names
        except apsw.InterruptError as error:
            if local.steps_left is not None and local.steps_left <= 0:
                raise OutOfSteps from None
            raise as_helpdesk_error(error) from error
        except apsw.Error as error:
            raise as_helpdesk_error(error) from error
        finally:
            local.deadline = local.steps_left = None  # first, so that the end of a read is not interrupted too
            self._give_back(connection)
            self.count_queries(tx.statements)
        if not self._writer.is_current:  # the writer would wait for itself
            # On a full disk the search finds only what is indexed already.
            try:
                self.write(lambda tx: self.index_waiting(tx, names))
            except HelpdeskError as error:
                self.record_indexed(error)
            else:
                self.record_indexed(None)
        with self.as_indexed():
            return self.read(work, None, seconds)

    def read_together(self, work: Callable[[], Result], steps: int | None) -> Result:
        def shared(tx: Transaction) -> Result:
            self._local.shared = tx
            try:
                return work()
            finally:
                self._local.shared = None

        return self.read(shared, steps)

    # -- whole file -------------------------------------------------------------------------------------------------

    def check(self) -> list[str]:
        """Lists the problems of the file by SQLite's integrity and foreign key checks; [] if it is sound.

        Uses a new connection: one that searched before caches the structure of a full-text index, which SQLite's check
        does not read again, and would report damage after writes of others."""
        if self._closed:
            raise stopping()
        self.files.require()
        connection = self._open(can_write=False)
        try:
            return problems_of(connection)
        finally:
            self._drop(connection)

    def claim(self) -> None:
        self._claim = open(f"{self.path}{CLAIM}", "a+", encoding="utf-8")  # noqa: SIM115, open as long as it is held
        if not try_lock(self._claim):
            self._claim.close()
            raise Conflict(f"{self.path} is being written by another process; wait for its end")

    def disclaim(self) -> None:
        Path(f"{self.path}{CLAIM}").unlink(missing_ok=True)

    def checkpoint(self) -> None:
        """Merges the write-ahead log into the file."""
        connection = self._connections[0]
        with contextlib.suppress(apsw.BusyError):  # a reader still uses it; the next start merges it
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def close(self) -> None:
        """Finishes the queued writes, merges the log and closes every connection. Later reads raise Unavailable.

        On a full disk the log stays, with everything acknowledged; the next start reads it."""
        if self._closed:
            return
        self._closed = True
        self._writer.close()
        self._checkpoints.stop()
        if self._claim is not None:
            self._claim.close()
        in_place = self.files.are_in_place
        if in_place:
            try:
                self.checkpoint()
            except apsw.Error as error:
                LOG.warning("database.log_kept", reason=str(as_helpdesk_error(error)))
        with self._connections_lock:
            for connection in self._connections:
                if not in_place:  # or SQLite would delete the log that has this name now, even a foreign one
                    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                connection.close(True)
            self._connections.clear()
            self._free.clear()
        self._local = OfThread()

    # -- contents and schema ----------------------------------------------------------------------------------------

    @property
    def place(self) -> str:
        return str(self.path)

    @property
    def is_in_place(self) -> bool:
        return self.files.are_in_place

    def sizes(self) -> tuple[int, int]:
        database, log = (
            file.stat().st_size if file.exists() else 0
            for file in (self.path, self.path.with_name(f"{self.path.name}-wal"))
        )
        return database, log

    def product(self) -> tuple[str, str]:
        return "SQLite", apsw.sqlite_lib_version()

    def announce_after(self, tx: Transaction, name: str) -> None:
        """Does nothing: no other process shares the file."""

    def columns(self, tx: Transaction, table: str) -> set[str]:
        return sqlite_schema.columns_of(tx, table)

    def is_empty(self, tx: Transaction) -> bool:
        return tx.connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None

    def add_table(self, tx: Transaction, table: Table) -> str | None:
        return sqlite_schema.add_table(tx, table)

    def drop_table(self, tx: Transaction, table: Table) -> None:
        tx.connection.execute(f'DROP TABLE IF EXISTS "{table.name}"')

    def indexes(self, tx: Transaction, table: Table) -> set[str]:
        return sqlite_schema.indexes_of(tx, table)

    def outlines(self, tables: list[Table], texts: list[TextIndex]) -> list[str]:
        return sqlite_schema.outline(tables, texts)

    def add_missing(self, tx: Transaction, tables: list[Table]) -> None:
        sqlite_schema.add_missing(tx, tables)

    def add_text(self, tx: Transaction, text: TextIndex) -> None:
        self._texts.add(tx, text)

    def text_parts(self, tx: Transaction, text: TextIndex) -> list[str]:
        return sqlite_texts.parts_of(tx, text)

    def index_text(self, tx: Transaction, text: TextIndex, id: int, parts: Iterable[str]) -> None:
        self._texts.index(tx, text, id, parts)

    def complete_text(self, tx: Transaction, text: TextIndex) -> None:
        sqlite_texts.add_waiting(tx, text)

    def unwait_text(self, tx: Transaction, text: TextIndex, id: int) -> None:
        sqlite_texts.unwait(tx, text, id)

    def require_indexed(self, tx: Transaction, names: tuple[str, ...]) -> None:
        if not self._texts.has_waiting(tx, names):
            return
        if tx.as_indexed:
            tx.lacks_texts = tx.lacks_texts or self._texts.are_stuck
            return
        if not tx.can_write:
            raise TextsWait(names)
        self._texts.put_in(tx, names)

    def index_waiting(self, tx: Transaction, names: tuple[str, ...]) -> None:
        if self._texts.has_waiting(tx, names):
            self._texts.put_in(tx, names)

    def record_indexed(self, error: BaseException | None) -> None:
        self._texts.are_stuck = error is not None

    @property
    def quiet_seconds(self) -> float | None:
        return sqlite_texts.QUIET_SECONDS if self._texts.may_wait else None

    def tidy(self, tx: Transaction) -> None:
        self._texts.put_in_all(tx)

    def refuse_newer(self) -> None:
        """Rejects a newer file. Asks SQLite, since the log may be newer than the header."""
        if self.read(sqlite_schema.number_of) > sqlite_schema.SCHEMA_NUMBER:
            raise Damaged(f"{self.path} was written by a newer version of this program; start that version")

    def before_migration(self) -> None:
        copy_before_migration(self)


def copy_before_migration(store: SqliteStore) -> Path:
    """Copies the file beside itself through SQLite's backup; returns the path of the copy.

    Removes copies of earlier starts that failed before a migration was done: they hold nothing that this one lacks, and
    would fill the disk under a service that restarts again and again."""
    for unfinished in store.path.parent.glob(f"{store.path.name}.before-*{PART}*"):  # left by a killed start
        unfinished.unlink()
    copy = store.path.with_name(f"{store.path.name}.before-{clock.now()}")
    copy.unlink(missing_ok=True)  # from a start in the same second
    copy_database(store.path, copy)
    migrated_at = store.read(sqlite_schema.migrated_at)
    for earlier in store.path.parent.glob(f"{store.path.name}.before-*"):
        made_at = earlier.name.removeprefix(f"{store.path.name}.before-")
        if earlier != copy and COPIED_AT.fullmatch(made_at) and int(made_at) > migrated_at:
            earlier.unlink()
    return copy


def problems_of(connection: apsw.Connection) -> list[str]:
    """Lists the problems of the file of an open connection; [] if there are none."""
    return damage_of(connection) + dangling_of(connection)


def damage_of(connection: apsw.Connection) -> list[str]:
    """Lists the problems of its structure."""
    return [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]


def dangling_of(connection: apsw.Connection) -> list[str]:
    """Lists rows with references to missing rows."""
    rows = connection.execute("PRAGMA foreign_key_check")
    return [f"{row[0]} row {row[1]} points to a missing {row[2]}" for row in rows]
