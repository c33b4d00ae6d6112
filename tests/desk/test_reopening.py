"""Tickets that are due: reopened, or purged."""

from dataclasses import replace

import pytest

from server import tickets
from server.fields import Timestamp
from server.record_types.record_type import Record
from server.records import records
from server.tickets import reopening
from tests.desk.conftest import NOW, Post

DAY = 86400


@pytest.mark.parametrize("status", [1, 2])
def test_a_ticket_opens_when_it_is_due(desk: Post, status: int) -> None:
    id = desk.ticket_id(status=status, reopen_at="tomorrow 8am")
    due = NOW - NOW % DAY + DAY + 8 * 3600
    desk.run_due(due - NOW - 1)
    assert desk.ticket(id)["status_id"] == status
    desk.run_due(1)
    found = desk.ticket(id)
    assert (found["status_id"], found["reopen_date"], found["last_opened_at"]) == (0, 0, due)
    assert found["updated"] == NOW
    assert desk.activity(id)[-1] == "ticket.status.open"


def test_tomorrow_is_in_the_workers_zone(desk: Post) -> None:
    desk.update("worker", desk.nora, timezone="America/New_York")
    id = desk.ticket_id(status="1", reopen_at="tomorrow 8am")
    assert desk.ticket(id)["reopen_date"] == NOW - NOW % DAY + DAY + 13 * 3600


def test_a_time_in_the_past_opens_at_the_next_scan(desk: Post) -> None:
    id = desk.ticket_id(status="1", reopen_at=str(NOW - 60))
    assert desk.ticket(id)["status_id"] == 1
    desk.run_due()
    assert desk.ticket(id)["status_id"] == 0


def test_deleted_and_open_tickets_are_left_alone(desk: Post) -> None:
    id = desk.ticket_id(status="3")
    desk.write(lambda writing: writing.set("ticket", id, {"reopen_date": NOW - 1}))
    desk.run_due()
    assert desk.ticket(id)["status_id"] == 3


def test_many_are_opened_in_one_run(desk: Post) -> None:
    group = desk.support
    desk.write(lambda writing: [
        writing.create("ticket", {"subject": "Boat", "group_id": group, "status_id": 1, "reopen_date": NOW})
        for _ in range(250)
    ])  # fmt: skip
    desk.run_due()
    assert {each["status_id"] for each in desk.all("ticket")} == {0}


def test_every_type_with_a_reopen_time_declares_it(desk: Post) -> None:
    told = {
        each.uri
        for each in desk.service.registry
        for name, field in each.fields.items()
        if isinstance(field, Timestamp) and name.startswith("reopen")
    }
    assert told == {each.uri for each in desk.service.registry if each.reopening is not None} == {"ticket", "task"}


def test_a_waiting_task_opens_when_it_is_due(desk: Post) -> None:
    waiting = desk.create("task", title="Paint", status="waiting", reopen=str(NOW + DAY), owner_id=str(desk.milo))
    closed = desk.create("task", title="Done", status="closed", reopen=str(NOW + DAY))
    desk.run_due(DAY - 1)
    assert _task(desk, waiting)["status_id"] == 2
    desk.run_due(1)
    found = _task(desk, waiting)
    assert (found["status_id"], found["reopen"], found["updated"]) == (0, 0, NOW + DAY)
    assert _task(desk, closed)["status_id"] == 1
    logged = [each for each in desk.all("activity_log", target_id=waiting) if each["target__context"].endswith("task")]
    assert [each["activity_point"] for each in logged] == ["task.created", "task.status.open"]
    told = desk.all("notification", activity_point="task.status.open")
    assert [each["worker_id"] for each in told] == [desk.milo]


def _task(desk: Post, id: int) -> Record:
    return desk.all("task", id=id)[0]


def test_a_task_opened_by_hand_is_not_opened_again(desk: Post) -> None:
    id = desk.create("task", title="Paint", status="waiting", reopen=str(NOW + DAY))
    desk.update("task", id, status="open")
    desk.update("task", id, status="waiting")
    desk.run_due(2 * DAY)
    assert _task(desk, id)["status_id"] == 2


def test_the_scan_returns_when_the_next_record_is_due(desk: Post) -> None:
    desk.create("task", title="Paint", status="waiting", reopen=str(NOW + 3 * DAY))
    desk.ticket_id(status="1", reopen_at=str(NOW + 2 * DAY))
    assert reopening.reopen_due(desk.service, NOW) == NOW + 2 * DAY
    assert reopening.reopen_due(desk.service, NOW + 2 * DAY) == NOW + 3 * DAY


def test_a_deleted_ticket_is_purged_with_its_dependent_records(desk: Post) -> None:
    file = desk.create("attachment", name="a.txt", content=b"text", uploader_id=desk.nora)
    id = desk.ticket_id(file_id=str(file), content="**x**", content_format="markdown")
    kept = desk.ticket_id(subject="Kept")
    desk.create("comment", comment="Note", target__context="svc.contexts.ticket", target_id=id)
    records.delete(desk.context(desk.nora), "ticket", id)
    desk.run_due(30 * DAY - 1)
    assert desk.ticket(id)["status_id"] == 3
    desk.run_due(1)
    assert [each["id"] for each in desk.all("ticket")] == [kept]
    assert [each["ticket_id"] for each in desk.all("message")] == [kept]
    assert desk.all("attachment") == [] and desk.all("comment") == [] and desk.requesters(id) == []


def test_a_merged_ticket_stays_so_that_its_mask_redirects(desk: Post) -> None:
    first, second = desk.ticket_id(), desk.ticket_id()
    tickets.merge(desk.context(desk.nora), [first, second])
    desk.run_due(31 * DAY)
    assert desk.ticket(second)["merged_into"] == first


def test_nothing_is_purged_when_the_setting_is_zero(desk: Post) -> None:
    desk.set(purge_deleted_days=0)
    id = desk.ticket_id(status="3")
    desk.run_due(3650 * DAY)
    assert desk.ticket(id)["status_id"] == 3


@pytest.mark.sqlite("plans of SQLite")
@pytest.mark.parametrize(
    ("function", "table", "index"),
    [
        ("_due_ids", "ticket", "ticket_by_status_id_reopen_date"),
        ("_next_date", "ticket", "ticket_by_status_id_reopen_date"),
        ("_due_ids", "task", "task_by_status_id_reopen"),
        ("_next_date", "task", "task_by_status_id_reopen"),
        ("_deleted_ids", "ticket", "ticket_by_status_id_deleted_at"),
        ("_due_ids", "draft", "draft_by_is_queued_queue_delivery_date"),
    ],
)
def test_due_records_are_found_by_an_index(desk: Post, function: str, table: str, index: str) -> None:
    desk.run_due()
    [sql] = [
        each.sql for each in desk.service.store.statements.all()
        if each.code.co_qualname.startswith(f"{function}.<locals>") and f'FROM "{table}"' in each.sql
    ]  # fmt: skip
    plan = desk.read(lambda tx: tx.connection.execute(f"EXPLAIN QUERY PLAN {sql}", [0] * sql.count("?")).fetchall())
    assert index in plan[0][3]


@pytest.mark.parametrize(
    ("uri", "fields", "is_woken"),
    [
        ("task", {"title": "Order gas", "status": "waiting", "reopen": "+2 seconds"}, True),
        ("task", {"title": "Order gas", "status": "waiting"}, False),
        ("ticket", {"subject": "Boat", "group_id": "1", "status": "waiting", "reopen_date": "+2 seconds"}, True),
        ("ticket", {"subject": "Boat", "group_id": "1"}, False),
    ],
)
def test_the_scheduler_is_woken_for_records_that_open_soon(
    desk: Post, uri: str, fields: dict[str, str], is_woken: bool
) -> None:
    woken: list[bool] = []
    desk.service = replace(desk.service, wake_scheduler=lambda: woken.append(True))
    records.create(desk.context(desk.nora), uri, fields)
    assert bool(woken) is is_woken
