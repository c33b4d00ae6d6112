"""Reminders: their owners, and that each notifies once when it is due."""

from typing import Any

import pytest

from server.errors import Forbidden, Invalid, Required
from server.people.due_reminders import remind_due
from tests.records.desk import NOW, Desk

LATER = NOW + 3600


@pytest.fixture
def granted(desk: Desk, ids: dict[str, int]) -> dict[str, int]:
    """Grants everyone every privilege."""
    desk.create("role", name="All", privs_mode="all", member_query_worker="isDisabled:no")
    return ids


def reminder(desk: Desk, worker: int, **fields: Any) -> int:
    values = {"name": "Oil the pump", "remind_at": LATER, "worker_id": worker}
    return int(desk.create("reminder", **values | fields)["id"])


def messages(desk: Desk, worker: int) -> list[str]:
    """Returns the messages of the worker's notifications."""
    return [desk.record("notification", id)["message"] for id in desk.found("notification", f"worker.id:{worker}")]


def test_a_due_reminder_notifies_and_is_closed(desk, ids):
    id = reminder(desk, ids["milo"])
    assert remind_due(desk.service, LATER - 1) == LATER
    assert messages(desk, ids["milo"]) == []
    assert remind_due(desk.service, LATER) is None
    assert messages(desk, ids["milo"]) == ["Oil the pump"]
    shown = desk.record("reminder", id)
    assert (shown["is_closed"], shown["updated_at"]) == (1, LATER)
    (notification,) = desk.found("notification", "")
    row = desk.record("notification", notification)
    assert (row["target__context"], row["target_id"], row["is_read"]) == ("svc.contexts.reminder", id, 0)
    assert row["url"] == f"https://desk.example/records/reminder/{id}"


def test_it_notifies_once_even_long_after_its_time(desk, ids):
    reminder(desk, ids["milo"])
    for now in (LATER + 9 * 86400, LATER + 9 * 86400, LATER + 10 * 86400):
        remind_due(desk.service, now)
    assert messages(desk, ids["milo"]) == ["Oil the pump"]


def test_closed_or_deleted_ones_do_not_notify_and_reopened_ones_notify_again(desk, ids):
    closed = reminder(desk, ids["milo"], is_closed=1)
    desk.delete("reminder", reminder(desk, ids["milo"]))
    assert remind_due(desk.service, LATER) is None
    assert messages(desk, ids["milo"]) == []
    desk.update("reminder", closed, is_closed=0, remind_at=LATER + 60)
    assert remind_due(desk.service, LATER) == LATER + 60
    remind_due(desk.service, LATER + 60)
    assert messages(desk, ids["milo"]) == ["Oil the pump"]


def test_one_scan_handles_more_than_one_batch(desk, ids):
    for place in range(105):
        desk.own("reminder", name=f"Nr {place}", remind_at=NOW, worker_id=ids["milo"])
    assert remind_due(desk.service, NOW) is None
    assert sorted(messages(desk, ids["milo"])) == sorted(f"Nr {place}" for place in range(105))


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"remind_at": "0"}, "remind_at"),
        ({"remind_at": ""}, "remind_at"),
        ({"remind_at": "blurb"}, "remind_at"),
        ({"name": ""}, "name"),
        ({"name": "x" * 256}, "name"),
        ({"worker_id": 0}, "worker_id"),
        ({"worker_id": 999}, "worker_id"),
        ({"is_closed": "perhaps"}, "is_closed"),
    ],
)
def test_invalid_values_are_refused_by_name(desk, ids, fields, field):
    with pytest.raises(Invalid, match=field):
        reminder(desk, ids["milo"], **fields)


def test_a_date_in_words_is_accepted_and_a_date_is_required(desk, ids):
    assert desk.row("reminder", reminder(desk, ids["milo"], remind_at="+2 hours"))["remind_at"] == NOW + 7200
    with pytest.raises(Required, match="remind_at"):
        desk.create("reminder", name="Oil", worker_id=ids["milo"])


def test_workers_remind_themselves_and_administrators_anyone(desk, granted):
    milo, olga, nora = granted["milo"], granted["olga"], granted["nora"]
    own = reminder(desk, milo, by=milo)
    with pytest.raises(Forbidden):
        reminder(desk, olga, by=milo)
    with pytest.raises(Forbidden):
        desk.update("reminder", own, by=milo, worker_id=olga)
    with pytest.raises(Forbidden):
        desk.update("reminder", own, by=olga, name="Mine")
    with pytest.raises(Forbidden):
        desk.delete("reminder", own, by=olga)
    desk.update("reminder", own, by=nora, worker_id=olga)
    assert desk.record("reminder", own, by=milo)["worker_id"] == olga
    desk.delete("reminder", own, by=olga)


def test_reminders_are_deleted_with_their_worker(desk, ids):
    own, other = reminder(desk, ids["milo"]), reminder(desk, ids["olga"])
    desk.delete("worker", ids["milo"])
    assert desk.found("reminder", "") == [other] and own != other


def test_one_about_a_ticket_links_to_it(desk, ids):
    group = desk.own("group", name="Support")
    ticket = desk.create("ticket", subject="Pump", group_id=group["id"] if isinstance(group, dict) else group)["id"]
    reminder(desk, ids["milo"], links=[f"ticket:{ticket}", f"worker:{ids['olga']}"])
    remind_due(desk.service, LATER)
    (notification,) = desk.found("notification", f"worker.id:{ids['milo']}")
    row = desk.record("notification", notification)
    assert (row["target__context"], row["target_id"]) == ("svc.contexts.ticket", ticket)
    assert row["message"] == "Oil the pump" and row["url"].endswith(f"/records/ticket/{ticket}")
