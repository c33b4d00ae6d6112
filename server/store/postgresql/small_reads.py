"""Small reads of requests, on two threads of the store: for each of them a thread would be woken and a snapshot begun,
which costs more than what they ask. Those that wait share a snapshot, as writes that wait share a commit: whoever came
before it was taken may use it.

A statement that takes long is told so by OutOfSteps, and the read is begun again elsewhere; for a while its like are
not tried here any more."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg

from server import log
from server.errors import Unavailable
from server.store.database import OutOfSteps, PendingRead
from server.store.faults import MOMENT_SECONDS, stopping
from server.store.postgresql.connection import READ, SNAPSHOT, Connection
from server.store.postgresql.transaction import PostgresqlTransaction
from server.store.shapes import Builder
from server.store.statements import Statement
from server.store.transaction import Row

if TYPE_CHECKING:
    from server.store.postgresql.store import PostgresqlStore

LOG = log.get("store")
Result = TypeVar("Result")
Done = Callable[[PendingRead], None]

THREADS = 2  # one goes on while the other waits for the server
SHARED = 8  # reads at most that share a snapshot
STATEMENT_SECONDS = 0.1  # that one statement may take here
SLOW_SECONDS = 2.0  # for so long the like of one that took longer are not tried again
MAX_SLOW = 1000  # statements that are known as slow
MAX_WAITING = 1024  # reads


class SmallReads:
    """Owns the threads. They begin with the first read."""

    def __init__(self, store: "PostgresqlStore") -> None:
        self._store = store
        self._queue: deque[tuple[int, PendingRead]] = deque()
        self.submitted = 0  # reads since the start
        self._wake = threading.Condition()
        self._closing = False
        self._threads: list[threading.Thread] = []
        self._local = threading.local()
        self.slow: dict[str, float] = {}  # {statement: until when it is not tried}

    @property
    def here(self) -> "SharedSnapshot | None":
        """The snapshot of the calling thread; None on all other threads."""
        return getattr(self._local, "snapshot", None)

    def submit(self, work: Callable[[], Any], done: Done) -> None:
        """Queue a read. Raises Unavailable when too many wait or the store is closing."""
        with self._wake:
            if self._closing:
                raise stopping()
            if len(self._queue) >= MAX_WAITING:
                raise Unavailable(
                    f"{MAX_WAITING} reads are waiting already; try again in a moment", retry_after=MOMENT_SECONDS
                )
            if not self._threads:
                self._begin()
            self.submitted += 1
            self._queue.append((self.submitted, PendingRead(work, done)))
            self._wake.notify()

    def close(self) -> None:
        """Finish what waits, then stop."""
        with self._wake:
            self._closing = True
            self._wake.notify_all()
        for thread in self._threads:
            thread.join()

    def _begin(self) -> None:
        self._threads = [
            threading.Thread(target=self._run, name=f"small-reads-{number}", daemon=True) for number in range(THREADS)
        ]
        for thread in self._threads:
            thread.start()

    def _run(self) -> None:
        snapshot = self._local.snapshot = SharedSnapshot(self._store, self)
        while (pending := self._take(snapshot)) is not None:
            self._answer(pending)

    def _take(self, snapshot: "SharedSnapshot") -> PendingRead | None:
        """The next, once there is one; None at the end."""
        try:
            number, pending = self._queue.popleft()
        except IndexError:
            snapshot.end()
            with self._wake:
                while not self._queue and not self._closing:
                    self._wake.wait()
                return self._queue.popleft()[1] if self._queue else None
        if not snapshot.is_for(number):
            snapshot.end()
        return pending

    def _answer(self, pending: PendingRead) -> None:
        try:
            pending.result = pending.work()
        except Exception as error:
            pending.error = error
        try:
            pending.done(pending)
        except Exception:  # the thread lives on for others
            LOG.exception("small_read.failed")

    def note_slow(self, sql: str) -> None:
        """A statement took longer than it may here."""
        if len(self.slow) >= MAX_SLOW:
            self.slow = {}
        self.slow[sql] = time.monotonic() + SLOW_SECONDS


class SmallTransaction(PostgresqlTransaction):
    """What a small read reads from. asked: its last statement."""

    __slots__ = ("slow", "asked")
    slow: dict[str, float]
    asked: str

    def rows(self, build: Builder, values: Sequence[Any] = ()) -> list[Row]:
        statement = self._asked(build, values)
        return self.connection.execute(statement.sql, statement.bind(values)).fetchall()

    def row(self, build: Builder, values: Sequence[Any] = ()) -> Row | None:
        statement = self._asked(build, values)
        return self.connection.execute(statement.sql, statement.bind(values)).fetchone()

    def _asked(self, build: Builder, values: Sequence[Any]) -> Statement:
        statement = super()._asked(build, values)
        self.asked = statement.sql
        until = self.slow.get(statement.sql)
        if until is not None and time.monotonic() < until:
            raise OutOfSteps
        return statement


class SharedSnapshot:
    """What one thread reads from; a new one for each that came later, and after an error."""

    def __init__(self, store: "PostgresqlStore", owner: SmallReads) -> None:
        self._store = store
        self._owner = owner
        self._connection: Connection | None = None
        self._is_begun = False
        self._until = 0  # the last read that was submitted before it was taken
        self._left = 0  # how many may still use it

    def is_for(self, number: int) -> bool:
        """Whether it shows what was there when a read was submitted."""
        self._left -= 1
        return number <= self._until and self._left > 0

    def read(self, work: Callable[[SmallTransaction], Result]) -> Result:
        store = self._store
        connection = self._connection
        if connection is None:
            connection = self._connection = store.connected(READ, STATEMENT_SECONDS)
        if not self._is_begun:
            self._until, self._left = self._owner.submitted, SHARED
            connection.begin_later(SNAPSHOT)
            self._is_begun = True
        tx = SmallTransaction(self._store, connection, store.statements, False)
        tx.slow, tx.asked = self._owner.slow, ""
        try:
            return work(tx)
        except psycopg.errors.QueryCanceled:
            if tx.asked:
                self._owner.note_slow(tx.asked)
            raise OutOfSteps from None
        except psycopg.Error as error:
            if store.tell_lost(connection, error):
                self._is_begun, self._connection = False, None
                store.drop(connection)
            raise store.as_helpdesk_error(error) from error
        finally:
            store.count_queries(tx.statements)
            if connection.in_transaction and connection.is_failed:
                self.end()

    def end(self) -> None:
        """The next read sees what was written meanwhile."""
        self._is_begun = False
        if self._connection is not None:
            try:
                self._connection.end_later()
            except psycopg.Error:
                self._store.drop(self._connection)
                self._connection = None
