"""The health of the service and the length of its queues, for /health, /metrics, `helpdesk doctor` and the console."""

import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import peewee

from server import clock, log
from server.automation.types.queue_parts.messages import QUEUE_MESSAGE
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import HelpdeskError, Unavailable
from server.jobs.job_queue import JOB
from server.outbox.queue_rows import OUTGOING
from server.store import blobs
from server.store.database import Store
from server.store.expressions import one_if
from server.store.schema import META
from server.store.server_state import ServerState
from server.store.statements import slot
from server.store.store_local import StoreLocal
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.store.writer import PendingWrite

WRITE_SECONDS = 5.0  # timeout of a write
RECENT_SECONDS = 60.0  # age of the state for incidental uses, such as the mark on every page
TRUSTED_SECONDS = 1.0  # age of the state of the disk, so that frequent requests rarely write
LOOKED_AT = "looked_at"  # the row of the write test
MIB = 1024 * 1024
LOG = log.get("health")


@dataclass(frozen=True)
class Backlog:
    """The queues. jobs_due: jobs that could run now, oldest_job_seconds how long the first of them could.

    jobs_failed: jobs that are no longer tried. mail_queued: mail to be sent now or later, mail_failing of it after a
    failure, mail_parked because no mail server is configured, mail_held because its mail server cannot be reached.
    mail_given_up: mail that is no longer tried, for some recipients or all. queue_messages: messages in the queues of
    automations."""

    jobs_due: int
    jobs_later: int
    jobs_failed: int
    oldest_job_seconds: int
    mail_queued: int
    mail_failing: int
    mail_parked: int
    mail_held: int
    mail_given_up: int
    queue_messages: int


@dataclass(frozen=True)
class Health:
    """The conditions of health; all must hold. free_bytes: free space on the disk of the data folder. takes_requests:
    False while the service is about to stop."""

    database_readable: bool
    database_writable: bool
    files_in_place: bool
    scheduler_alive: bool
    disk_has_room: bool
    free_bytes: int
    takes_requests: bool = True

    @property
    def is_well(self) -> bool:
        return all(self.checks().values())

    def checks(self) -> dict[str, bool]:
        """Returns {name: whether the condition holds}."""
        return {name: value for name, value in asdict(self).items() if isinstance(value, bool)}


@dataclass(frozen=True)
class Watch:
    """A running service. started_at: Unix seconds. look(seconds): returns its state, with that of the disk at most as
    old. jobs_running: returns the number of running jobs."""

    started_at: int
    look: Callable[[float], Health]
    jobs_running: Callable[[], int]


WATCH: StoreLocal[Watch] = StoreLocal()


def watch(service: Service, look: Callable[[float], Health], jobs_running: Callable[[], int]) -> None:
    """Registers the running service, so that the rest of the process can see its health."""
    WATCH.set(service.store, Watch(clock.now(), look, jobs_running))


def running_watch(service: Service) -> Watch:
    """Returns the watch of the running service. Raises Unavailable if only the database is open, as in a command."""
    running = WATCH.get(service.store)
    if running is None:
        raise Unavailable("the service is not running")
    return running


def backlog(tx: Transaction, now: int) -> Backlog:
    """Returns the queues at `now`, in Unix seconds."""
    job, outgoing, message = JOB.sql, OUTGOING.sql, QUEUE_MESSAGE.sql
    draft = table_named("draft")
    due = tx.row(
        lambda: job.select(_count(), peewee.fn.MIN(job.due_at)).where(job.failed_at == 0, job.due_at <= slot(0)), (now,)
    )
    mail = tx.row(
        lambda: draft.select(_count(), peewee.fn.SUM(one_if(draft.c.queue_fails > 0))).where(draft.c.is_queued == 1)
    )
    assert due is not None and mail is not None
    return Backlog(
        jobs_due=due[0],
        jobs_later=int(tx.value(lambda: job.select(_count()).where(job.failed_at == 0, job.due_at > slot(0)), (now,))),
        jobs_failed=int(tx.value(lambda: job.select(_count()).where(job.failed_at > 0))),
        oldest_job_seconds=max(now - due[1], 0) if due[0] else 0,
        mail_queued=mail[0],
        mail_failing=int(mail[1] or 0),
        mail_parked=int(tx.value(lambda: outgoing.select(_count()).where(outgoing.is_parked == 1))),
        mail_held=int(tx.value(lambda: outgoing.select(_count()).where(outgoing.held_by > 0))),
        mail_given_up=int(tx.value(lambda: _given_up(outgoing, draft))),
        queue_messages=int(tx.value(lambda: message.select(_count()))),
    )


def _given_up(outgoing: Any, draft: Any) -> Any:
    queued = draft.select(draft.c.id).where(draft.c.is_queued == 1)
    return outgoing.select(_count()).where(outgoing.last_error != "", outgoing.draft_id.not_in(queued))


def _count() -> Any:
    return peewee.fn.COUNT(peewee.SQL("*"))


class Pulse:
    """Determines the health of a service. Concurrent callers share one test of the disk."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._looked_at = -RECENT_SECONDS
        self._disk = (False, False, False, 0)

    def look(self, scheduler_alive: bool, seconds: float = TRUSTED_SECONDS, takes_requests: bool = True) -> Health:
        """Returns the current state; that of the disk may be the given number of seconds old."""
        service = self._service
        with self._lock:
            if time.monotonic() - self._looked_at >= seconds:
                store, free = service.store, free_bytes(Path(service.settings.data))
                self._disk = (is_readable(store), is_writable(store), store.is_in_place, free)
                self._looked_at = time.monotonic()
            readable, writable, in_place, free = self._disk
        has_room = free >= service.settings.disk_free_mib * MIB
        return Health(readable, writable, in_place, scheduler_alive, has_room, free, takes_requests)


def stored_bytes(service: Service) -> tuple[int, int]:
    """Returns the size in bytes of the whole database, and of the attachments and original mails in it."""
    store = service.store
    if store.path is None:
        whole = sum(store.sizes())
    else:
        files = Path(service.settings.data).glob("helpdesk.db*")
        whole = sum(path.stat().st_size for path in files if path.exists())
    return whole, store.read(blobs.total)


def free_bytes(folder: Path) -> int:
    """Returns the free space on the disk of a folder, in bytes; 0 if it is unknown."""
    try:
        return shutil.disk_usage(folder).free
    except OSError as error:
        LOG.warning("disk.unknown", reason=error.strerror or str(error))
        return 0


def is_readable(store: Store) -> bool:
    """Returns whether the database can be read."""
    try:
        store.read(lambda tx: tx.first(META, name=LOOKED_AT))
    except HelpdeskError as error:
        LOG.error("database.unreadable", reason=error.message)
        return False
    return True


def is_writable(store: Store) -> bool:
    """Returns whether a write completes within WRITE_SECONDS."""
    ended = threading.Event()
    answers: list[PendingWrite] = []

    def done(pending: PendingWrite) -> None:
        answers.append(pending)
        ended.set()

    try:
        store.submit(lambda tx: tx.put(META, {"name": LOOKED_AT, "value": clock.now()}), done)
    except HelpdeskError as error:
        LOG.error("database.unwritable", reason=error.message)
        return False
    if not ended.wait(WRITE_SECONDS):
        LOG.error("database.unwritable", reason=f"a write took more than {WRITE_SECONDS:.0f} seconds")
        return False
    failure = answers[0].error
    if failure is not None:
        LOG.error("database.unwritable", reason=str(failure))
    return failure is None


def waiting(ctx: Context) -> Backlog:
    """Returns the queues of the service. Raises AdminOnly."""
    ctx.require_admin("see what waits in the service")
    return ctx.service.store.read(lambda tx: backlog(tx, ctx.now))


@dataclass(frozen=True)
class DatabaseState:
    """The database. product: its name. bytes: its size; log_bytes: the size of its write-ahead log. server: the state
    of its server, None for a file."""

    product: str
    version: str
    bytes: int
    log_bytes: int
    writes_waiting: int
    server: ServerState | None = None

    @property
    def is_file(self) -> bool:
        return self.server is None


def database(ctx: Context) -> DatabaseState:
    """Returns the state of the database. Raises AdminOnly."""
    ctx.require_admin("see what waits in the service")
    store = ctx.service.store
    return DatabaseState(*store.product(), *store.sizes(), store.writes_waiting, store.server_state())
