"""Tickets whose time has come: opened again, or removed for good."""

import pytest

from server.desk import records, tickets
from tests.desk.conftest import NOW, Post

DAY = 86400


@pytest.mark.parametrize("status", [1, 2])
def test_a_ticket_opens_when_its_time_has_come(desk: Post, status: int) -> None:
    id = desk.ticket_id(status=status, reopen_at="tomorrow 8am")
    due = NOW - NOW % DAY + DAY + 8 * 3600
    desk.run_due(due - NOW - 1)
    assert desk.ticket(id)["status_id"] == status
    desk.run_due(1)
    found = desk.ticket(id)
    assert (found["status_id"], found["reopen_date"], found["last_opened_at"]) == (0, 0, due)
    assert found["updated"] == NOW
    assert desk.activity(id)[-1] == "ticket.status.open"


def test_tomorrow_is_that_of_the_worker(desk: Post) -> None:
    desk.update("worker", desk.nora, timezone="America/New_York")
    id = desk.ticket_id(status="1", reopen_at="tomorrow 8am")
    assert desk.ticket(id)["reopen_date"] == NOW - NOW % DAY + DAY + 13 * 3600


def test_a_time_that_has_passed_opens_at_the_next_scan(desk: Post) -> None:
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


def test_a_deleted_ticket_is_purged_with_all_that_hangs_on_it(desk: Post) -> None:
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


def test_a_merged_ticket_stays_so_that_its_mask_leads_on(desk: Post) -> None:
    first, second = desk.ticket_id(), desk.ticket_id()
    tickets.merge(desk.context(desk.nora), [first, second])
    desk.run_due(31 * DAY)
    assert desk.ticket(second)["merged_into"] == first


def test_nothing_is_purged_when_the_setting_is_zero(desk: Post) -> None:
    desk.set(purge_deleted_days=0)
    id = desk.ticket_id(status="3")
    desk.run_due(3650 * DAY)
    assert desk.ticket(id)["status_id"] == 3


@pytest.mark.parametrize(
    ("key", "index"),
    [
        ("tickets to reopen", "ticket_by_status_id_reopen_date"),
        ("tickets to purge", "ticket_by_status_id_deleted_at"),
        ("drafts due", "draft_by_is_queued_queue_delivery_date"),
    ],
)
def test_what_is_due_is_found_by_an_index(desk: Post, key: str, index: str) -> None:
    desk.run_due()
    sql = desk.service.store.statements.get((key,), lambda: None).sql
    plan = desk.read(lambda tx: tx.connection.execute(f"EXPLAIN QUERY PLAN {sql}", [0] * sql.count("?")).fetchall())
    assert index in plan[0][3]
