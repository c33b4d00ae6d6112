"""Timers: the times that match a pattern, and the single run at each time."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from server.automation import recurrence, timers
from server.automation.continuations import CONTINUATION
from server.errors import HelpdeskError
from server.jobs.job_queue import JOB
from server.jobs.scheduler import Scheduler
from tests.records.desk import NOW, Desk

MAY_ALL = "commands:\n  all:\n    allow@bool: yes"
INPUTS = "inputs:\n  text/level:\n"
TELL = f"{INPUTS}start:\n  log: ran {{{{timer_name}}}} {{{{inputs.level}}}}\n"


@pytest.mark.parametrize(("pattern", "after", "zone", "expected"), [
    ("*/15 * * * *", "2024-01-01T00:00", "UTC", "2024-01-01T00:15"),
    ("0 9 * * mon-fri", "2024-01-05T09:00", "UTC", "2024-01-08T09:00"),
    ("0 0 29 2 *", "2024-02-29T00:00", "UTC", "2028-02-29T00:00"),
    ("0 0 29 2 *", "2097-01-01T00:00", "UTC", "2104-02-29T00:00"),
    ("0 0 l * *", "2024-02-01T00:00", "UTC", "2024-02-29T00:00"),
    ("0 0 lw * *", "2024-06-01T00:00", "UTC", "2024-06-28T00:00"),
    ("0 0 15w * *", "2024-06-01T00:00", "UTC", "2024-06-14T00:00"),
    ("0 0 1w * *", "2024-06-01T00:00", "UTC", "2024-06-03T00:00"),
    ("0 0 31w * *", "2024-03-01T00:00", "UTC", "2024-03-29T00:00"),
    ("0 0 * * 5#2", "2024-01-01T00:00", "UTC", "2024-01-12T00:00"),
    ("0 0 * * fril", "2024-01-01T00:00", "UTC", "2024-01-26T00:00"),
    ("0 0 * * 7", "2024-01-01T00:00", "UTC", "2024-01-07T00:00"),
    ("0 0 * * 0", "2024-01-01T00:00", "UTC", "2024-01-07T00:00"),
    ("0 0 13 * fri", "2024-01-01T00:00", "UTC", "2024-01-05T00:00"),  # either day, as in cron
    ("0 0 13 * fri", "2024-01-12T00:00", "UTC", "2024-01-13T00:00"),
    ("0 9 1 * mon", "2024-01-29T09:00", "UTC", "2024-02-01T09:00"),
    ("0 9 1 2 mon", "2024-01-29T09:00", "UTC", "2024-02-01T09:00"),
    ("0 9 */2 * mon", "2024-01-02T09:00", "UTC", "2024-01-15T09:00"),  # with a * both days
    ("0 9 15 * *", "2024-01-01T00:00", "UTC", "2024-01-15T09:00"),
    ("0 0 31 2 mon", "2024-01-01T00:00", "UTC", "2024-02-05T00:00"),
    ("5/20 * * * *", "2024-01-01T00:30", "UTC", "2024-01-01T00:45"),
    ("@weekly\n# early\n0 5 * * *", "2024-01-01T06:00", "UTC", "2024-01-02T05:00"),
    ("@HOURLY", "2024-01-01T06:00", "UTC", "2024-01-01T07:00"),
    ("@yearly", "2024-01-01T00:00", "UTC", "2025-01-01T00:00"),
    ("0 8 * * *", "2024-07-01T07:00", "America/New_York", "2024-07-01T08:00"),
    ("30 2 * * *", "2024-03-30T12:00", "Europe/Berlin", "2024-03-31T03:30"),
    ("30 2 * * *", "2024-10-26T12:00", "Europe/Berlin", "2024-10-27T02:30"),
    ("0 0 31 2 *", "2024-01-01T00:00", "UTC", None),
    ("# nothing", "2024-01-01T00:00", "UTC", None),
    ("", "2024-01-01T00:00", "UTC", None),
])  # fmt: skip
def test_the_next_time_of_a_pattern(pattern: str, after: str, zone: str, expected: str | None) -> None:
    tz = ZoneInfo(zone)
    found = recurrence.next_time(pattern, int(datetime.fromisoformat(after).replace(tzinfo=tz).timestamp()), tz)
    assert (datetime.fromtimestamp(found, tz).isoformat()[:16] if found else None) == expected


def test_an_ambiguous_hour_matches_twice_for_hourly_patterns() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    at = int(datetime(2024, 10, 27, 1, 30, tzinfo=berlin).timestamp())
    seen = []
    for _ in range(4):
        at = recurrence.next_time("0 * * * *", at, berlin)
        seen.append(datetime.fromtimestamp(at, berlin).hour)
    assert seen == [2, 2, 3, 4]


@pytest.fixture
def desk(tmp_path: Path) -> Any:
    opened = Desk(tmp_path)
    opened.create("automation", name="t.tell", extension_id=timers.TRIGGER, script=TELL, policy_kata=MAY_ALL)
    yield opened
    opened.close()


def timer(desk: Desk, script: str = "", **fields: Any) -> int:
    name = "t.tell"
    if script:
        name = "t.own"
        values = {"name": name, "extension_id": timers.TRIGGER, "script": INPUTS + script, "policy_kata": MAY_ALL}
        desk.create("automation", **values)
    binding = f"automation/a:\n  uri: {name}\n  inputs:\n    level: 7"
    if name == "t.tell":
        binding = f"automation/off:\n  uri: t.tell\n  disabled@bool: yes\n{binding}"
    fields = {"name": "T", "automations_kata": binding, "next_run_at": NOW} | fields
    return int(desk.create("automation_timer", **fields)["id"])


def run_due(desk: Desk, now: int) -> None:
    with ThreadPoolExecutor(1) as pool:
        Scheduler(desk.service, pool).run_due(now)


def logged(desk: Desk) -> list[str]:
    table = desk.registry.type("automation_log")
    return [table.record(row)["message"] for row in desk.read(lambda tx: tx.find(table.table))]


def test_a_timer_runs_once_at_its_time_and_is_done(desk: Desk) -> None:
    id = timer(desk)
    run_due(desk, NOW - 1)
    assert logged(desk) == []
    for now in (NOW, NOW + 1, NOW + 1000):
        run_due(desk, now)
    found = desk.row("automation_timer", id)
    assert logged(desk) == ["ran T 7"]
    assert (found["last_ran_at"], found["next_run_at"], found["is_disabled"]) == (NOW, 0, 1)


def test_a_timer_with_patterns_repeats_and_missed_times_count_as_one(desk: Desk) -> None:
    id = timer(desk, is_recurring=1, recurring_patterns="@hourly", recurring_timezone="UTC")
    day_later = NOW - NOW % 3600 + 86400 + 60
    run_due(desk, NOW)
    run_due(desk, day_later)
    run_due(desk, day_later + 10)
    assert logged(desk) == ["ran T 7"] * 2
    assert desk.row("automation_timer", id)["next_run_at"] == day_later - 60 + 3600


@pytest.mark.parametrize(("fields", "expected"), [
    ({"is_recurring": 1, "recurring_patterns": "@daily"}, NOW - NOW % 86400 + 86400),
    ({"is_recurring": 1, "recurring_patterns": "@daily", "next_run_at": NOW + 5}, NOW + 5),
    ({"is_recurring": 0, "recurring_patterns": "@daily"}, 0),
])  # fmt: skip
def test_the_first_time_follows_from_the_patterns(desk: Desk, fields: dict[str, Any], expected: int) -> None:
    made = desk.create("automation_timer", name="P", recurring_timezone="UTC", **fields)
    assert made["next_run_at"] == expected


@pytest.mark.parametrize("fields", [{"is_disabled": 1}, {"next_run_at": 0}, {"automations_kata": "# none"}])
def test_timers_that_run_nothing(desk: Desk, fields: dict[str, Any]) -> None:
    timer(desk, **fields)
    run_due(desk, NOW + 5)
    assert logged(desk) == []


def test_an_await_resumes_at_its_time_with_all_its_values(desk: Desk) -> None:
    script = (
        "start:\n  set:\n    kept: seen\n  log: first {{inputs.level}}\n  await:\n    until: 2 hours\n"
        "  log/then: then {{kept}} {{timer_name}}\n"
    )
    id = timer(desk, script)
    run_due(desk, NOW)
    assert logged(desk) == ["first 7"]
    due = desk.row("automation_timer", id)["next_run_at"]
    assert due == NOW + 7200 and len(desk.read(lambda tx: tx.find(CONTINUATION))) == 1
    run_due(desk, due - 1)
    assert logged(desk) == ["first 7"]
    run_due(desk, due)
    assert logged(desk) == ["first 7", "then seen T"]
    assert desk.row("automation_timer", id)["is_disabled"] == 1 and not desk.read(lambda tx: tx.find(CONTINUATION))


def test_an_await_without_a_time_resumes_at_the_next_scan(desk: Desk) -> None:
    timer(desk, "start:\n  await:\n    a: 1\n  log: on\n")
    run_due(desk, NOW)
    assert logged(desk) == []
    run_due(desk, NOW + 1)
    assert logged(desk) == ["on"]


def test_a_timer_may_delete_itself(desk: Desk) -> None:
    timer(desk, "start:\n  return:\n    delete@bool: yes\n", is_recurring=1, recurring_patterns="@hourly")
    run_due(desk, NOW)
    assert desk.found("automation_timer", "") == []


@pytest.mark.parametrize("script", ["start:\n  error: broken", "start:\n  await:\n    until: never ever\n  error: x"])
def test_a_failing_timer_repeats(desk: Desk, script: str) -> None:
    id = timer(desk, script, is_recurring=1, recurring_patterns="@hourly")
    run_due(desk, NOW)
    run_due(desk, NOW + 1)
    assert logged(desk)
    assert desk.row("automation_timer", id)["next_run_at"] == NOW - NOW % 3600 + 3600


def test_an_interrupted_run_is_not_started_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    id = timer(desk, is_recurring=1, recurring_patterns="@hourly")

    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(timers, "run_counted", killed)
    with pytest.raises(KeyboardInterrupt):
        run_due(desk, NOW)
    monkeypatch.undo()
    free = {"claimed_by": "", "claimed_until": 0}
    desk.store.write(lambda tx: [tx.update(JOB, row[0], free) for row in tx.find(JOB)])
    run_due(desk, NOW + 60)
    (message,) = logged(desk)
    assert "cut short" in message and desk.row("automation_timer", id)["next_run_at"] == NOW - NOW % 3600 + 3600


def test_a_finished_job_is_not_run_again(desk: Desk) -> None:
    id = timer(desk)
    run_due(desk, NOW)
    timers.run_timer(desk.service, {"timer_id": id, "at": NOW}, NOW + 1)
    assert logged(desk) == ["ran T 7"]


def test_a_time_set_in_the_meantime_stays(desk: Desk) -> None:
    script = (
        "start:\n  record.update:\n    output: changed\n    inputs:\n      record_type: automation_timer\n"
        f"      record_id@key: timer_id\n      fields:\n        next_run_at@int: {NOW + 500}\n"
    )
    id = timer(desk, script)
    run_due(desk, NOW)
    found = desk.row("automation_timer", id)
    assert (found["next_run_at"], found["is_disabled"], logged(desk)) == (NOW + 500, 0, [])


def test_setting_the_same_time_again_causes_another_run(desk: Desk) -> None:
    id = timer(desk)
    run_due(desk, NOW)
    desk.update("automation_timer", id, next_run_at=NOW, is_disabled=0)
    run_due(desk, NOW + 5)
    assert logged(desk) == ["ran T 7"] * 2 and desk.row("automation_timer", id)["is_disabled"] == 1


def test_a_waiting_run_resumes_after_weeks_without_the_service(desk: Desk) -> None:
    timer(desk, "start:\n  await:\n    until: 1 hour\n  log: went on\n")
    run_due(desk, NOW)
    run_due(desk, NOW + 30 * 86400)
    assert logged(desk) == ["went on"] and not desk.read(lambda tx: tx.find(CONTINUATION))


def test_state_of_a_deleted_timer_is_eventually_removed(desk: Desk) -> None:
    id = timer(desk, "start:\n  await:\n    until: 1 hour\n")
    run_due(desk, NOW)
    desk.delete("automation_timer", id)
    run_due(desk, NOW + 3601)
    assert len(desk.read(lambda tx: tx.find(CONTINUATION))) == 1
    run_due(desk, NOW + 8 * 86400)
    assert not desk.read(lambda tx: tx.find(CONTINUATION))


def test_a_waiting_run_of_a_deleted_automation_is_reported(desk: Desk) -> None:
    id = timer(desk, "start:\n  await:\n    until: 1 hour\n  log: went on\n")
    run_due(desk, NOW)
    desk.delete("automation", desk.found("automation", "name:t.own")[0])
    run_due(desk, NOW + 3600)
    assert "'t.own', whose run was to be resumed, no longer exists" in logged(desk)[0]
    assert desk.row("automation_timer", id)["is_disabled"] == 1 and not desk.read(lambda tx: tx.find(CONTINUATION))


@pytest.mark.parametrize(("binding", "line"), [("automation/a:\n  uri", "line 2"), ("automation/a: x", "line 1")])
def test_a_broken_binding_is_refused(desk: Desk, binding: str, line: str) -> None:
    with pytest.raises(HelpdeskError, match=line):
        desk.create("automation_timer", name="B", automations_kata=binding)


def test_waiting_state_is_plain_data(desk: Desk) -> None:
    timer(desk, "start:\n  repeat:\n    each@csv: a, b\n    as: letter\n    do:\n      await:\n        until: 1 hour\n")
    run_due(desk, NOW)
    (row,) = desk.read(lambda tx: tx.find(CONTINUATION))
    state = json.loads(row[CONTINUATION.position["state_data"]])
    assert state["letter"] == "a" and len(row[CONTINUATION.position["token"]]) == 64
