"""The store: one SQLite file, read through connections that are borrowed for a read, written through one alone.

Not for what the tables hold: whoever opens a store hands their declarations to schema.synchronize."""

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import apsw

from server import log
from server.errors import Damaged
from server.store.dialect import add_functions
from server.store.faults import as_helpdesk_error, stopping, timed_out
from server.store.files import OpenFiles, require_own_log
from server.store.statements import StatementCache, compile_statement
from server.store.transaction import Transaction
from server.store.writer import PendingWrite, Write, Writer

Result = TypeVar("Result")

MIN_SQLITE = (3, 51, 3)  # earlier ones have a checkpoint race in WAL mode that damages the file
BUSY_TIMEOUT_MS = 5000  # another program, such as our own command line, may hold the file for a moment
PROGRESS_STEPS = 1000  # virtual machine steps between two looks at the clock
LOG_PAGES = 8000  # of the write-ahead log before it is folded back: pages that change often are then copied once
STATEMENTS_PREPARED = 512  # compiled by SQLite and kept on each connection
MAX_FREE = 16  # connections that are kept for the next read; seldom do more read at once
MAX_WARM = 4  # of them that keep their page caches: the others were opened for a burst
WRITER_CACHES = 4  # of a reader's size is the page cache of the writer: it is alone, and goes through every index
APPLICATION_ID = 0x53564348  # in the file's header, so that a foreign file is told apart
LOG = log.get("store")


class OutOfSteps(Exception):
    """A read on the event loop needs longer than its step budget; it is started again on a thread."""


class NotOnWriter(Exception):
    """Work that may take long was begun inside a write, where every other write would wait for it. A request that runs
    on the writer itself is started again on a thread; anywhere else this is a bug."""


class Store:
    """Reads on the calling thread through a connection that is free, writes through the writer.

    A thread that waits for something else, such as a script for another server, holds no connection.

    path: the database file. read_seconds: the longest one read may take. after_commit: runs what was registered with
    Transaction.after_commit, off the writer's thread; replaced by the service with its script threads.

    is_shared: whether other processes may serve the same database; then they hear what is announced, by on_announced of
    theirs, on a thread of the store. "" is announced where some may have been missed."""

    is_shared = False

    def __init__(
        self,
        path: Path,
        read_seconds: float = 5.0,
        queue_limit: int = 1024,
        batch_limit: int = 64,
        cache_kib: int = 4096,
        max_pages: int = 0,
    ) -> None:
        version = tuple(int(part) for part in apsw.sqlite_lib_version().split("."))
        if version < MIN_SQLITE:
            wanted = ".".join(map(str, MIN_SQLITE))
            raise Damaged(f"SQLite {wanted} or newer is needed, this is {apsw.sqlite_lib_version()}; update apsw")
        self.path = path
        self.read_seconds = read_seconds
        self.cache_kib = cache_kib
        self.statements = StatementCache(compile_statement)
        self.locals: dict[Any, Any] = {}  # by their StoreLocal
        self.after_commit: Callable[[Callable[[], None]], None] = lambda callback: callback()
        self.on_announced: Callable[[str], None] = lambda name: None
        self._local = threading.local()  # of each thread: when its read must end, and how many statements it ran
        self._connections: list[apsw.Connection] = []
        self._free: list[apsw.Connection] = []  # the last one given back is taken first: its cache is the warmest
        self._connections_lock = threading.Lock()
        self._closed = False
        require_own_log(path)
        writing = self._open(can_write=True)
        writing.execute("SELECT 1 FROM sqlite_master").fetchall()  # makes the log and its index
        self.files = OpenFiles(path)
        if max_pages:
            writing.execute(f"PRAGMA max_page_count={int(max_pages)}").fetchall()
        self._writer = Writer(self, writing, queue_limit, batch_limit)

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
                if not is_old:  # into the file itself, before the log takes the changes: the header tells whose it is
                    connection.execute(f"PRAGMA application_id={APPLICATION_ID}").fetchall()
                connection.execute("PRAGMA journal_mode=WAL").fetchall()
                connection.execute("PRAGMA synchronous=FULL").fetchall()
                connection.execute(f"PRAGMA wal_autocheckpoint={LOG_PAGES}").fetchall()
                connection.execute("PRAGMA journal_size_limit=67108864").fetchall()
            else:
                connection.execute("PRAGMA query_only=1").fetchall()
        except apsw.Error as error:
            raise as_helpdesk_error(error) from error
        if can_write and connection.readonly("main"):  # SQLite opens such a file anyway, for reading
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
        """End the snapshot of a read. A connection that will not, or that is one too many, is closed."""
        try:
            if connection.in_transaction:
                connection.execute("COMMIT")
            if len(self._free) < MAX_FREE:
                if len(self._free) >= MAX_WARM:
                    connection.release_memory()
                self._free.append(connection)
                return
        except apsw.Error:
            LOG.exception("reader.failed")
        self._drop(connection)

    def _drop(self, connection: apsw.Connection) -> None:
        with self._connections_lock, contextlib.suppress(ValueError):  # the store may be closing
            self._connections.remove(connection)
        connection.close(True)

    def _on_progress(self) -> bool:
        """True interrupts the statement: the time, or on the event loop the steps, are used up."""
        local = self._local
        bound = getattr(local, "bound_left", None)
        if bound is not None:
            local.bound_left = bound - PROGRESS_STEPS
            if local.bound_left <= 0:
                return True
        steps = getattr(local, "steps_left", None)
        if steps is not None:
            local.steps_left = steps - PROGRESS_STEPS
            if local.steps_left <= 0:
                return True
        deadline = getattr(local, "deadline", None)
        return deadline is not None and time.monotonic() > deadline

    def require_thread(self) -> None:
        """Called inside a read before work that takes long without SQLite. Raises OutOfSteps on the event loop, so that
        the read is started again on a thread."""
        if getattr(self._local, "steps_left", None) is not None:
            raise OutOfSteps

    def require_off_writer(self) -> None:
        """Called before what may take long: scripts, other programs, hashing, large texts. Raises NotOnWriter."""
        if self._writer.transaction_here() is not None:
            raise NotOnWriter("this may take long, and must be done before the write begins")

    def bounded(self, steps: int, work: Callable[[], Result]) -> Result:
        """Run a search inside a write with at most this many steps of SQLite's virtual machine, so that other writes do
        not wait for it. Raises TimedOut beyond them."""
        local = self._local
        local.bound_left = steps
        try:
            return work()
        except apsw.InterruptError as error:
            if local.bound_left <= 0:
                raise timed_out() from None
            raise as_helpdesk_error(error) from error
        finally:
            local.bound_left = None

    def require_time(self) -> None:
        """Called inside a read between two pieces of work. Raises TimedOut when its time is over."""
        deadline = getattr(self._local, "deadline", None)
        if deadline is not None and time.monotonic() > deadline:
            raise timed_out()

    def start_clock(self) -> None:
        """From here on statements of this thread are interrupted after `read_seconds`."""
        self._local.deadline = time.monotonic() + self.read_seconds

    def stop_clock(self) -> None:
        self._local.deadline = None

    def transaction(self, connection: apsw.Connection, can_write: bool) -> Transaction:
        """A transaction object over an open connection; the writer's part."""
        return Transaction(self, connection, self.statements, can_write)

    # -- the two ways in --------------------------------------------------------------------------------------------

    def read(
        self, work: Callable[[Transaction], Result], steps: int | None = None, seconds: float | None = None
    ) -> Result:
        """Run `work` on this thread inside one snapshot.

        steps: a budget of SQLite's virtual machine steps; OutOfSteps is raised when it is used up, and nothing was
        changed, so the caller may start again without it. Raises TimedOut after `seconds`, or else `read_seconds`.
        Inside a write it sees what that write has done so far."""
        outer = self._writer.transaction_here()
        if outer is not None:
            return work(outer)
        self.files.require_lately()
        connection = self._borrow()
        local = self._local
        local.deadline = time.monotonic() + (self.read_seconds if seconds is None else seconds)
        local.steps_left = steps
        tx = Transaction(self, connection, self.statements, False)
        try:
            connection.execute("BEGIN")
            return work(tx)
        except apsw.InterruptError as error:
            if steps is not None and local.steps_left <= 0:
                raise OutOfSteps from None
            raise as_helpdesk_error(error) from error
        except apsw.Error as error:
            raise as_helpdesk_error(error) from error
        finally:
            local.deadline = local.steps_left = None  # first: the end of a read must not be interrupted as well
            self._give_back(connection)
            self.count_queries(tx.statements)

    def write(self, work: Callable[[Transaction], Result]) -> Result:
        """Run `work` on the writer and answer once it is on disk; inside a write it is a part of that one.

        It may be run more than once: see writer.py."""
        outer = self._writer.transaction_here()
        return outer.part(work) if outer is not None else self._writer.call(work)

    def submit(self, work: Write, done: Callable[[PendingWrite], None]) -> None:
        """As write, without waiting: `done(pending)` is called on the writer's thread."""
        self._writer.submit(work, done)

    def announce_after(self, tx: Transaction, name: str) -> None:
        """Let the other processes hear a name, of at most 60 characters, once the transaction is on disk. Nothing where
        there are no others: one process at a time has a file."""

    def count_queries(self, number: int) -> None:
        """Add statements to what was run for the calling thread."""
        self._local.queries = getattr(self._local, "queries", 0) + number

    def take_queries(self) -> int:
        """How many statements the calling thread's reads and writes ran since it last asked."""
        number = getattr(self._local, "queries", 0)
        self._local.queries = 0
        return number

    @property
    def writes_waiting(self) -> int:
        return self._writer.waiting

    @property
    def longest_write_seconds(self) -> float:
        """The longest that one write has held all others since the start."""
        return self._writer.longest_seconds

    # -- whole file -------------------------------------------------------------------------------------------------

    def check(self) -> list[str]:
        """Problems of the file, [] when it is sound: SQLite's integrity and foreign key checks.

        On a connection of its own: one that searched before keeps the outline of a full-text index, which SQLite's
        check does not read again, so that it would tell of damage where others wrote since."""
        if self._closed:
            raise stopping()
        self.files.require()
        connection = self._open(can_write=False)
        try:
            return problems_of(connection)
        finally:
            self._drop(connection)

    def checkpoint(self) -> None:
        """Fold the write-ahead log back into the file."""
        connection = self._connections[0]
        with contextlib.suppress(apsw.BusyError):  # a reader still looks at it; the next start folds it back
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def close(self) -> None:
        """Finish the waiting writes, fold the log back, close every connection. Later reads raise Unavailable.

        On a disk that takes no writes the log stays, with all that was acknowledged: the next start reads it."""
        if self._closed:
            return
        self._closed = True
        self._writer.close()
        in_place = self.files.are_in_place
        if in_place:
            try:
                self.checkpoint()
            except apsw.Error as error:
                LOG.warning("database.log_kept", reason=str(as_helpdesk_error(error)))
        with self._connections_lock:
            for connection in self._connections:
                if not in_place:  # or SQLite would remove the log that has the name now, whosever it is
                    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                connection.close(True)
            self._connections.clear()
            self._free.clear()
        self._local = threading.local()


def problems_of(connection: apsw.Connection) -> list[str]:
    """What is wrong with the file of an open connection, [] when nothing is."""
    return damage_of(connection) + dangling_of(connection)


def damage_of(connection: apsw.Connection) -> list[str]:
    """What is wrong with its structure."""
    return [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]


def dangling_of(connection: apsw.Connection) -> list[str]:
    """Rows that point to rows that there are not."""
    found = connection.execute("PRAGMA foreign_key_check")
    return [f"{row[0]} row {row[1]} points to a missing {row[2]}" for row in found]
