"""A temporarily wrong clock: nothing is deleted because of it, and nothing waits for it once it is right again."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from server.automation import timers
from server.jobs import clock_watch, scheduler
from server.jobs.clock_watch import HOLD_SECONDS, JUMP_SECONDS, SEEN_EVERY_SECONDS, ClockWatch
from server.jobs.job_queue import JOB, MAX_RETRY_SECONDS, JobQueue
from server.jobs.scheduler import Scheduler
from server.upkeep import backups, checkup
from tests.desk.conftest import NOW, Post

DAY = 86400
ASSERTED = (timers.find_due,)  # importing the module registers it


@dataclass
class Times:
    """Both clocks of a machine: `passes` moves both, `is_set` only the time of day."""

    now: int = NOW
    steady: float = 1000.0

    def passes(self, seconds: int) -> int:
        self.now += seconds
        self.steady += seconds
        return self.now

    def is_set(self, by: int) -> int:
        self.now += by
        return self.now


class Running:
    """The scheduler of a service, one round at a time."""

    def __init__(self, desk: Post, times: Times, pool: ThreadPoolExecutor) -> None:
        self.desk, self.times = desk, times
        self.scheduler = Scheduler(desk.service, pool)
        self.scheduler.clock = ClockWatch(desk.service, lambda: times.steady)
        clock_watch.WATCH.set(desk.service.store, self.scheduler.clock)

    @property
    def watch(self) -> ClockWatch:
        return self.scheduler.clock

    def round(self) -> None:
        self.watch.look(self.times.now)
        self.scheduler.run_due(self.times.now)

    def again(self) -> "Running":
        """Returns the service after a restart."""
        return Running(self.desk, self.times, self.scheduler._pool)  # type: ignore[arg-type]


@pytest.fixture
def times() -> Times:
    return Times()


@pytest.fixture
def running(desk: Post, times: Times) -> Running:
    made = Running(desk, times, desk.pool)
    made.round()
    return made


def deleted(desk: Post, times: Times) -> int:
    id = desk.ticket_id(status="3")
    desk.write(lambda writing: writing.set("ticket", id, {"deleted_at": times.now}))
    return id


@pytest.mark.parametrize("days", [40, -40])
def test_nothing_is_purged_in_the_hour_after_a_jump(desk: Post, running: Running, times: Times, days: int) -> None:
    times.passes(60)
    id = deleted(desk, times)
    times.is_set(days * DAY)
    desk.write(lambda writing: writing.set("ticket", id, {"deleted_at": times.now - 40 * DAY}))
    running.round()
    assert desk.ticket(id)["status_id"] == 3
    times.passes(HOLD_SECONDS - 1)
    running.round()
    assert desk.ticket(id)["status_id"] == 3


def test_old_records_are_purged_once_the_hour_is_over(desk: Post, running: Running, times: Times) -> None:
    id = deleted(desk, times)
    times.is_set(40 * DAY)
    running.round()
    times.passes(HOLD_SECONDS)
    running.round()
    assert desk.all("ticket", id=id) == []


def test_a_restart_does_not_end_the_hour(desk: Post, running: Running, times: Times) -> None:
    id = deleted(desk, times)
    times.is_set(40 * DAY)
    running.round()
    times.passes(600)
    running.round()
    after = running.again()
    after.round()
    assert after.watch.holds and after.watch.jump is not None and after.watch.jump.by == 40 * DAY
    assert desk.ticket(id)["status_id"] == 3
    times.passes(HOLD_SECONDS - 600)
    after.round()
    assert not after.watch.holds and desk.all("ticket", id=id) == []


def test_a_jump_during_a_restart_is_detected(desk: Post, running: Running, times: Times) -> None:
    id = deleted(desk, times)
    times.is_set(40 * DAY)
    ahead = running.again()
    ahead.round()
    assert ahead.watch.holds and ahead.watch.jump is None  # the machine may have been off for that time
    times.is_set(-40 * DAY)
    back = ahead.again()
    back.round()
    assert back.watch.holds and back.watch.jump is not None and back.watch.jump.by <= -39 * DAY
    assert desk.ticket(id)["status_id"] == 3


@pytest.mark.parametrize("by", [JUMP_SECONDS, -JUMP_SECONDS, 5])
def test_a_small_correction_holds_nothing(running: Running, times: Times, by: int) -> None:
    times.passes(60)
    times.is_set(by)
    running.round()
    assert not running.watch.holds and clock_watch.last_jump(running.desk.service) is None


def test_the_time_is_rarely_stored(desk: Post, running: Running, times: Times) -> None:
    def written() -> Any:
        return desk.read(clock_watch._stored_state)["seen_at"]

    first = written()
    times.passes(SEEN_EVERY_SECONDS - 1)
    running.watch.look(times.now)
    assert written() == first
    times.passes(1)
    running.watch.look(times.now)
    assert written() == times.now


def test_a_jump_is_reported(desk: Post, running: Running, times: Times, monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[str] = []
    told = SimpleNamespace(warning=lambda event, **values: logged.append(f"{event} {values['by_seconds']}"))
    monkeypatch.setattr(clock_watch, "LOG", told)
    times.is_set(3 * DAY)
    running.round()
    [found] = checkup.of_clock(desk.service, times.now)
    assert "was set ahead by 259,200 seconds" in found.found and "nothing old is deleted for an hour" in found.advice
    assert (found.state, "259,200 seconds" in found.found) == ("warning", True)
    clock_watch.WATCH.clear(desk.service.store)  # a command sees this state
    assert clock_watch.last_jump(desk.service) is not None
    assert logged == [f"clock.jumped {3 * DAY}"]


@pytest.mark.sqlite("the file of the database")
def test_backups_stay_while_the_clock_is_doubtful(desk: Post, running: Running, times: Times, tmp_path: Path) -> None:
    desk.set(
        backup_folder=str(tmp_path), backup_keep_last=1, backup_keep_days=0, backup_keep_weeks=0, backup_keep_months=0
    )
    for _ in range(2):
        backups.make(desk.service, times.passes(1000))
    assert len(list(tmp_path.glob("helpdesk-*.db"))) == 1
    times.is_set(-40 * DAY)
    running.watch.look(times.now)
    backups.make(desk.service, times.now)
    assert len(list(tmp_path.glob("helpdesk-*.db"))) == 2


# -- postponed work ----------------------------------------------------------------------------------------------------


def timer(desk: Post, times: Times, **values: Any) -> int:
    known = {"name": "Minutes", "is_recurring": 1, "recurring_patterns": "* * * * *", "recurring_timezone": "UTC"}
    return desk.create("automation_timer", **{**known, "next_run_at": times.now, **values})


def following(desk: Post, id: int) -> int:
    return int(desk.one("automation_timer", id=id)["next_run_at"])


@pytest.mark.parametrize("restarts", [False, True])
def test_a_timer_runs_again_at_its_own_interval(desk: Post, running: Running, times: Times, restarts: bool) -> None:
    id = timer(desk, times)
    times.is_set(5 * DAY)
    running.round()
    assert following(desk, id) > NOW + 4 * DAY
    times.is_set(-5 * DAY)
    after = running.again() if restarts else running
    after.round()
    assert times.now < following(desk, id) <= times.now + 60
    times.passes(60)
    after.round()
    assert following(desk, id) > times.now and desk.one("automation_timer", id=id)["last_ran_at"] == times.now


def test_a_chosen_time_stays(desk: Post, running: Running, times: Times) -> None:
    chosen = NOW + 20 * DAY
    id = timer(desk, times, next_run_at=chosen)
    times.is_set(5 * DAY)
    running.round()
    times.is_set(-5 * DAY)
    running.round()
    assert following(desk, id) == chosen


def test_a_waiting_run_resumes_after_its_original_delay(desk: Post, running: Running, times: Times) -> None:
    ahead = times.now + 5 * DAY
    id = timer(desk, times, last_ran_at=ahead, next_run_at=ahead + 300, continuation_id=7)
    times.is_set(5 * DAY)
    running.watch.look(times.now)
    times.is_set(-5 * DAY)
    running.watch.look(times.now)
    assert following(desk, id) == times.now + 300


def failing(desk: Post, at: int, fails: int) -> int:
    values = {"type": "mail.transactional", "to": "a@b.example", "is_queued": 1, "queue_fails": fails}
    return desk.create("draft", name="Mail", queue_delivery_date=at, worker_id=desk.nora, **values)


def test_failed_mail_is_tried_again_and_scheduled_mail_waits(desk: Post, running: Running, times: Times) -> None:
    put_off, later = failing(desk, times.now + 5 * DAY, 1), failing(desk, times.now + 5 * DAY, 0)
    soon = failing(desk, times.now + 60, 1)
    times.is_set(5 * DAY - 100)
    running.watch.look(times.now)
    times.is_set(100 - 5 * DAY)
    running.watch.look(times.now)
    dates = {each["id"]: each["queue_delivery_date"] for each in desk.all("draft")}
    assert dates == {put_off: times.now, later: times.now + 5 * DAY, soon: times.now + 60}


def test_a_failed_job_is_tried_again(desk: Post, running: Running, times: Times) -> None:
    def add(at: int, attempts: int) -> int:
        def write(writing: Any) -> int:
            id = JobQueue.add(writing.tx, "nothing", at, {})
            writing.tx.update(JOB, id, {"attempts": attempts})
            return id

        return int(desk.write(write))

    put_off, planned = add(times.now + 5 * DAY, 2), add(times.now + 5 * DAY, 0)
    usual = add(times.now + MAX_RETRY_SECONDS, 3)
    times.is_set(DAY)
    running.watch.look(times.now)
    times.is_set(-DAY)
    running.watch.look(times.now)
    due = {row[0]: row[JOB.position["due_at"]] for row in desk.read(lambda tx: tx.find(JOB, kind="nothing"))}
    assert due == {put_off: times.now, planned: times.now + 5 * DAY, usual: times.now + MAX_RETRY_SECONDS}


def test_every_scan_that_removes_is_known_to_wait(desk: Post) -> None:
    """Scans that are not listed here remove nothing because of its age."""
    import server.app  # registers all scans

    assert server.app
    kept = {
        "assistant calls", "automation timers", "backups", "client secrets that expire", "drafts that are due",
        "gauges", "hourly counts",
        "listener for mail that failed", "mail servers to look at", "mailboxes to look at",
        "names of deleted statuses", "notes", "records due to open", "reminders due", "report emails", "rules",
        "service targets", "spam lessons", "tickets to assign", "times of older replies", "values of last runs",
        "visits of the help center",
        "what hung on deleted records", "words of older records",
    }  # fmt: skip
    assert set(scheduler.scans()) - scheduler._deleting - kept == set()
    assert not scheduler._deleting & kept
