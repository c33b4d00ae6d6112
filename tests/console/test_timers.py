"""Timers created, changed and deleted in the console, as they are stored and when they are due."""

import re

import pytest

from server.record_types.shared.triggers import PREFIX
from tests.console.visitor import Visitor, place, text_of
from tests.service import Api

BASE, NEW = "/admin/jobs/timers", "/admin/jobs/timers/new"
AUTOMATION = "morning.report"


@pytest.fixture(scope="module")
def automation(nora: Api) -> str:
    nora.create(
        "automation", name=AUTOMATION, extension_id=f"{PREFIX}automation.timer", script="start:\n  return:\n    a: b\n"
    ).ok()
    return AUTOMATION


def timer(nora: Api, name: str) -> dict[str, str]:
    (found,) = nora.search("automation_timer", f'name:"{name}"').ok()["results"]
    return dict(found)


@pytest.mark.parametrize(
    ("form", "patterns", "told"),
    [
        ({"repeat": "hourly"}, "@hourly", "every hour"),
        ({"repeat": "daily", "time": "08:30"}, "30 8 * * *", "at 08:30"),
        ({"repeat": "weekdays", "time": "9:05"}, "5 9 * * mon-fri", "Mon to Fri"),
        ({"repeat": "weekly", "time": "23:59", "day": "sun"}, "59 23 * * sun", "23:59, Sun"),
        ({"repeat": "monthly", "time": "00:00"}, "0 0 1 * *", "on day 1 of the month"),
        ({"repeat": "own", "recurring_patterns": "0 6 * * 1\r\n0 18 * * 5"}, "0 6 * * 1\n0 18 * * 5", "Fri"),
    ],
)
def test_a_timer_that_repeats(
    form: dict[str, str], patterns: str, told: str, signed_in: Visitor, nora: Api, automation: str
) -> None:
    name = f"Again {patterns.splitlines()[0]}"
    sent = {"name": name, "automation": automation, "recurring_timezone": "Europe/Berlin"} | form
    assert place(signed_in.send(NEW, sent)) == BASE
    made = timer(nora, name)
    assert (made["is_recurring"], made["recurring_patterns"]) == (1, patterns)
    assert made["recurring_timezone"] == "Europe/Berlin" and made["next_run_at"] > 0
    assert told.lower() in text_of(signed_in.get(f"{BASE}?q=name:%22{name}%22").text).lower()


def test_a_timer_that_runs_once_is_changed_and_deleted(signed_in: Visitor, nora: Api, automation: str) -> None:
    sent = {"name": "Once", "automation": automation, "repeat": "once", "time": "2031-05-06 07:08"}
    assert place(signed_in.send(NEW, sent)) == BASE
    made = timer(nora, "Once")
    assert (made["is_recurring"], made["recurring_patterns"]) == (0, "")
    page = signed_in.get(f"{BASE}/{made['id']}").text
    assert "2031-05-06 07:08" in page and f"svc:automation:{automation}" in page
    path = f"{BASE}/{made['id']}"
    kata = f"automation/run:\r\n  uri: svc:automation:{automation}\r\n  inputs:\r\n    who: nora\r\n"
    changed = {"name": "Again", "repeat": "daily", "time": "10:00", "automations_kata": kata}
    assert place(signed_in.send(path, changed, page=path)) == BASE
    assert timer(nora, "Again")["recurring_patterns"] == "0 10 * * *"
    assert "who: nora" in signed_in.get(path).text
    assert place(signed_in.send(f"{path}/delete", {}, page=path)) == BASE
    assert signed_in.get(path).status_code == 404


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"automation": ""}, "Choose the one that runs"),
        ({"name": ""}, "Name must not be empty"),
        ({"repeat": "once", "time": ""}, "Enter when it runs, such as tomorrow"),
        ({"repeat": "once", "time": "someday"}, "someday"),
        ({"time": "25:00"}, "Enter a time of day"),
        ({"time": "tomorrow"}, "Enter a time of day"),
        ({"repeat": "own"}, "Enter when it runs, such as 0 8"),
        ({"repeat": "own", "recurring_patterns": "nonsense"}, "nonsense"),
        ({"repeat": "weekly", "day": "x"}, "Choose the day of the week"),
        ({"repeat": "sometimes"}, "Choose how often"),
        ({"recurring_timezone": "Mars/Base"}, "Mars/Base"),
    ],
)
def test_invalid_timers_are_reported_at_their_field(
    form: dict[str, str], told: str, signed_in: Visitor, automation: str
) -> None:
    sent = {"name": "Wrong", "automation": automation, "repeat": "daily", "time": "08:00"} | form
    response = signed_in.send(NEW, sent)
    assert response.status_code == 422 and told in text_of(response.text), text_of(response.text)[:600]
    assert re.search(r'aria-invalid="true"', response.text)
