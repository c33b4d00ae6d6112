"""Runs jobs when they are due, and scans that check dates of records, such as drafts to send and tickets to reopen.

One thread sleeps until the next of them. Scans are short and run on it; jobs run on the script threads. A scan that
finds work which may take long adds a job for it."""

import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import Executor, Future, wait

from server import clock, log
from server.context import Service
from server.dataclass import dataclass
from server.jobs import processes
from server.jobs.clock_watch import WATCH, ClockWatch
from server.jobs.job_queue import OFF, Job, JobCapacity, JobQueue, JobTiming, body_of
from server.store.store_local import StoreLocal
from server.store.tables import Column, Table
from server.store.transaction import Transaction

SCAN_SECONDS = 60  # the longest time between two runs of the scans
STUCK_SECONDS = 5 * SCAN_SECONDS  # a thread whose last round is older counts as blocked
LEAST_SECONDS = 1  # minimum between rounds, however often the scheduler is woken
STOP_SECONDS = 10
SLOTS = 4  # concurrent jobs; slow ones get half of them, the others all but one, so that neither starves
MAX_ROUNDS = 1000  # limits run_due
SHARE_SECONDS = 10.0  # interval of reports of scans to other processes
SET_SECONDS = 5  # difference from the expected time of day that shows that the clock was set, or the machine slept

SCAN_RUN = Table(
    "scan_run",
    [
        Column("name", "TEXT"),
        Column("at"),
        Column("ms"),
        Column("error", "TEXT"),
        Column("next_at"),
        Column("failures"),
    ],
    key=("name",),
)  # the last runs of scans in the leading process, for the others

Scan = Callable[[Service, int], int | None]
Start = Callable[[Service, int], None]
_scans: dict[str, Scan] = {}
_purposes: dict[str, str] = {}  # what scans do
_deleting: set[str] = set()  # scans that remove old data
_everywhere: set[str] = set()  # scans of data that each process has for itself
_starts: dict[str, Start] = {}
_log = log.get("jobs")


@dataclass(frozen=True, slots=True)
class ScanRun:
    """The last run of a scan. at: Unix seconds. ms: its duration. error: "" for success. next_at: the requested time of
    the next run, 0 for the usual interval. failures: consecutive failed runs, including this one."""

    at: int
    ms: int
    error: str
    next_at: int
    failures: int = 0


def periodic(name: str, does: str = "", *, deletes: bool = False, everywhere: bool = False) -> Callable[[Scan], Scan]:
    """Registers scan(service, now). It runs at the start and then at least every SCAN_SECONDS, in one of the processes
    that serve a database. It returns the Unix second of its next run if that may be earlier, else None.

    does: its purpose, for people. deletes: whether it removes old data, which has to wait after the clock was set.
    everywhere: whether it runs in each process."""

    def register(scan: Scan) -> Scan:
        _scans[name] = scan
        _purposes[name] = does
        if deletes:
            _deleting.add(name)
        if everywhere:
            _everywhere.add(name)
        return scan

    return register


def at_start(name: str) -> Callable[[Start], Start]:
    """Registers start(service, now); it runs once, before the first scan."""

    def register(start: Start) -> Start:
        _starts[name] = start
        return start

    return register


def starts() -> list[str]:
    """Returns the names of the functions that run at the start, sorted."""
    return sorted(_starts)


def purpose(name: str) -> str:
    """Returns what a scan does, "" if that is not known."""
    return _purposes.get(name, "")


def scans() -> list[str]:
    """Returns the names of all scans, sorted."""
    return sorted(_scans)


class Scheduler:
    """Runs the jobs and scans of one service. pool: the script threads. wake: when set, due jobs and scans are checked
    at once; the Service's `wake_scheduler` sets it. slots: concurrent jobs, 0 if other processes run the jobs.
    stop_seconds: the time that running jobs get at a stop."""

    def __init__(
        self,
        service: Service,
        pool: Executor,
        wake: threading.Event | None = None,
        slots: int = SLOTS,
        stop_seconds: float = STOP_SECONDS,
    ) -> None:
        self._service = service
        self._pool = pool
        self._wake = wake or threading.Event()
        self._slots = slots
        self._stop_seconds = stop_seconds
        self.queue = JobQueue(service.store)
        self.clock = ClockWatch(service)
        self._lock = threading.Lock()
        self._running: dict[Future[None], Job] = {}
        self._wanted: dict[str, int] = {}  # when a scan should run again
        self._stopping = False
        self._thread: threading.Thread | None = None
        self.scanned: dict[str, ScanRun] = {}  # the last run of each scan
        self._shared: dict[str, ScanRun] = {}  # the runs that other processes can read
        self._shared_at = -SHARE_SECONDS
        self._ahead = 0.0  # wall clock minus monotonic clock, when claims were last renewed
        self._turned_at = 0.0  # start of the last round, by the monotonic clock

    def start(self) -> None:
        """Starts the thread; scans run at once."""
        self._turned_at = time.monotonic()
        SCHEDULER.set(self._service.store, self)
        if self._slots:
            WATCH.set(self._service.store, self.clock)
        self._thread = threading.Thread(target=self._run, name="scheduler", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs and is not stuck in a scan. For the health route."""
        if self._thread is None or not self._thread.is_alive():
            return False
        return time.monotonic() - self._turned_at < STUCK_SECONDS

    @property
    def running(self) -> int:
        """The number of running jobs."""
        return len(self._running)

    def stop(self) -> None:
        """Claims no more jobs and gives running ones `stop_seconds` to finish. Unfinished jobs run again after the next
        start."""
        deadline = time.monotonic() + self._stop_seconds
        self._stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(self._stop_seconds)
        with self._lock:
            running = list(self._running)
        for future in running:
            future.cancel()
        wait(running, max(deadline - time.monotonic(), 0))

    def run_due(self, now: int) -> int:
        """Runs every scan, then all jobs that are due at `now`, on the calling thread; returns the number of jobs."""
        self._scan_all(now)
        ran = 0
        for _ in range(MAX_ROUNDS):
            claimed = self.queue.claim_due(now)
            if not claimed:
                break
            for each in claimed:
                self._do(each, now)
            ran += len(claimed)
        return ran

    # -- the thread -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        self._guarded("release", self.queue.release_lost)
        for name, start in _starts.items():
            self._guarded(name, lambda start=start: start(self._service, clock.now()))  # type: ignore[misc]
        # The monotonic clock prevents a burst of scans after the system clock is set.
        scanned, scan_at = 0.0, time.monotonic()
        while not self._stopping:
            self._turned_at = time.monotonic()
            self._wake.clear()
            if self._slots:
                leads = processes.leads(self._service)
                self._guarded("clock", lambda leads=leads: self.clock.look(clock.now(), leads))  # type: ignore[misc]
            if time.monotonic() >= scan_at:
                scanned = time.monotonic()
                scan_at = scanned + SCAN_SECONDS
                self._guarded("renew", lambda: self._renew(clock.now()))
                self._scan_all(clock.now())
            elif due := {name for name, at in self._wanted.items() if at <= clock.now()}:
                self._scan_all(clock.now(), due)
            self._guarded("claim", self._start_jobs)
            if self._wake.wait(self._pause(scan_at)):
                scan_at = min(scan_at, scanned + LEAST_SECONDS)

    def _pause(self, scan_at: float) -> float:
        """Returns the seconds until the next job or scan."""
        due = list(self._wanted.values())
        room = self._room()
        if room.total > 0:  # otherwise the end of a job wakes the thread
            try:
                next_job = self.queue.next_due(room)
                due += [] if next_job is None else [next_job]
            except Exception:
                _log.exception("scheduler.failed", what="next job")
        seconds = scan_at - time.monotonic()
        if due:
            seconds = min(seconds, max(min(due) - clock.now(), LEAST_SECONDS))
        return max(seconds, 0)

    def _scan_all(self, now: int, names: Collection[str] | None = None) -> None:
        """Runs scans, all by default."""
        off = self._switched_off() | (_deleting if self.clock.holds else set())
        leads = processes.leads(self._service)
        for name, scan in _scans.items():
            if names is not None and name not in names:
                continue
            self._wanted.pop(name, None)
            if name in off or not (leads or name in _everywhere):
                continue
            began, error, again = time.monotonic(), "", None
            try:
                again = scan(self._service, now)
            except Exception as failure:
                _log.exception("scan.failed", scan=name)
                error = f"{type(failure).__name__}: {failure}"
            earlier = self.scanned.get(name)
            failures = (earlier.failures if earlier else 0) + 1 if error else 0
            self.scanned[name] = ScanRun(now, _ms_since(began), error, again or 0, failures)
            if again is not None:
                self._wanted[name] = again
        if leads and self._service.store.is_shared:
            self._guarded("tell", self._share_scans)

    def _share_scans(self) -> None:
        """Stores the runs of scans for other processes, at most every SHARE_SECONDS."""
        if time.monotonic() - self._shared_at < SHARE_SECONDS:
            return
        fresh = {name: each for name, each in self.scanned.items() if self._shared.get(name) != each}
        rows = [(name, each.at, each.ms, each.error, each.next_at, each.failures) for name, each in fresh.items()]
        self._service.store.write(lambda tx: tx.put_many(SCAN_RUN, SCAN_RUN.names, rows))
        self._shared |= fresh
        self._shared_at = time.monotonic()

    def _switched_off(self) -> set[str]:
        try:
            return {row[0] for row in self._service.store.read(lambda tx: tx.find(OFF))}
        except Exception:
            _log.exception("scheduler.failed", what="switches")
            return set()

    def _renew(self, now: int) -> None:
        self._ahead = now - time.monotonic()
        with self._lock:
            running = list(self._running.values())
        self.queue.renew(running, now)

    def _room(self) -> JobCapacity:
        """Returns the capacity that running jobs leave."""
        with self._lock:
            running = [each.is_slow for each in self._running.values()]
        slow, free = sum(running), self._slots - len(running)
        if free <= 0:
            return JobCapacity(0, 0, 0)
        return JobCapacity(
            min(max(self._slots // 2, 1) - slow, free), min(max(self._slots - 1, 1) - (len(running) - slow), free), free
        )

    def _start_jobs(self) -> None:
        room = self._room()
        if room.total <= 0:
            return
        now = clock.now()
        if abs(now - time.monotonic() - self._ahead) > SET_SECONDS:
            self._renew(now)  # claims of running jobs would seem to have expired, and the jobs would run twice
        for each in self.queue.claim_due(now, room):
            with self._lock:
                if self._stopping:
                    return
                future = self._pool.submit(self._do, each, None)
                self._running[future] = each
            future.add_done_callback(self._ended)

    def _ended(self, future: "Future[None]") -> None:
        with self._lock:
            self._running.pop(future, None)
        self._wake.set()

    # -- the work ---------------------------------------------------------------------------------------------------

    def _do(self, claimed: Job, now: int | None) -> None:
        """Runs one job. now: None for the time at which it begins."""
        began = clock.now() if now is None else now
        body, started = body_of(claimed.kind), time.monotonic()
        try:
            if body is None:
                raise LookupError(f"nothing does jobs of kind '{claimed.kind}'")
            body(self._service, claimed.payload, began)
        except Exception as error:
            _log.exception("job.failed", kind=claimed.kind, job=claimed.id, attempts=claimed.attempts)
            message, ran = f"{type(error).__name__}: {error}", JobTiming(began, _ms_since(started))
            self._guarded("fail", lambda: self.queue.fail(claimed, message, clock.now() if now is None else now, ran))
            return
        ran = JobTiming(began, _ms_since(started))
        self._guarded("finish", lambda: self.queue.finish(claimed, ran))

    def _guarded(self, what: str, work: Callable[[], object]) -> None:
        """Logs every exception, so that the scheduler survives any failure, such as a database that cannot be
        written."""
        try:
            work()
        except Exception:
            _log.exception("scheduler.failed", what=what)


def last_scans(service: Service) -> dict[str, ScanRun]:
    """Returns the last run of each scan in any process."""

    def read(tx: Transaction) -> dict[str, ScanRun]:
        return {row[0]: ScanRun(*row[1:]) for row in tx.find(SCAN_RUN)}

    running = SCHEDULER.get(service.store)
    own = dict(running.scanned) if running is not None else {}
    if not service.store.is_shared or processes.leads(service):
        return own
    return own | service.store.read(read)


def _ms_since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)


SCHEDULER: StoreLocal[Scheduler] = StoreLocal()  # the running service
