"""`changed_at` of a ticket: each write updates it, and programs can find everything that changed since a time."""

from collections.abc import Callable

import pytest

from server.store.transaction import Transaction
from tests.api.minimal import made
from tests.records.desk import NOW, Desk
from tests.service import Api


@pytest.fixture
def desk(desk: Desk) -> Desk:
    return desk


@pytest.fixture
def ticket(desk: Desk) -> int:
    """A ticket that was last written a day ago."""
    group = desk.own("group", name="Changed", is_default=1)
    id = desk.own("ticket", subject="Pump", group_id=group)
    table = desk.registry.type("ticket").table
    desk.store.write(lambda tx: tx.update(table, id, {"changed_at": NOW - 86_400, "updated": NOW - 86_400}))
    return id


def comment(desk: Desk, ticket: int) -> int:
    return int(desk.create("comment", comment="x", target__context="ticket", target_id=ticket)["id"])


def link(desk: Desk, ticket: int) -> None:
    task = desk.create("task", title="x")["id"]
    desk.update("ticket", ticket, links=[f"task:{task}"])


def custom(desk: Desk, ticket: int) -> None:
    field = desk.create("custom_field", context="ticket", name="Order", type="S", uri="order_of_change")["id"]
    desk.update("ticket", ticket, **{f"custom_{field}": "A-17"})


def edited(desk: Desk, ticket: int) -> None:
    id = comment(desk, ticket)
    age(desk, ticket)
    desk.update("comment", id, comment="y")


def uncommented(desk: Desk, ticket: int) -> None:
    id = comment(desk, ticket)
    age(desk, ticket)
    desk.delete("comment", id)


def age(desk: Desk, ticket: int) -> None:
    def write(tx: Transaction) -> None:
        tx.update(desk.registry.type("ticket").table, ticket, {"changed_at": NOW - 86_400})

    desk.store.write(write)


WRITES: dict[str, Callable[[Desk, int], object]] = {
    "status": lambda desk, id: desk.update("ticket", id, status="waiting"),
    "importance": lambda desk, id: desk.update("ticket", id, importance=90),
    "requester": lambda desk, id: desk.update("ticket", id, participants="ann@changed.example"),
    "comment": comment,
    "comment edited": edited,
    "comment deleted": uncommented,
    "link": link,
    "custom field": custom,
    "deletion": lambda desk, id: desk.delete("ticket", id),
}


@pytest.mark.parametrize("name", WRITES)
def test_each_write_updates_it_and_the_last_activity_stays(desk: Desk, ticket: int, name: str) -> None:
    WRITES[name](desk, ticket)
    shown = desk.record("ticket", ticket)
    assert shown["changed_at"] == NOW and shown["updated"] == NOW - 86_400


def test_reading_does_not_update_it(desk: Desk, ticket: int) -> None:
    desk.record("ticket", ticket, expand="comments,custom_")
    assert desk.record("ticket", ticket)["changed_at"] == NOW - 86_400


def test_it_is_a_filter_and_a_sort(api: Api) -> None:
    first, second = (made(api, "ticket", subject="Changed at") for _ in range(2))
    api.update("ticket", first, importance=91).ok()
    shown = api.record("ticket", first).ok()
    assert shown["changed_at"] >= shown["created"]
    q = f'changedAt:"-1 hour to now" id:[{first},{second}] sort:-changedAt'
    assert set(api.found("ticket", q)) == {first, second}
    assert api.update("ticket", first, changed_at=5).status == 422
