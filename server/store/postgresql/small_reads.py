"""Runs the small reads of requests on two threads of the store. A thread and a snapshot for each would cost more than
the query itself. Waiting reads share a snapshot, as waiting writes share a commit: each may use a snapshot that was
taken after it was submitted. Reading a ticket by id takes 25 % more processor time on worker threads; searches take the
same.

If a statement takes too long, OutOfSteps is raised and the read starts again on another thread; for a while the same
statement is not tried here."""

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
from server.store.statement_shapes import Builder
from server.store.statements import Statement
from server.store.transaction import Row

if TYPE_CHECKING:
    from server.store.postgresql.store import PostgresqlStore

LOG = log.get("store")
Result = TypeVar("Result")
Done = Callable[[PendingRead], None]

THREADS = 2  # one works while the other waits for the server
SHARED = 8  # reads that may share a snapshot
STATEMENT_SECONDS = 0.1  # limit of a statement here
SLOW_SECONDS = 2.0  # pause before a statement that exceeded the limit is tried again
MAX_SLOW = 1000  # remembered slow statements
MAX_WAITING = 1024  # reads


class SmallReads:
    """Owns the threads, which start with the first read."""

    def __init__(self, store: "PostgresqlStore") -> None:
        self._store = store
        self._queue: deque[tuple[int, PendingRead]] = deque()
        self.submitted = 0  # reads since the start
        self._wake = threading.Condition()
        self._closing = False
        self._threads: list[threading.Thread] = []
        self._local = threading.local()
        self.slow: dict[str, float] = {}  # {statement: end of the time in which it is not tried}

    @property
    def here(self) -> "SharedSnapshot | None":
        """The snapshot of the calling thread; None on other threads."""
        return getattr(self._local, "snapshot", None)

    def submit(self, work: Callable[[], Any], done: Done) -> None:
        """Queues a read. Raises Unavailable if too many are waiting or the store is closing."""
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
        """Finishes waiting reads, then stops."""
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
            self._finish(pending)

    def _take(self, snapshot: "SharedSnapshot") -> PendingRead | None:
        """Waits for the next read and returns it; returns None when closing."""
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

    def _finish(self, pending: PendingRead) -> None:
        try:
            pending.result = pending.work()
        except Exception as error:
            pending.error = error
        try:
            pending.done(pending)
        except Exception:  # the thread continues with other reads
            LOG.exception("small_read.failed")

    def record_slow(self, sql: str) -> None:
        """Records that a statement exceeded the limit."""
        if len(self.slow) >= MAX_SLOW:
            self.slow = {}
        self.slow[sql] = time.monotonic() + SLOW_SECONDS


class SmallTransaction(PostgresqlTransaction):
    """The transaction of a small read. last_sql: the text of its last statement."""

    __slots__ = ("slow", "last_sql")
    slow: dict[str, float]
    last_sql: str

    def rows(self, build: Builder, values: Sequence[Any] = ()) -> list[Row]:
        statement = self._asked(build, values)
        return self.connection.execute(statement.sql, statement.bind(values)).fetchall()

    def row(self, build: Builder, values: Sequence[Any] = ()) -> Row | None:
        statement = self._asked(build, values)
        return self.connection.execute(statement.sql, statement.bind(values)).fetchone()

    def _asked(self, build: Builder, values: Sequence[Any]) -> Statement:
        statement = super()._asked(build, values)
        self.last_sql = statement.sql
        until = self.slow.get(statement.sql)
        if until is not None and time.monotonic() < until:
            raise OutOfSteps
        return statement


class SharedSnapshot:
    """The snapshot of one thread; begins again for reads that were submitted after it, and after an error."""

    def __init__(self, store: "PostgresqlStore", owner: SmallReads) -> None:
        self._store = store
        self._owner = owner
        self._connection: Connection | None = None
        self._is_begun = False
        self._until = 0  # number of the last read submitted before it began
        self._left = 0  # number of reads that may still use it

    def is_for(self, number: int) -> bool:
        """Returns whether the snapshot was taken after this read was submitted."""
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
        tx.slow, tx.last_sql = self._owner.slow, ""
        try:
            return work(tx)
        except psycopg.errors.QueryCanceled:
            if tx.last_sql:
                self._owner.record_slow(tx.last_sql)
            raise OutOfSteps from None
        except psycopg.Error as error:
            if store.handle_loss(connection, error):
                self._is_begun, self._connection = False, None
                store.drop(connection)
            raise store.as_helpdesk_error(error) from error
        finally:
            store.count_queries(tx.statements)
            if connection.in_transaction and connection.is_failed:
                self.end()

    def end(self) -> None:
        """Ends the snapshot, so that the next read sees later writes."""
        self._is_begun = False
        if self._connection is not None:
            try:
                self._connection.end_later()
            except psycopg.Error:
                self._store.drop(self._connection)
                self._connection = None
