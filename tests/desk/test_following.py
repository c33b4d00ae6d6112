"""The live page of a ticket: which changes of others it receives."""

from typing import Any

import pytest

from server.contexts import GROUP, TICKET, WORKER
from server.errors import HelpdeskError
from server.people import presence
from server.records import records
from server.records.changes import CHANGE
from server.records.records import SearchRequest
from server.tickets import following
from tests.desk.conftest import Post


def cursor(desk: Post) -> int:
    return following.cursor(desk.context()) * following.VERSIONS


def changes_for(desk: Post, ticket_id: int, since: int, by: int = 0) -> list[str]:
    return following.since(desk.context(by or desk.milo), ticket_id, since)[0]


def test_a_ticket_receives_the_changes_of_its_own_records(desk: Post) -> None:
    ours, other = desk.ticket_id(), desk.ticket_id()
    start = cursor(desk)
    desk.create("comment", target__context=TICKET, target_id=ours, comment="On Monday.")
    desk.received(ours)
    desk.update("ticket", other, subject="Pump")
    desk.create("comment", target__context=GROUP, target_id=ours, comment="The number of another record.")
    assert set(changes_for(desk, ours, start)) >= {"comment created", "message created"}
    assert changes_for(desk, other, start) == ["ticket updated"]


def test_a_page_goes_on_from_what_it_received(desk: Post) -> None:
    ticket_id = desk.ticket_id()
    start = cursor(desk)
    desk.update("ticket", ticket_id, subject="Pump")
    _, end, _ = following.since(desk.context(desk.milo), ticket_id, start)
    assert changes_for(desk, ticket_id, end) == []
    assert changes_for(desk, ticket_id, start) == ["ticket updated"]  # a page that was opened earlier
    desk.received(ticket_id)
    assert "message created" in changes_for(desk, ticket_id, end)


def test_a_page_that_is_far_behind_counts_as_changed_and_catches_up(
    desk: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, other = desk.ticket_id(), desk.ticket_id()
    start = cursor(desk)
    for number in range(3):
        desk.update("ticket", other, subject=f"Pump {number}")
    monkeypatch.setattr(following, "MAX_READ", 2)
    changes, upto, _ = following.since(desk.context(desk.milo), ours, start)
    assert changes == ["ticket updated"] and upto == cursor(desk)
    monkeypatch.setattr(following, "MAX_COUNTED", 1)
    count, upto, _ = following.number_since(desk.context(desk.milo), "ticket", start)
    assert (count, upto // following.VERSIONS) == (1, cursor(desk) // following.VERSIONS)
    monkeypatch.undo()
    assert changes_for(desk, ours, upto) == []


@pytest.mark.parametrize("cursor", [-1, 10**12])
def test_an_unknown_cursor_counts_as_a_change(desk: Post, cursor: int) -> None:
    assert changes_for(desk, desk.ticket_id(), cursor * following.VERSIONS) == ["ticket updated"]


def test_a_cursor_before_the_stored_changes_counts_as_a_change(desk: Post) -> None:
    ticket_id = desk.ticket_id()
    start = cursor(desk)
    desk.update("ticket", ticket_id, subject="Pump")
    log: Any = CHANGE.sql
    desk.service.store.write(lambda tx: tx.run(lambda: log.delete()))
    desk.update("ticket", ticket_id, subject="Hose")
    assert changes_for(desk, ticket_id, start) == ["ticket updated"]
    number, upto, _ = following.number_since(desk.context(desk.milo), "ticket", start)
    assert (number, upto // following.VERSIONS) == (1, cursor(desk) // following.VERSIONS)


def test_people_on_other_tickets_are_no_news(desk: Post) -> None:
    ours, other = desk.ticket_id(), desk.ticket_id()
    ctx = desk.context(desk.milo)
    presence.note(desk.context(desk.nora), other, "viewing")
    _, seen, is_moved = following.since(ctx, ours, cursor(desk))
    assert not is_moved
    presence.note(desk.context(desk.nora), ours, "writing")
    _, seen, is_moved = following.since(ctx, ours, seen)
    assert is_moved
    assert not following.since(ctx, ours, seen)[2]


def test_a_worker_who_lost_access_receives_nothing(desk: Post) -> None:
    private = desk.create("group", name="Board", is_private=1)
    ticket_id = desk.ticket_id()
    start = cursor(desk)
    desk.update("ticket", ticket_id, group_id=private, bucket_id=desk.all("bucket", group_id=private)[0]["id"])
    for other in (desk.milo, desk.olga):
        with pytest.raises(HelpdeskError):
            changes_for(desk, ticket_id, start, by=other)
    presence.note(desk.context(desk.nora), ticket_id, "viewing")
    with pytest.raises(HelpdeskError):
        following.since(desk.context(desk.milo), ticket_id, cursor(desk))


def test_workers_of_the_same_rights_read_their_own_records(desk: Post) -> None:
    """Workers with the same rights share the conditions of what they may read; only the id of the worker differs."""
    pair = [desk.worker(name, "Test") for name in ("Pia", "Ugo")]
    for id in pair:
        desk.create("calendar", name=f"Of {id}", owner__context=WORKER, owner_id=id)
    for id in (*pair, pair[0]):
        found = records.search(desk.context(id), "calendar", SearchRequest('name:"Of *"', 10))["results"]
        assert [each["name"] for each in found] == [f"Of {id}"]
