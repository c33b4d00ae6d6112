"""The processes that serve one database. Each keeps a row alive, which shows which processes are dead, so that others
can take over their claims, and which process runs the scans.

A process is dead if its number of heartbeats does not change for LEASE_SECONDS by the clock of the observer; the clocks
of two machines are never compared. A database file is served by one process at a time, enforced by a lock on its
folder; then there is no row, and nothing is written."""

import json
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import field
from typing import Any

import peewee

from server import clock, log
from server.context import WAKE, Service
from server.dataclass import dataclass
from server.errors import HelpdeskError
from server.jobs import job_queue
from server.settings import ALL, WEB
from server.store.statements import slot
from server.store.store_local import StoreLocal
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

BEAT_SECONDS = 2.0  # interval of heartbeats
LEASE_SECONDS = 8.0  # a process without a heartbeat for this long counts as dead; others notice within a beat
APART_SECONDS = 30  # difference between the clocks of two machines that is logged
LEFT = "left"  # announced by a process that ends, or that found a dead process
LOG = log.get("processes")

PROCESS = Table(
    "process",
    [
        Column("name", "TEXT"),
        Column("role", "TEXT"),
        Column("host", "TEXT"),
        Column("pid"),
        Column("started_at"),
        Column("seen_at"),
        Column("beats"),
        Column("leads"),
        Column("told", "TEXT", "{}"),
    ],
    [Index(("name",), "the row of a process", unique=True)],
)
# The column `told` is the JSON of the values that a process shares.

Release = Callable[[Transaction, str], None]
_releases: list[Release] = []


def releases(release: Release) -> Release:
    """Registers release(tx, name), which releases the claims of a process that has ended or is dead."""
    _releases.append(release)
    return release


@dataclass(frozen=True, slots=True)
class ServingProcess:
    """A process of a database. started_at, seen_at: Unix seconds by its own clock. leads: whether it runs the scans.
    shared: the values that it shares."""

    name: str
    role: str
    host: str
    pid: int
    started_at: int
    seen_at: int
    beats: int
    leads: bool
    shared: dict[str, Any] = field(default_factory=dict)


class Watchman:
    """Finds dead processes by the local monotonic clock. monotonic: seconds."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._seen: dict[str, tuple[int, float]] = {}
        self._looked_at = 0.0

    def gone(self, others: list[ServingProcess]) -> list[ServingProcess]:
        """Returns the processes whose heartbeats have stopped for too long. After a suspension of this process, the
        observation starts again."""
        now = self._monotonic()
        if now - self._looked_at > LEASE_SECONDS / 2:
            self._seen.clear()
        self._looked_at = now
        before, self._seen = self._seen, {}
        for each in others:
            beats, since = before.get(each.name, (-1, now))
            self._seen[each.name] = (each.beats, since if beats == each.beats else now)
        still = [each for each in others if now - self._seen[each.name][1] >= LEASE_SECONDS]
        for each in still:
            del self._seen[each.name]  # if it returns, its observation starts again
        return still


class Membership:
    """The row of this process, with a heartbeat thread of its own, since the scheduler's thread may be busy. role: of
    the setting. on_beat: called on that thread with each heartbeat, and when another process announces something to it.
    shared_values: {name: function that returns a value for the others}, sent with each heartbeat. others: the other
    processes at the last heartbeat. can_lead: called with each heartbeat; a process whose scheduler is stuck gives up
    the lead."""

    def __init__(
        self, service: Service, role: str = ALL, monotonic: Callable[[], float] = time.monotonic, name: str = ""
    ) -> None:
        """name: the prefix of its claims, unique to this run."""
        self._service = service
        self._role = role
        self._name = name or job_queue.run_name()
        self._monotonic = monotonic
        self._watchman = Watchman(monotonic)
        self._beat_at = -LEASE_SECONDS
        self._leads = False
        self._started_at = clock.now()
        self._beats: dict[str, int] = {}  # heartbeats of the others, as last read
        self._apart: set[str] = set()  # names of processes whose clocks differ from ours
        self._wake = threading.Event()
        self._is_beat_due = False
        self._is_over = False
        self._thread: threading.Thread | None = None
        self.on_beat: list[Callable[[], object]] = []
        self.shared_values: dict[str, Callable[[], Any]] = {}
        self.others: list[ServingProcess] = []
        self.can_lead: Callable[[], bool] = lambda: self.does_jobs
        MEMBERSHIP.set(service.store, self)

    @property
    def does_jobs(self) -> bool:
        """Whether this process runs jobs and scans."""
        return self._role != WEB

    @property
    def leads(self) -> bool:
        """Whether this process runs the scans; never longer than others allow without a heartbeat."""
        if not self._service.store.is_shared:
            return True
        return self._leads and self._monotonic() - self._beat_at < LEASE_SECONDS

    def start(self) -> None:
        """Joins the processes of a shared database. Raises the errors of a write."""
        if not self._service.store.is_shared:
            return
        self._service.hearing[LEFT] = lambda text: self.look(is_beat_due=True)
        self.beat()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._thread.start()

    def look(self, is_beat_due: bool = False) -> None:
        """Triggers the work of a heartbeat now; may be called on any thread."""
        self._is_beat_due = self._is_beat_due or is_beat_due
        self._wake.set()

    def beat(self) -> None:
        """Sends a heartbeat, and reads those of the others. Raises the errors of a write."""
        led = self.leads
        buried = [self._buried(each) for each in self._watchman.gone(self._signed())]
        if any(buried):
            self._signed()  # the lead may be free now
        if self.leads and not led:
            LOG.info("process.leads", process=self._name)
            self._service.hear(WAKE)

    def _signed(self) -> list[ServingProcess]:
        """Sends a heartbeat; returns the other processes."""
        shared = json.dumps({name: value() for name, value in self.shared_values.items()})
        self.others, self._leads = self._service.store.write(lambda tx: self._beaten(tx, shared))
        self._beat_at = self._monotonic()
        self._compare_clocks(self.others)
        return self.others

    def _buried(self, gone: ServingProcess) -> bool:
        """Releases the claims of a dead process. Returns False if another process has done so, or it is alive."""
        is_buried = self._service.store.write(lambda tx: self._bury(tx, gone))
        if is_buried:
            LOG.warning("process.gone", process=gone.name, host=gone.host, pid=gone.pid, role=gone.role)
        return is_buried

    def stop(self) -> None:
        """Leaves the processes and releases all claims. Never raises: without this, the others find out by the missing
        heartbeat."""
        self._is_over = True
        self._leads = False
        self._wake.set()
        if self._thread is None:
            return
        self._thread.join()
        try:
            self._service.store.write(lambda tx: self._leave(tx, self._name))
        except HelpdeskError as error:
            LOG.warning("process.not_signed_off", reason=error.message)

    def _run(self) -> None:
        while not self._is_over:
            woken = self._wake.wait(BEAT_SECONDS)
            if self._is_over:
                return
            self._wake.clear()
            if not woken or self._is_beat_due:
                self._is_beat_due = False
                self._guarded(self.beat)
            for each in tuple(self.on_beat):
                self._guarded(each)

    def _guarded(self, work: Callable[[], object]) -> None:
        try:
            work()
        except HelpdeskError as error:
            LOG.warning("beat.missed", reason=error.message)
        except Exception:
            LOG.exception("beat.failed")

    def _compare_clocks(self, others: list[ServingProcess]) -> None:
        """Logs once that the clock of another process differs: then the time at which a job is due depends on the
        process that checks."""
        now = clock.now()
        for each in others:
            beats = self._beats.get(each.name)
            is_fresh = beats is not None and beats != each.beats
            if is_fresh and abs(each.seen_at - now) > APART_SECONDS and each.name not in self._apart:
                self._apart.add(each.name)
                LOG.warning("process.clock_apart", host=each.host, pid=each.pid, seconds=each.seen_at - now)
        self._beats = {each.name: each.beats for each in others}

    # -- inside a write ---------------------------------------------------------------------------------------------

    def _beaten(self, tx: Transaction, shared: str) -> tuple[list[ServingProcess], bool]:
        """Stores the heartbeat, and takes the lead if no other process has it. Returns the others, and whether this one
        leads."""
        table: Any = PROCESS.sql
        name, now = self._name, clock.now()
        updated = tx.run(
            lambda: table.update({table.beats: table.beats + 1, table.seen_at: slot(0), table.told: slot(1)}).where(
                table.name == slot(2)
            ),
            (now, shared, name),
        )
        if not updated:  # at the start, and after others considered this process dead
            tx.insert(
                PROCESS,
                {
                    "name": name,
                    "role": self._role,
                    "host": socket.gethostname(),
                    "pid": os.getpid(),
                    "started_at": self._started_at,
                    "seen_at": now,
                    "beats": 1,
                    "told": shared,
                },
            )
        processes = all_of(tx)
        others = [each for each in processes if each.name != name]
        leads = self.can_lead() and not any(each.leads for each in others)
        if any(each.leads != leads for each in processes if each.name == name):
            tx.run(lambda: table.update({table.leads: slot(0)}).where(table.name == slot(1)), (int(leads), name))
        return others, leads

    def _bury(self, tx: Transaction, gone: ServingProcess) -> bool:
        """Releases the claims of a dead process. Returns False if it has sent a heartbeat, or another process was
        first."""
        row = tx.first(PROCESS, name=gone.name)
        if row is None or row[PROCESS.position["beats"]] != gone.beats:
            return False
        self._leave(tx, gone.name)
        self._service.wake_after(tx)
        return True

    def _leave(self, tx: Transaction, name: str) -> None:
        release(tx, name)
        tx.delete(PROCESS, name=name)
        for each in (LEFT, WAKE):
            self._service.store.announce_after(tx, each)


MEMBERSHIP: StoreLocal[Membership] = StoreLocal()  # the running service


def membership_of(service: Service) -> Membership | None:
    """Returns the membership of a running service; None in a command."""
    return MEMBERSHIP.get(service.store)


def leads(service: Service) -> bool:
    """Whether this process does the work that only one process does."""
    member = membership_of(service)
    return member is None or member.leads


def running(service: Service) -> list[ServingProcess]:
    """Returns all processes, the oldest first; an empty list if the database cannot be read."""
    try:
        return service.store.read(all_of)
    except HelpdeskError:
        return []


def shared_by_others(service: Service, name: str) -> list[Any]:
    """Returns the values that the other processes share under a name, at most one heartbeat old."""
    member = membership_of(service)
    return [each.shared[name] for each in member.others if name in each.shared] if member is not None else []


def share(service: Service, name: str, value: Callable[[], Any]) -> None:
    """Shares a small JSON value with the other processes, with each heartbeat."""
    member = membership_of(service)
    if member is not None:
        member.shared_values[name] = value


def all_of(tx: Transaction) -> list[ServingProcess]:
    """Returns all processes, the oldest first; an empty list if a single process serves the database."""
    table: Any = PROCESS.sql
    rows = [
        dict(zip(PROCESS.names, row, strict=True))
        for row in tx.rows(lambda: table.select(*PROCESS.all_columns).order_by(table.id))
    ]
    return [
        ServingProcess(
            each["name"],
            each["role"],
            each["host"],
            each["pid"],
            each["started_at"],
            each["seen_at"],
            each["beats"],
            bool(each["leads"]),
            json.loads(each["told"]),
        )
        for each in rows
    ]


def release(tx: Transaction, name: str) -> None:
    """Releases the claims of a process."""
    for each in _releases:
        each(tx, name)


def claimed_by(column: Any, name: int) -> Any:
    """Returns the condition that a claim belongs to a process. name: the position of the value `claims_of(name)`."""
    return peewee.fn.SUBSTR(column, peewee.SQL("1"), peewee.SQL(str(job_queue.RUN_NAME_CHARS + 1))) == slot(name)


def claims_of(name: str) -> str:
    """Returns the prefix of the claims of a process."""
    return f"{name}:"


@releases
def _release_jobs(tx: Transaction, name: str) -> None:
    table: Any = job_queue.JOB.sql
    tx.run(
        lambda: table.update({table.claimed_by: "", table.claimed_until: 0}).where(claimed_by(table.claimed_by, 0)),
        (claims_of(name),),
    )
