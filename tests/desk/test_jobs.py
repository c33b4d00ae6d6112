"""Jobs and the scheduler: due work runs once at a time, is tried again, and never stops the thread."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from server import clock
from server.context import Service
from server.jobs import job_queue, scheduler
from server.jobs.job_queue import (
    CLAIM_SECONDS,
    JOB,
    MAX_ATTEMPTS,
    MAX_RETRY_SECONDS,
    MAX_RUNS,
    OFF,
    RETRY_SECONDS,
    RUN,
    JobCapacity,
    JobQueue,
    job,
)
from server.jobs.scheduler import Scheduler, at_start, periodic
from server.settings import load
from server.store.database import Store
from server.store.schema import open_store

NOW = 1_795_187_045


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "jobs.db", [JOB, RUN, OFF], [])
    yield opened
    opened.close()


@pytest.fixture
def service(store: Store, tmp_path: Path) -> Service:
    return Service(store, None, load({}, {}, tmp_path), "https://desk.example", "0" * 32)  # type: ignore[arg-type]


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as opened:
        yield opened


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clears the registry, so that only the jobs of a test exist."""
    monkeypatch.setattr(job_queue, "_bodies", {})
    monkeypatch.setattr(scheduler, "_scans", {})
    monkeypatch.setattr(scheduler, "_starts", {})


def add(
    store: Store, kind: str = "work", due_at: int = NOW, unique_key: str = "", is_slow: bool = False, **payload: Any
) -> int:
    return store.write(lambda tx: JobQueue.add(tx, kind, due_at, payload, unique_key, is_slow=is_slow))


def row(store: Store, id: int) -> dict[str, Any]:
    found = store.read(lambda tx: tx.get(JOB, id))
    assert found is not None
    return dict(zip(JOB.names, found, strict=True))


def jobs(store: Store) -> int:
    return len(store.read(lambda tx: tx.find(JOB)))


def test_a_due_job_runs_once_and_is_removed(store: Store, service: Service, pool: ThreadPoolExecutor) -> None:
    done: list[Any] = []
    job("work")(lambda service, payload, now: done.append((payload["n"], now)))
    add(store, n=2, due_at=NOW)
    add(store, n=1, due_at=NOW - 5)
    add(store, n=3, due_at=NOW + 1)
    runner = Scheduler(service, pool)
    assert runner.run_due(NOW) == 2 and done == [(1, NOW), (2, NOW)]
    assert runner.run_due(NOW) == 0 and jobs(store) == 1
    assert runner.queue.next_due() == NOW + 1


def test_a_failing_job_is_retried_with_growing_delays_and_then_no_more(
    store: Store, service: Service, pool: ThreadPoolExecutor
) -> None:
    tries: list[int] = []

    def fail(service: Service, payload: dict[str, Any], now: int) -> None:
        tries.append(now)
        raise ValueError("no")

    job("work")(fail)
    id = add(store)
    runner, now = Scheduler(service, pool), NOW
    for attempt in range(1, MAX_ATTEMPTS + 1):
        assert runner.run_due(now) == 1
        found = row(store, id)
        assert (found["attempts"], found["last_error"]) == (attempt, "ValueError: no")
        assert found["due_at"] - now == min(RETRY_SECONDS * 2 ** (attempt - 1), MAX_RETRY_SECONDS)
        assert runner.run_due(found["due_at"] - 1) == 0
        now = found["due_at"]
    assert row(store, id)["failed_at"] and runner.run_due(now) == 0 and len(tries) == MAX_ATTEMPTS


def test_a_job_without_a_function_waits_like_a_failed_one(
    store: Store, service: Service, pool: ThreadPoolExecutor
) -> None:
    id = add(store, kind="unknown")
    Scheduler(service, pool).run_due(NOW)
    assert "nothing does jobs of kind 'unknown'" in row(store, id)["last_error"]


def test_a_job_is_added_once_under_its_key(store: Store) -> None:
    first = add(store, unique_key="a", n=1)
    assert add(store, unique_key="a", n=2) == first and add(store, unique_key="b") != first
    assert jobs(store) == 2
    failed_for_good = {"failed_at": NOW, "attempts": 20}
    store.write(lambda tx: tx.update(JOB, first, failed_for_good))
    assert add(store, unique_key="a", n=3) == first
    found = row(store, first)
    assert (found["failed_at"], found["attempts"], found["payload"]) == (0, 0, '{"n": 3}')


def test_two_queues_never_claim_one_job(store: Store) -> None:
    for _ in range(50):
        add(store)
    start, claimed = threading.Barrier(2), list[int]()

    def claim() -> None:
        start.wait()
        while found := JobQueue(store).claim_due(NOW, JobCapacity(total=3)):
            claimed.extend(each.id for each in found)

    threads = [threading.Thread(target=claim) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(claimed) == len(set(claimed)) == 50


@pytest.mark.parametrize("later", [CLAIM_SECONDS + 1, -10_000])
def test_a_lapsed_claim_is_claimed_again_and_the_old_one_is_void(store: Store, later: int) -> None:
    id, lines = add(store, due_at=NOW - 20_000), JobQueue(store)
    [old] = lines.claim_due(NOW)
    assert lines.claim_due(NOW + CLAIM_SECONDS) == []
    [new] = lines.claim_due(NOW + later)  # also when the clock was set back
    assert new.attempts == 2
    lines.finish(old)
    lines.fail(old, "late", NOW)
    lines.renew([old], NOW)
    assert row(store, id)["claimed_by"] == new.claim and row(store, id)["last_error"] == ""
    lines.finish(new)
    assert jobs(store) == 0


def test_a_running_job_renews_its_claim(store: Store) -> None:
    add(store)
    lines = JobQueue(store)
    claimed = lines.claim_due(NOW)
    lines.renew(claimed, NOW + CLAIM_SECONDS)
    assert lines.claim_due(NOW + CLAIM_SECONDS + 1) == []


@pytest.mark.sqlite("one process to a file")
def test_claims_of_a_dead_process_are_released_at_the_start(store: Store) -> None:
    own, other = add(store), add(store)
    lines = JobQueue(store)
    lines.claim_due(NOW)
    store.write(lambda tx: tx.update(JOB, other, {"claimed_by": "0123456789ab:1"}))
    lines.release_lost()
    assert row(store, own)["claimed_by"] != "" and row(store, other)["claimed_by"] == ""


def test_the_thread_runs_scans_and_jobs_at_once_and_survives_errors(
    store: Store, service: Service, pool: ThreadPoolExecutor
) -> None:
    begun, scanned, done = threading.Event(), threading.Event(), threading.Event()

    @periodic("fails")
    def _fails(service: Service, now: int) -> None:
        raise ValueError("no")

    @periodic("scans")
    def _scans(service: Service, now: int) -> None:
        scanned.set()

    @at_start("begins")
    def _begins(service: Service, now: int) -> None:
        begun.set()

    @job("fails")
    def _job_fails(service: Service, payload: dict[str, Any], now: int) -> None:
        raise ValueError("no")

    job("work")(lambda service, payload, now: done.set())
    wake = threading.Event()
    runner = Scheduler(service, pool, wake)
    runner.start()
    assert begun.wait(60) and scanned.wait(60)
    add(store, kind="fails", due_at=clock.now())
    add(store, due_at=clock.now())
    wake.set()
    assert done.wait(60) and runner.is_alive
    runner.stop()
    assert not runner.is_alive


HOUR = 3600


def test_a_clock_set_back_and_forward_runs_nothing_early_or_twice(
    store: Store, service: Service, pool: ThreadPoolExecutor
) -> None:
    """A job that is due in an hour, next to one that runs all the time."""
    done, begun, ended = SimpleQueue[int](), threading.Event(), threading.Event()
    job("work")(lambda service, payload, now: done.put(payload["n"]))

    @job("long")
    def _long(service: Service, payload: dict[str, Any], now: int) -> None:
        done.put(payload["n"])
        begun.set()
        assert ended.wait(30)

    wake = threading.Event()
    runner = Scheduler(service, pool, wake)
    runner.start()
    add(store, "long", clock.now(), n=1)
    wake.set()
    assert begun.wait(30)
    add(store, due_at=clock.now() + HOUR, n=2)
    assert done.get(timeout=30) == 1
    moved = 0
    try:
        for number, seconds in ((3, -2 * HOUR), (4, HOUR), (5, HOUR + 1800)):  # at most an hour ahead
            clock.forward(seconds)
            moved += seconds
            add(store, due_at=clock.now(), n=number)
            wake.set()
            assert done.get(timeout=30) == number
        assert done.empty()
        clock.forward(HOUR)
        moved += HOUR
        wake.set()
        assert done.get(timeout=30) == 2
    finally:
        clock.forward(-moved)
        ended.set()
        runner.stop()
    assert done.empty() and jobs(store) == 0


@pytest.mark.parametrize(
    ("kind", "other", "at_once"), [("slow", "quick", 2), ("quick", "slow", 3)], ids=["slow jobs", "quick jobs"]
)
def test_jobs_that_wait_for_long_leave_room_for_others(
    store: Store, service: Service, kind: str, other: str, at_once: int
) -> None:
    begun, done, ended = SimpleQueue[int](), threading.Event(), threading.Event()

    def wait(service: Service, payload: dict[str, Any], now: int) -> None:
        begun.put(payload["n"])
        assert ended.wait(30)

    for name in (kind, other):
        body = wait if name == kind else lambda service, payload, now: done.set()
        job(name)(body)
    for number in range(10):
        add(store, kind, is_slow=kind == "slow", n=number)
    with ThreadPoolExecutor(4) as four:
        wake = threading.Event()
        runner = Scheduler(service, four, wake, slots=4)
        runner.start()
        assert sorted(begun.get(timeout=30) for _ in range(at_once)) == list(range(at_once))
        add(store, other, NOW + 1, is_slow=other == "slow")  # queued after all of them
        wake.set()
        assert done.wait(30) and begun.empty()
        ended.set()
        assert sorted(begun.get(timeout=30) for _ in range(10 - at_once)) == list(range(at_once, 10))
        runner.stop()
    assert jobs(store) == 0


def test_waking_it_scans_again(service: Service, pool: ThreadPoolExecutor) -> None:
    scans = threading.Semaphore(0)
    periodic("counts")(lambda service, now: scans.release())
    wake = threading.Event()
    runner = Scheduler(service, pool, wake)
    runner.start()
    assert scans.acquire(timeout=60)
    wake.set()
    assert scans.acquire(timeout=60)
    runner.stop()


def test_a_scan_chooses_its_next_run(service: Service, pool: ThreadPoolExecutor) -> None:
    scans = threading.Semaphore(0)

    @periodic("soon")
    def _soon(service: Service, now: int) -> int:
        scans.release()
        return now + 1

    runner = Scheduler(service, pool)
    runner.start()
    assert scans.acquire(timeout=60) and scans.acquire(timeout=60)
    runner.stop()


def test_stopping_lets_running_jobs_finish_and_starts_no_more(
    store: Store, service: Service, pool: ThreadPoolExecutor
) -> None:
    running, may_end, order = threading.Event(), threading.Event(), []

    def work(service: Service, payload: dict[str, Any], now: int) -> None:
        running.set()
        may_end.wait(60)
        order.append("done")

    job("work")(work)
    add(store, due_at=0)
    runner = Scheduler(service, pool, slots=1)
    runner.start()
    assert running.wait(60)
    add(store, due_at=0)
    stopping = threading.Thread(target=runner.stop)
    stopping.start()
    may_end.set()
    stopping.join(60)
    order.append("stopped")
    assert order == ["done", "stopped"] and jobs(store) == 1


def test_stopping_does_not_wait_forever(store: Store, service: Service, pool: ThreadPoolExecutor) -> None:
    running, may_end = threading.Event(), threading.Event()

    def work(service: Service, payload: dict[str, Any], now: int) -> None:
        running.set()
        may_end.wait(60)

    job("work")(work)
    add(store, due_at=0)
    runner = Scheduler(service, pool, stop_seconds=0)
    runner.start()
    assert running.wait(60)
    runner.stop()
    assert jobs(store) == 1  # it stays claimed, and is run again when the claim has lapsed
    may_end.set()


def test_outcomes_of_the_newest_jobs_of_each_kind_are_stored(
    store: Store, service: Service, pool: ThreadPoolExecutor
) -> None:
    answers = iter([None, ValueError("no room")])

    @job("work")
    def work(service: Service, payload: dict[str, Any], now: int) -> None:
        if error := next(answers, None):
            raise error

    @job("often")
    def often(service: Service, payload: dict[str, Any], now: int) -> None:
        pass

    running = Scheduler(service, pool)
    for number in range(2):
        add(store, due_at=NOW + number)
        assert running.run_due(NOW + number + 90) == 1
    for _ in range(MAX_RUNS + 5):
        add(store, "often")
    assert running.run_due(NOW) == MAX_RUNS + 5
    found = [dict(zip(RUN.names, row, strict=True)) for row in store.read(lambda tx: tx.find(RUN))]
    assert sum(each["kind"] == "often" for each in found) == MAX_RUNS
    mine = [each for each in found if each["kind"] == "work"]
    assert [(each["due_at"], each["began_at"], each["error"]) for each in mine] == [
        (NOW, NOW + 90, ""),
        (NOW + 1, NOW + 91, "ValueError: no room"),
    ]


def test_a_disabled_scan_does_not_run(store: Store, service: Service, pool: ThreadPoolExecutor) -> None:
    ran: list[str] = []
    for name in ("one", "two"):
        periodic(name)(lambda service, now, name=name: ran.append(name))
    running = Scheduler(service, pool)
    store.write(lambda tx: tx.put(OFF, {"name": "one"}))
    running.run_due(NOW)
    store.write(lambda tx: tx.delete(OFF, name="one"))
    running.run_due(NOW + 1)
    assert ran == ["two", "one", "two"]
    assert {name: (each.at, each.error) for name, each in running.scanned.items()} == {
        "one": (NOW + 1, ""),
        "two": (NOW + 1, ""),
    }
