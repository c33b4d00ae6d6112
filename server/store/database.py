"""The store: one database. Reads run on the calling thread in a snapshot; one thread does all writes.

The base of all kinds of database: sqlite.py is for a file, postgresql/ for a server. Declarations of tables are passed
to schema.synchronize by whoever opens the store."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

from server import log
from server.errors import Unavailable
from server.store.faults import timed_out
from server.store.server_state import ServerState
from server.store.statements import StatementCache
from server.store.transaction import Transaction
from server.store.writer import PendingWrite, Write, Writer

if TYPE_CHECKING:
    from server.store.fulltext import TextIndex
    from server.store.tables import Table

Result = TypeVar("Result")
NO_FILE = (
    "the data is in PostgreSQL, so back up there: with pg_dump and pg_restore, or with the "
    "point-in-time recovery of its operator; `helpdesk export` writes everything as files"
)
LOG = log.get("store")


class OutOfSteps(Exception):
    """A read on the event loop exceeded its step budget; it is repeated on a thread."""


class TextsWait(OutOfSteps):
    """A read searches these indexes while texts that were committed before it are not indexed yet."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(names)
        self.names = names


class PendingRead:
    """A queued small read. `done` is called once, on the thread that ran it, with `error` or `result` set."""

    __slots__ = ("work", "done", "result", "error")

    def __init__(self, work: Callable[[], Any], done: "Callable[[PendingRead], None]") -> None:
        self.work = work
        self.done = done
        self.result: Any = None
        self.error: BaseException | None = None


class NotOnWriter(Exception):
    """Slow work was begun inside a write, where it would block all other writes. A request that runs on the writer is
    repeated on a thread; anywhere else this is a bug."""


class _Rehearsed(Exception):
    """Carries the result of a write out of its transaction, which is rolled back."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result


class OfThread(threading.local):
    """The state of a store per thread. deadline: when its read must end. steps_left: the remaining budget of the event
    loop. bound_left: that of `bounded`. queries: the number of executed statements. shared: the read that others join.
    is_as_indexed: whether searches use the full-text indexes as they are, ignoring waiting texts. along: runs with each
    of its writes."""

    deadline: float | None = None
    steps_left: int | None = None
    bound_left: int | None = None
    queries = 0
    shared: Transaction | None = None
    is_as_indexed = False
    along: Callable[[Transaction], object] | None = None


AfterCommit = Callable[[Callable[[], None]], None]


class Store(ABC):
    """Reads on the calling thread through a free connection, and writes through the writer.

    A thread that waits for something else, such as a script for another server, holds no connection.

    read_seconds: the time limit of a read. after_commit: runs the callbacks of Transaction.after_commit, in a
    running service on a script thread, otherwise on the writer's. on_announced: called with a name that another
    process announced, on a thread of the store, never inside a transaction."""

    dialect: ClassVar[str]
    is_shared = False  # whether other processes may serve the same database
    reads_wait = False  # whether a read waits for another program, so that none may run on the event loop
    keeps_statistics = False  # whether its planner estimates rows by statistics
    path: Path | None = None  # if the database is one file
    fault: ClassVar[type[Exception]]  # the base error of the database driver

    def __init__(
        self, statements: StatementCache, read_seconds: float, after_commit: AfterCommit | None = None
    ) -> None:
        self.read_seconds = read_seconds
        self.statements = statements
        self.locals: dict[Any, Any] = {}  # keyed by StoreLocal
        self.after_commit: AfterCommit = after_commit or (lambda callback: callback())
        self.on_announced: Callable[[str], None] = lambda name: None
        self._local = OfThread()
        self._closed = False
        self._writer: Writer

    # -- what each kind of database implements ----------------------------------------------------------------------

    @abstractmethod
    def read(
        self, work: Callable[[Transaction], Result], steps: int | None = None, seconds: float | None = None
    ) -> Result:
        """Runs `work` on this thread inside one snapshot.

        steps: a budget of SQLite's virtual machine steps. Beyond it OutOfSteps is raised; nothing was changed, so the
        caller may repeat the read without a budget. Raises TimedOut after `seconds`, by default `read_seconds`. Inside
        a write it sees the changes of that write."""

    @abstractmethod
    def bounded(self, steps: int, work: Callable[[], Result]) -> Result:
        """Runs a search within a budget of steps: inside a write, so that other writes do not wait, or in SQLite to
        measure the cost of a search. Raises TimedOut beyond them."""

    @abstractmethod
    def transaction(self, connection: Any, can_write: bool) -> Transaction:
        """Returns a transaction object over an open connection. Called by the writer."""

    @abstractmethod
    def begin(self) -> Any:
        """Begins the only transaction that may write; returns its connection. Called by the writer."""

    @abstractmethod
    def commit(self, connection: Any) -> None:
        """Commits the transaction durably. Called by the writer."""

    @abstractmethod
    def undo(self, connection: Any) -> None:
        """Rolls the transaction back. Called by the writer."""

    @abstractmethod
    def is_failed(self, connection: Any) -> bool:
        """Returns whether the transaction was rolled back by the database, or accepts nothing but a rollback."""

    @abstractmethod
    def dropped(self) -> Exception:
        """Returns the error of a transaction that the database rolled back."""

    @abstractmethod
    def outline(self, connection: Any) -> int:
        """Returns a number that rises with every change of the schema."""

    def state(self, connection: Any) -> Hashable:
        """Returns a value that differs after another program has written; None if that is unknown."""
        return None

    @abstractmethod
    def as_helpdesk_error(self, error: BaseException) -> BaseException:
        """Returns the error to show for one of the driver; unexpected ones stay as they are, as bugs."""

    @abstractmethod
    def check(self) -> list[str]:
        """Lists the problems of the database; [] if it is sound."""

    @abstractmethod
    def claim(self) -> None:
        """Claims the database as the target of one copy, until the store is closed. Raises Conflict."""

    def disclaim(self) -> None:  # noqa: B027, a server needs nothing here
        """Removes the files that `claim` created beside a database file."""

    @abstractmethod
    def close(self) -> None:
        """Finishes the queued writes and closes every connection. Later reads raise Unavailable."""

    @property
    @abstractmethod
    def place(self) -> str:
        """Returns the location of the database, without secrets."""

    @property
    def file(self) -> Path:
        """Returns the file of the database. Raises Unavailable if it is not a file."""
        if self.path is None:
            raise Unavailable(NO_FILE)
        return self.path

    @property
    def is_in_place(self) -> bool:
        """Returns whether the opened files are still in place; checks now."""
        return True

    @abstractmethod
    def sizes(self) -> tuple[int, int]:
        """Returns the size of the database and of its unmerged log, in bytes."""

    @abstractmethod
    def product(self) -> tuple[str, str]:
        """Returns the product name of the database and its version."""

    def server_state(self) -> ServerState | None:
        """Returns the state of the database server; None for a file."""
        return None

    @abstractmethod
    def announce_after(self, tx: Transaction, name: str) -> None:
        """Announces a name to the other processes of this database once the transaction is on disk: their
        `on_announced`."""

    # -- the schema, for schema.py and fulltext.py ------------------------------------------------------------------

    @abstractmethod
    def refuse_newer(self) -> None:
        """Rejects a database of a newer version of this program. Raises Damaged."""

    @abstractmethod
    def before_migration(self) -> None:
        """Preserves the database before a migration, in case it fails."""

    @abstractmethod
    def columns(self, tx: Transaction, table: str) -> set[str]:
        """Returns the columns of a table in the database, empty if there is no such table."""

    @abstractmethod
    def is_empty(self, tx: Transaction) -> bool:
        """Returns whether the database has no tables."""

    @abstractmethod
    def indexes(self, tx: Transaction, table: "Table") -> set[str]:
        """Returns the names of the indexes of a table in the database."""

    @abstractmethod
    def outlines(self, tables: "list[Table]", texts: "list[TextIndex]") -> list[str]:
        """Returns everything that `add_missing` and `add_text` would write."""

    @abstractmethod
    def add_missing(self, tx: Transaction, tables: "list[Table]") -> None:
        """Adds missing tables, columns, indexes and triggers."""

    @abstractmethod
    def add_table(self, tx: Transaction, table: "Table") -> str | None:
        """Adds a table, or its missing columns and indexes; returns its name if it is new."""

    @abstractmethod
    def drop_table(self, tx: Transaction, table: "Table") -> None:
        """Removes a table with its rows."""

    @abstractmethod
    def add_text(self, tx: Transaction, text: "TextIndex") -> None:
        """Creates a full-text index, replacing one with other parts."""

    @abstractmethod
    def text_parts(self, tx: Transaction, text: "TextIndex") -> list[str]:
        """Returns the parts of the full-text index in the database, [] if there is none."""

    @abstractmethod
    def index_text(self, tx: Transaction, text: "TextIndex", id: int, parts: Iterable[str]) -> None:
        """Indexes the texts of a record, in the order of the parts, replacing earlier ones."""

    def complete_text(self, tx: Transaction, text: "TextIndex") -> None:  # noqa: B027, PostgreSQL has no companions
        """Adds the missing companions of an existing full-text index."""

    def unwait_text(self, tx: Transaction, text: "TextIndex", id: int) -> None:  # noqa: B027, in PostgreSQL none wait
        """Discards the waiting texts of a record."""

    def require_indexed(self, tx: Transaction, names: tuple[str, ...]) -> None:  # noqa: B027, as above
        """Ensures that the indexes include everything committed, before a search in them. Raises TextsWait in a read on
        the event loop; elsewhere the store indexes the waiting texts."""

    def record_indexed(self, error: BaseException | None) -> None:  # noqa: B027, as above
        """Records whether waiting texts could be indexed. If not, as on a full disk, reads that miss them set
        `Transaction.lacks_texts`."""

    def index_waiting(self, tx: Transaction, names: tuple[str, ...]) -> None:  # noqa: B027, as above
        """Indexes the texts that wait for these indexes."""

    @contextmanager
    def as_indexed(self) -> Iterator[None]:
        """Lets reads of this thread use the full-text indexes as they are: waiting texts were indexed just now, or
        cannot be."""
        self._local.is_as_indexed = True
        try:
            yield
        finally:
            self._local.is_as_indexed = False

    @property
    def quiet_seconds(self) -> float | None:
        """Returns the seconds without a write after which `tidy` is due, None if it never is. It is also called at the
        end."""
        return None

    def tidy(self, tx: Transaction) -> None:  # noqa: B027, as above
        """Does deferred work while nobody writes. Called by the writer."""

    # -- shared by all kinds ----------------------------------------------------------------------------------------

    def require_thread(self) -> None:
        """Raises OutOfSteps on the event loop, so that the read is repeated on a thread. Called inside a read before
        slow work outside of SQLite."""
        if self._local.steps_left is not None:
            raise OutOfSteps

    def require_off_writer(self) -> None:
        """Raises NotOnWriter inside a write. Called before slow work: scripts, other programs, hashing, large texts."""
        if self.is_writing:
            raise NotOnWriter("this may take long, and must be done before the write begins")

    def require_time(self) -> None:
        """Raises TimedOut if the time of the read is over. Called between pieces of work."""
        deadline = self._local.deadline
        if deadline is not None and time.monotonic() > deadline:
            raise timed_out()

    def start_clock(self) -> None:
        """Starts the time limit of `read_seconds` for statements of this thread."""
        self._local.deadline = time.monotonic() + self.read_seconds

    def stop_clock(self) -> None:
        self._local.deadline = None

    def lift_limit(self, tx: Transaction) -> None:
        """Ends the time limit of a write at the start: the indexes of large tables take longer."""
        self.stop_clock()

    def read_together(self, work: Callable[[], Result], steps: int | None) -> Result:
        """Runs small reads that may share one snapshot, within one budget."""
        return work()

    def write(self, work: Callable[[Transaction], Result]) -> Result:
        """Runs `work` on the writer and returns its result once it is on disk; inside a write it joins that write.

        It may run more than once: see writer.py."""
        outer = self._writer.transaction_here()
        if outer is not None:
            return outer.part(work)
        more = self._local.along
        if more is None:
            return self._writer.call(work)

        def with_more(tx: Transaction) -> Result:
            result = work(tx)
            more(tx)
            return result

        return self._writer.call(with_more)

    def rehearse(self, work: Callable[[Transaction], Result]) -> Result:
        """Runs `work` as a write, rolls it back, and returns its result. Inside a write, only `work` is undone."""

        def write(tx: Transaction) -> NoReturn:
            raise _Rehearsed(work(tx))

        try:
            self.write(write)
        except _Rehearsed as end:
            result: Result = end.result
            return result
        raise AssertionError("a rehearsal ends with its result")

    @property
    def is_writing(self) -> bool:
        """Returns whether the caller is inside a write."""
        return self._writer.transaction_here() is not None

    @contextmanager
    def along(self, more: Callable[[Transaction], object]) -> Iterator[None]:
        """Runs `more` as the last step of each write that this thread begins, in its transaction."""
        outer = self._local.along

        def both(tx: Transaction) -> None:
            if outer is not None:
                outer(tx)
            more(tx)

        self._local.along = both
        try:
            yield
        finally:
            self._local.along = outer

    def submit_read(self, work: Callable[[], Result], done: Callable[[PendingRead], None]) -> None:
        """Queues small reads without waiting, for stores with `reads_wait`: `done(pending)` is called on a thread of
        the store. All reads share one snapshot. The error is OutOfSteps if they take long or write; their work may be
        repeated. Raises Unavailable."""
        raise NotImplementedError

    def submit(self, work: Write, done: Callable[[PendingWrite], None]) -> None:
        """Queues a write without waiting: `done(pending)` is called on the writer's thread."""
        self._writer.submit(work, done)

    def count_queries(self, number: int) -> None:
        """Adds to the number of statements of the calling thread."""
        self._local.queries = self._local.queries + number

    def take_queries(self) -> int:
        """Returns and resets the number of statements of the calling thread's reads and writes."""
        number = self._local.queries
        self._local.queries = 0
        return number

    @property
    def writes_waiting(self) -> int:
        return self._writer.waiting

    @property
    def longest_write_seconds(self) -> float:
        """Returns the longest time that one write has blocked the others, in seconds since the start."""
        return self._writer.longest_seconds
