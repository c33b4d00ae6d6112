"""The one thread that writes. It takes what waits, runs each function inside one transaction, commits once, and answers
all of them: one sync of the disk for many writes, and no lock errors.

A function may be run up to three times: first without a savepoint; when one of its group fails half way, again, each in
its own; and when SQLite drops the whole group (no room, an I/O error), each alone, so that only the guilty one fails,
with its own error."""

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
    """The database went away while it committed: what was written may be there or not, so that nobody may do it again.
    A store raises it from the error of its driver."""


class PendingWrite:
    """A write that waits for its turn. `done` is called once, on the writer's thread, with `error` or `result` set."""

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
        self._connection: Any = None  # of the transaction that runs
        self._queue: deque[PendingWrite] = deque()
        self._queue_limit = queue_limit
        self._batch_limit = batch_limit
        self._wake = threading.Condition()
        self._stopping = False
        self._current: Transaction | None = None
        self._settled = KnownRows()
        self._settled_at: object = None  # what Store.state said then
        self.longest_seconds = 0.0  # that one write has held all others
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    @property
    def is_current(self) -> bool:
        """Whether the calling thread is the writer."""
        return threading.current_thread() is self._thread

    def transaction_here(self) -> Transaction | None:
        """The write that runs, when the caller is inside it; else None."""
        return self._current if self._current is not None and self.is_current else None

    @property
    def waiting(self) -> int:
        """How many writes wait."""
        return len(self._queue)

    def submit(self, write: Write, done: Callable[[PendingWrite], None]) -> None:
        """Queue a write. Raises Unavailable when the queue is full or the store is closing."""
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
        """Queue a write and wait until it is on disk. Answers what it answers, raises what it raises."""
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
        """Finish what waits, then stop."""
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
            except Exception as error:  # the database is unusable: every waiter is told, the thread lives on
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
                    self._queue.append(PendingWrite(self._store.tidy, _tell_untidied))
            if not self._queue and self._store.quiet_seconds is not None:  # the last that is done
                self._queue.append(PendingWrite(self._store.tidy, _tell_untidied))
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
        """Run and commit without savepoints, at each of which the full-text index writes out what it has gathered.

        A write that fails before it changed anything, as most do, is told so and the others go on. False when one fails
        later, or the database drops the transaction: all is undone, to be done again with savepoints."""
        try:
            self._begin()
            outline = self._store.outline(self._connection)
            if all(self._run_swiftly(pending, outline) for pending in group):
                self._store.commit(self._connection)
                return True
        except Unsure:
            raise
        except self._store.fault:
            pass  # told by the careful way, which meets it again
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
        """Undo the transaction that runs, if one does."""
        self._settled.clear()
        if self._connection is not None and self._connection.in_transaction:
            self._store.undo(self._connection)

    def _run_swiftly(self, pending: PendingWrite, outline: int) -> bool:
        """Run one write; False when what it did must be undone."""
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
            if store.outline(connection) != outline:  # new tables are no changes in the sense of the count
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
        """Run and commit; False when the database dropped the transaction under more than one of them."""
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
        """Run one write in its savepoint; False when it failed."""
        store, connection = self._store, self._connection
        transaction = store.transaction(connection, can_write=True)
        transaction.share(self._settled)
        store.start_clock()
        try:
            connection.execute("SAVEPOINT one")
            self._current = transaction
            pending.result = self._measured(pending.write, transaction)
            transaction.require_open()  # a statement may have ended it, and its error been caught on the way here
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
    """As if they had not run yet."""
    for pending in group:
        pending.result = pending.error = None
        pending.callbacks = []
        pending.statements = 0


def _tell_untidied(pending: PendingWrite) -> None:
    """What is not done in a quiet moment is done with other writes, or before a search."""
    if pending.error is not None:
        LOG.warning("database.not_tidied", reason=str(pending.error))


def _run(callback: Callable[[], None]) -> None:
    callback()


def _guarded(call: Callable[[Any], Any], argument: Any) -> None:
    """Run what others hung onto a commit; whatever it raises, the writer lives on for those who still wait."""
    try:
        call(argument)
    except Exception:
        LOG.exception("after_commit.failed")
