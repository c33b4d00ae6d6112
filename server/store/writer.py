"""The only thread that writes. It claims the waiting functions, runs each inside one transaction, commits once and
wakes all callers: one sync of the disk for many writes, and no lock errors.

A function may run up to three times: first without a savepoint; if one of its group fails after a change, again, each
in its own savepoint; and if SQLite rolls the whole group back (full disk, I/O error), each alone, so that only the
failing one gets the error."""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from server import log
from server.errors import HelpdeskError, Unavailable
from server.store.faults import MOMENT_SECONDS, stopping
from server.store.known_rows import KnownRows
from server.store.transaction import Callback, Transaction

if TYPE_CHECKING:
    from server.store.database import Store

LOG = log.get("store")
Write = Callable[[Transaction], Any]


class Unsure(Exception):
    """The connection was lost during a commit, so that its outcome is unknown and the write must not be repeated.
    Raised by a store for the error of its driver."""


class PendingWrite:
    """A queued write. `done` is called once, on the writer's thread, with `error` or `result` set."""

    __slots__ = ("write", "done", "result", "error", "callbacks", "statements")

    def __init__(self, write: Write, done: Callable[["PendingWrite"], None]) -> None:
        self.write = write
        self.done = done
        self.result: Any = None
        self.error: BaseException | None = None
        self.callbacks: list[Callback] = []
        self.statements = 0


class Writer:
    """Owns the thread that writes."""

    def __init__(self, store: "Store", queue_limit: int, batch_limit: int) -> None:
        self._store = store
        self._connection: Any = None  # the connection of the running transaction
        self._queue: deque[PendingWrite] = deque()
        self._queue_limit = queue_limit
        self._batch_limit = batch_limit
        self._wake = threading.Condition()
        self._stopping = False
        self._current: Transaction | None = None
        self._settled = KnownRows()
        self._settled_at: object = None  # the value of Store.state then
        self.longest_seconds = 0.0  # the longest that one write has blocked the others
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    @property
    def is_current(self) -> bool:
        """Returns whether the calling thread is the writer."""
        return threading.current_thread() is self._thread

    def transaction_here(self) -> Transaction | None:
        """Returns the running transaction if the caller is inside it, else None."""
        return self._current if self._current is not None and self.is_current else None

    @property
    def waiting(self) -> int:
        """Returns the number of queued writes."""
        return len(self._queue)

    def submit(self, write: Write, done: Callable[[PendingWrite], None]) -> None:
        """Queues a write. Raises Unavailable if the queue is full or the store is closing."""
        pending = PendingWrite(write, done)
        with self._wake:
            if self._stopping:
                raise stopping()
            if len(self._queue) >= self._queue_limit:
                raise Unavailable(
                    f"{self._queue_limit} writes are waiting already; try again in a moment",
                    retry_after=MOMENT_SECONDS,
                )
            self._queue.append(pending)
            self._wake.notify()

    def call(self, write: Write) -> Any:
        """Queues a write and waits until it is on disk; returns its result or raises its error."""
        ready = threading.Lock()
        ready.acquire()
        box: list[PendingWrite] = []

        def done(pending: PendingWrite) -> None:
            box.append(pending)
            ready.release()

        self.submit(write, done)
        ready.acquire()
        self._store.count_queries(box[0].statements)
        if box[0].error is not None:
            raise box[0].error
        return box[0].result

    def close(self) -> None:
        """Finishes the queued writes, then stops."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            group = self._take()
            if not group:
                return
            try:
                self._commit_group(group)
            except Exception as error:  # the database is unusable: every waiter gets the error, the thread continues
                self._abandon(group, error)
            callbacks = [each for pending in group for each in pending.callbacks]
            for at_once, callback in sorted(callbacks, key=lambda each: not each[0]):
                _guarded(_run if at_once else self._store.after_commit, callback)
            for pending in group:
                _guarded(pending.done, pending)

    def _take(self) -> list[PendingWrite]:
        with self._wake:
            while not self._queue and not self._stopping:
                if not self._wake.wait(self._store.quiet_seconds):
                    self._queue.append(PendingWrite(self._store.tidy, _log_untidied))
            if not self._queue and self._store.quiet_seconds is not None:  # the last write before the stop
                self._queue.append(PendingWrite(self._store.tidy, _log_untidied))
            count = min(len(self._queue), self._batch_limit)
            return [self._queue.popleft() for _ in range(count)]

    def _commit_group(self, group: list[PendingWrite]) -> None:
        if self._swiftly(group):
            return
        _reset(group)
        if self._try_group(group):
            return
        for pending in group:
            _reset([pending])
            self._try_group([pending], alone=True)

    def _swiftly(self, group: list[PendingWrite]) -> bool:
        """Runs and commits the group without savepoints, at each of which the full-text index would flush its buffer.

        A write that fails before its first change, as most failing ones do, gets its error and the others continue.
        Returns False if one fails later or the database rolls the transaction back: everything is undone, to be
        repeated with savepoints."""
        try:
            self._begin()
            outline = self._store.outline(self._connection)
            if all(self._run_swiftly(pending, outline) for pending in group):
                self._store.commit(self._connection)
                return True
        except Unsure:
            raise
        except self._store.fault:
            pass  # raised again by the retry with savepoints
        self._roll_back()
        return False

    def _begin(self) -> None:
        self._connection = None
        self._connection = self._store.begin()
        state = self._store.state(self._connection)
        if state is None or state != self._settled_at:
            self._settled.clear()
            self._settled_at = state

    def _roll_back(self) -> None:
        """Rolls the running transaction back, if there is one."""
        self._settled.clear()
        if self._connection is not None and self._connection.in_transaction:
            self._store.undo(self._connection)

    def _run_swiftly(self, pending: PendingWrite, outline: int) -> bool:
        """Runs one write; returns False if its changes must be undone."""
        store, connection = self._store, self._connection
        transaction = store.transaction(connection, can_write=True)
        transaction.share(self._settled)
        transaction.has_savepoints = False
        changes = connection.total_changes()
        store.start_clock()
        try:
            self._current = transaction
            pending.result = self._measured(pending.write, transaction)
        except BaseException as error:
            if store.is_failed(connection) or connection.total_changes() != changes or transaction.is_spoiled:
                return False
            if store.outline(connection) != outline:  # new tables do not count as changes
                return False
            pending.error = store.as_helpdesk_error(error)
            return True
        finally:
            self._current = None
            store.stop_clock()
            pending.statements += transaction.statements
        pending.callbacks = transaction.take_callbacks()
        return not store.is_failed(connection) and not transaction.is_spoiled

    def _measured(self, write: Write, transaction: Transaction) -> Any:
        began = time.monotonic()
        try:
            result = write(transaction)
            transaction.flush()
            return result
        finally:
            self.longest_seconds = max(self.longest_seconds, time.monotonic() - began)

    def _try_group(self, group: list[PendingWrite], alone: bool = False) -> bool:
        """Runs and commits the group; returns False if the database rolled back more than one write."""
        try:
            self._begin()
        except self._store.fault as error:
            self._fail(group, error)
            return True
        for pending in group:
            if not self._run_one(pending) and not self._connection.in_transaction:
                return alone or len(group) == 1
        try:
            self._store.commit(self._connection)
        except Unsure:
            raise
        except self._store.fault as error:
            self._roll_back()
            if len(group) > 1:
                return False
            self._fail(group, error)
        return True

    def _run_one(self, pending: PendingWrite) -> bool:
        """Runs one write in a savepoint; returns False if it failed."""
        store, connection = self._store, self._connection
        transaction = store.transaction(connection, can_write=True)
        transaction.share(self._settled)
        store.start_clock()
        try:
            connection.execute("SAVEPOINT one")
            self._current = transaction
            pending.result = self._measured(pending.write, transaction)
            transaction.require_open()  # a statement may have ended it, and `write` may have caught the error
            connection.execute("RELEASE one")
        except BaseException as error:
            pending.result = None
            pending.error = store.as_helpdesk_error(error)
            self._settled.clear()
            if connection.in_transaction:
                connection.execute("ROLLBACK TO one")
                connection.execute("RELEASE one")
            return False
        finally:
            self._current = None
            store.stop_clock()
            pending.statements += transaction.statements
        pending.callbacks = transaction.take_callbacks()
        return True

    def _fail(self, group: list[PendingWrite], error: Exception) -> None:
        for pending in group:
            pending.result, pending.callbacks = None, []
            if not isinstance(pending.error, HelpdeskError):
                pending.error = self._store.as_helpdesk_error(error)

    def _abandon(self, group: list[PendingWrite], error: Exception) -> None:
        self._roll_back()
        for pending in group:
            pending.result, pending.callbacks = None, []
            pending.error = pending.error or self._store.as_helpdesk_error(error)
        time.sleep(0.05)  # a broken disk must not turn this thread into a busy loop


def _reset(group: list[PendingWrite]) -> None:
    """Resets writes to the state before their run."""
    for pending in group:
        pending.result = pending.error = None
        pending.callbacks = []
        pending.statements = 0


def _log_untidied(pending: PendingWrite) -> None:
    """Logs a failed tidy; it is repeated with other writes or before a search."""
    if pending.error is not None:
        LOG.warning("database.not_tidied", reason=str(pending.error))


def _run(callback: Callable[[], None]) -> None:
    callback()


def _guarded(call: Callable[[Any], Any], argument: Any) -> None:
    """Calls a callback of a commit; the writer survives any error, for those who still wait."""
    try:
        call(argument)
    except Exception:
        LOG.exception("after_commit.failed")
