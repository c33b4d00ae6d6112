"""The store: one database, read on the calling thread inside one snapshot, written by one thread alone.

What every kind of database shares. sqlite.py has the one file, postgresql/ a server. Not for what the tables hold:
whoever opens a store hands their declarations to schema.synchronize."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

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
    "the data is in PostgreSQL, whose backups are made there: with pg_dump and pg_restore, or by going back in time as "
    "whoever runs it offers; `helpdesk export` writes everything as files"
)
LOG = log.get("store")


class OutOfSteps(Exception):
    """A read on the event loop needs longer than its step budget; it is started again on a thread."""


class TextsWait(OutOfSteps):
    """A read looks for words in these indexes, and texts that were committed before it began are not in them yet."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(names)
        self.names = names


class PendingRead:
    """A small read that waits for its turn. `done` is called once, on the thread that ran it, with `error` or `result`
    set."""

    __slots__ = ("work", "done", "result", "error")

    def __init__(self, work: Callable[[], Any], done: "Callable[[PendingRead], None]") -> None:
        self.work = work
        self.done = done
        self.result: Any = None
        self.error: BaseException | None = None


class NotOnWriter(Exception):
    """Work that may take long was begun inside a write, where every other write would wait for it. A request that runs
    on the writer itself is started again on a thread; anywhere else this is a bug."""


class OfThread(threading.local):
    """What a store knows of each thread. deadline: when its read must end. steps_left: of the budget of the event loop.
    bound_left: of that of `bounded`. queries: how many statements it ran. shared: the read that others join.
    is_as_indexed: whether it finds what is in the full-text indexes, whatever waits. along: what goes with each of its
    writes."""

    deadline: float | None = None
    steps_left: int | None = None
    bound_left: int | None = None
    queries = 0
    shared: Transaction | None = None
    is_as_indexed = False
    along: Callable[[Transaction], object] | None = None


class Store(ABC):
    """Reads on the calling thread through a connection that is free, writes through the writer.

    A thread that waits for something else, such as a script for another server, holds no connection.

    read_seconds: the longest one read may take. after_commit: runs what was registered with Transaction.after_commit,
    off the writer's thread; replaced by the service with its script threads. on_announced: called with a name that
    another process announced, on a thread of the store, never inside a transaction."""

    dialect: ClassVar[str]
    is_shared = False  # whether other processes may serve the same database
    reads_wait = False  # whether a read waits for another program, so that none may run on the event loop
    keeps_statistics = False  # whether it knows how many rows a condition may find, and goes by that
    path: Path | None = None  # of a database that is one file
    fault: ClassVar[type[Exception]]  # what the driver of the database raises

    def __init__(self, statements: StatementCache, read_seconds: float) -> None:
        self.read_seconds = read_seconds
        self.statements = statements
        self.locals: dict[Any, Any] = {}  # by their StoreLocal
        self.after_commit: Callable[[Callable[[], None]], None] = lambda callback: callback()
        self.on_announced: Callable[[str], None] = lambda name: None
        self._local = OfThread()
        self._closed = False
        self._writer: Writer

    # -- what each database answers for itself ----------------------------------------------------------------------

    @abstractmethod
    def read(
        self, work: Callable[[Transaction], Result], steps: int | None = None, seconds: float | None = None
    ) -> Result:
        """Run `work` on this thread inside one snapshot.

        steps: a budget of SQLite's virtual machine steps; OutOfSteps is raised when it is used up, and nothing was
        changed, so the caller may start again without it. Raises TimedOut after `seconds`, or else `read_seconds`.
        Inside a write it sees what that write has done so far."""

    @abstractmethod
    def bounded(self, steps: int, work: Callable[[], Result]) -> Result:
        """Run a search within so many steps: inside a write, so that other writes do not wait for it, or in SQLite to
        find out what another one would take. Raises TimedOut beyond them."""

    @abstractmethod
    def transaction(self, connection: Any, can_write: bool) -> Transaction:
        """A transaction object over an open connection; the writer's part."""

    @abstractmethod
    def begin(self) -> Any:
        """Begin the one transaction that may write; answers its connection. The writer's part."""

    @abstractmethod
    def commit(self, connection: Any) -> None:
        """Commit it: what it did is on disk afterwards. The writer's part."""

    @abstractmethod
    def undo(self, connection: Any) -> None:
        """Roll it back. The writer's part."""

    @abstractmethod
    def is_failed(self, connection: Any) -> bool:
        """Whether the transaction was dropped, or takes nothing more before it is rolled back."""

    @abstractmethod
    def dropped(self) -> Exception:
        """What is raised where a transaction was dropped before its end."""

    @abstractmethod
    def outline(self, connection: Any) -> int:
        """A number that rises with every change of tables."""

    def state(self, connection: Any) -> Hashable:
        """What is another one after somebody else has written; None where that cannot be told."""
        return None

    @abstractmethod
    def as_helpdesk_error(self, error: BaseException) -> BaseException:
        """The error to show for one of the driver's; anything that is not expected stays as it is, a bug."""

    @abstractmethod
    def check(self) -> list[str]:
        """Problems of the database, [] when it is sound."""

    @abstractmethod
    def claim(self) -> None:
        """Be the only one who copies into the database, until the store is closed. Raises Conflict."""

    def disclaim(self) -> None:  # noqa: B027, of a server nothing is left
        """Remove what `claim` left beside a file."""

    @abstractmethod
    def close(self) -> None:
        """Finish the waiting writes and close every connection. Later reads raise Unavailable."""

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the database is, without secrets."""

    @property
    def file(self) -> Path:
        """The one file of the database. Raises Unavailable where it is none."""
        if self.path is None:
            raise Unavailable(NO_FILE)
        return self.path

    @property
    def is_in_place(self) -> bool:
        """Whether what was opened is still there under its name; looks now."""
        return True

    @abstractmethod
    def sizes(self) -> tuple[int, int]:
        """The bytes that the database takes, and those of a log that is not folded back yet."""

    @abstractmethod
    def product(self) -> tuple[str, str]:
        """What the database is, and its version."""

    def server_state(self) -> ServerState | None:
        """How the server of the database is; None for a file."""
        return None

    @abstractmethod
    def announce_after(self, tx: Transaction, name: str) -> None:
        """Tell the other processes of this database a name once the transaction is on disk: their `on_announced`."""

    # -- what it holds, for schema.py and fulltext.py ---------------------------------------------------------------

    @abstractmethod
    def refuse_newer(self) -> None:
        """Raises Damaged for a database that a newer version of this program has written."""

    @abstractmethod
    def before_migration(self) -> None:
        """What keeps the database as it is, should a migration go wrong."""

    @abstractmethod
    def columns(self, tx: Transaction, table: str) -> set[str]:
        """The columns that a table of the database has, none when there is no such table."""

    @abstractmethod
    def is_empty(self, tx: Transaction) -> bool:
        """Whether the database holds no table."""

    @abstractmethod
    def indexes(self, tx: Transaction, table: "Table") -> set[str]:
        """The names of the indexes of a table that the database has."""

    @abstractmethod
    def outlines(self, tables: "list[Table]", texts: "list[TextIndex]") -> list[str]:
        """All that `add_missing` and `add_text` would write."""

    @abstractmethod
    def add_missing(self, tx: Transaction, tables: "list[Table]") -> None:
        """Add the tables, columns, indexes and triggers that the database lacks."""

    @abstractmethod
    def add_table(self, tx: Transaction, table: "Table") -> str | None:
        """Add a table, or the columns and indexes that it lacks; answers its name when it is new."""

    @abstractmethod
    def drop_table(self, tx: Transaction, table: "Table") -> None:
        """Remove a table with its rows."""

    @abstractmethod
    def add_text(self, tx: Transaction, text: "TextIndex") -> None:
        """Make a full-text index, in place of one with other parts."""

    @abstractmethod
    def text_parts(self, tx: Transaction, text: "TextIndex") -> list[str]:
        """The parts of the full-text index that the database has, [] when there is none."""

    @abstractmethod
    def index_text(self, tx: Transaction, text: "TextIndex", id: int, parts: Iterable[str]) -> None:
        """Put a record's texts, in the order of the index's parts, in place of what was there."""

    def complete_text(self, tx: Transaction, text: "TextIndex") -> None:  # noqa: B027, in PostgreSQL nothing is beside
        """Add what belongs beside a full-text index that is there."""

    def unwait_text(self, tx: Transaction, text: "TextIndex", id: int) -> None:  # noqa: B027, in PostgreSQL none wait
        """Forget a record's texts that are not in the index yet."""

    def require_indexed(self, tx: Transaction, names: tuple[str, ...]) -> None:  # noqa: B027, as above
        """Called before words are looked for in the indexes of these names: what was committed is to be found. Raises
        TextsWait in a read on the event loop; elsewhere the store sees to it."""

    def note_indexed(self, error: BaseException | None) -> None:  # noqa: B027, as above
        """Called when waiting texts were put into their indexes, or could not be, as on a full disk: reads that miss
        them set `Transaction.lacks_texts`."""

    def index_waiting(self, tx: Transaction, names: tuple[str, ...]) -> None:  # noqa: B027, as above
        """Put the texts that wait for these indexes into them."""

    @contextmanager
    def as_indexed(self) -> Iterator[None]:
        """Inside, reads of this thread find what is in the full-text indexes, whatever waits: the rest was put in just
        now, or cannot be."""
        self._local.is_as_indexed = True
        try:
            yield
        finally:
            self._local.is_as_indexed = False

    @property
    def quiet_seconds(self) -> float | None:
        """After so long without a write, and at the end, there is something to `tidy`; None for nothing."""
        return None

    def tidy(self, tx: Transaction) -> None:  # noqa: B027, as above
        """What is left for a moment in which nobody writes; the writer's part."""

    # -- what they share --------------------------------------------------------------------------------------------

    def require_thread(self) -> None:
        """Called inside a read before work that takes long without SQLite. Raises OutOfSteps on the event loop, so that
        the read is started again on a thread."""
        if self._local.steps_left is not None:
            raise OutOfSteps

    def require_off_writer(self) -> None:
        """Called before what may take long: scripts, other programs, hashing, large texts. Raises NotOnWriter."""
        if self.is_writing:
            raise NotOnWriter("this may take long, and must be done before the write begins")

    def require_time(self) -> None:
        """Called inside a read between two pieces of work. Raises TimedOut when its time is over."""
        deadline = self._local.deadline
        if deadline is not None and time.monotonic() > deadline:
            raise timed_out()

    def start_clock(self) -> None:
        """From here on statements of this thread are interrupted after `read_seconds`."""
        self._local.deadline = time.monotonic() + self.read_seconds

    def stop_clock(self) -> None:
        self._local.deadline = None

    def read_together(self, work: Callable[[], Result], steps: int | None) -> Result:
        """Run small work all of whose reads may see one snapshot, within one budget."""
        return work()

    def write(self, work: Callable[[Transaction], Result]) -> Result:
        """Run `work` on the writer and answer once it is on disk; inside a write it is a part of that one.

        It may be run more than once: see writer.py."""
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

    @property
    def is_writing(self) -> bool:
        """Whether the caller is inside a write."""
        return self._writer.transaction_here() is not None

    @contextmanager
    def along(self, more: Callable[[Transaction], object]) -> Iterator[None]:
        """Inside, run `more` as the last step of each write that this thread begins, in its transaction."""
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
        """Run `work`, whose reads are small, without waiting for it, where `reads_wait`: `done(pending)` is called on a
        thread of the store. All of its reads see one snapshot, which others may share. Its error is OutOfSteps where it
        takes long, or writes; what it did so far may be done again. Raises Unavailable."""
        raise NotImplementedError

    def submit(self, work: Write, done: Callable[[PendingWrite], None]) -> None:
        """As write, without waiting: `done(pending)` is called on the writer's thread."""
        self._writer.submit(work, done)

    def count_queries(self, number: int) -> None:
        """Add statements to what was run for the calling thread."""
        self._local.queries = self._local.queries + number

    def take_queries(self) -> int:
        """How many statements the calling thread's reads and writes ran since it last asked."""
        number = self._local.queries
        self._local.queries = 0
        return number

    @property
    def writes_waiting(self) -> int:
        return self._writer.waiting

    @property
    def longest_write_seconds(self) -> float:
        """The longest that one write has held all others since the start."""
        return self._writer.longest_seconds
