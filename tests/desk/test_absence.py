"""Absent workers: the period, who is notified of messages instead, and that no notification is lost when all are
away."""

from itertools import pairwise
from typing import Any

import pytest

from server import mailroom
from server.access.actor import worker as actor_of
from server.errors import AdminOnly, Forbidden, Invalid
from server.people import profile
from server.record_types.shared import absence
from server.records import records
from tests.desk.conftest import NOW, Post
from tests.desk.mailroom import mail

HOUR = 3600


@pytest.fixture
def ticket(desk: Post) -> int:
    """A ticket of milo's that a customer wrote."""
    received = mailroom.receive(desk.context(), mail(Message_ID="<m1@kite.example>"))
    desk.update("ticket", received.ticket_id, owner_id=desk.milo)
    return received.ticket_id


def away(desk: Post, worker_id: int, stand_in: int = 0, since: int = NOW - HOUR, until: int = NOW + HOUR) -> None:
    records.update(desk.context(desk.nora), "worker", worker_id,
                   {"away_from": since, "away_until": until, "away_stand_in_id": stand_in})  # fmt: skip


def notified(desk: Post) -> list[int]:
    """Returns the workers who are notified when the customer writes again."""
    before = len(desk.all("notification"))
    number = len(desk.all("message"))
    raw = mail(f"Again {number}.\n", In_Reply_To="<m1@kite.example>", Message_ID=f"<n{number}@kite.example>")
    mailroom.receive(desk.context(), raw)
    found = desk.all("notification")[before:]
    assert {each["activity_point"] for each in found} <= {"ticket.message.inbound"}
    return [each["worker_id"] for each in found]


@pytest.mark.parametrize(
    ("since", "until", "is_away"),
    [
        (0, 0, False), (NOW, 0, True), (NOW + 1, 0, False), (0, NOW, False), (0, NOW + 1, True),
        (NOW - 1, NOW + 1, True), (NOW - 2, NOW, False), (NOW + 1, NOW + 2, False),
    ],
    ids=[
        "none", "since now", "since the next second", "until now", "until the next second", "around now", "just over",
        "not begun",
    ],
)  # fmt: skip
def test_an_absence_includes_its_first_second_and_excludes_its_last(
    desk: Post, since: int, until: int, is_away: bool
) -> None:
    away(desk, desk.milo, 0, since, until)
    assert desk.shown("worker", desk.milo)["is_away"] == int(is_away)
    for q, wanted in (("isAway:yes", is_away), ("isAway:no", not is_away), ("isAway:!yes", not is_away)):
        found = records.search(desk.context(desk.nora), "worker", records.SearchRequest(f"{q} id:{desk.milo}"))
        assert bool(found["results"]) is wanted, q


def test_the_stand_in_is_notified_as_well(desk: Post, ticket: int) -> None:
    assert notified(desk) == [desk.milo]
    away(desk, desk.milo, desk.nora)
    assert notified(desk) == [desk.nora, desk.milo]
    desk.now += HOUR
    assert notified(desk) == [desk.milo]


def test_the_stand_in_gets_only_messages_of_customers(desk: Post, ticket: int) -> None:
    away(desk, desk.milo, desk.olga)
    before = len(desk.all("notification"))
    records.update(desk.context(desk.nora), "ticket", ticket, {"status": "closed"})
    assert desk.olga not in [each["worker_id"] for each in desk.all("notification")[before:]]


def test_stand_ins_of_stand_ins_are_followed(desk: Post, ticket: int) -> None:
    away(desk, desk.milo, desk.olga)
    away(desk, desk.olga, desk.nora)
    assert notified(desk) == [desk.nora, desk.milo]


def test_a_circle_ends(desk: Post, ticket: int) -> None:
    away(desk, desk.milo, desk.olga)
    away(desk, desk.olga, desk.nora)
    away(desk, desk.nora, desk.milo)
    assert notified(desk) == [desk.milo]


def test_a_chain_without_end_ends() -> None:
    chain = {number: {"id": number, "away_from": 1, "away_until": 0, "away_stand_in_id": number + 1, "is_disabled": 0}
             for number in range(1, 1000)}  # fmt: skip
    asked: list[int] = []

    def find(id: int) -> dict[str, Any] | None:
        asked.append(id)
        return chain.get(id)

    assert absence.stand_in(find, 1, NOW) == 0 and len(asked) <= absence.MAX_CHAIN + 2
    assert all(second == first + 1 for first, second in pairwise(asked))


def test_without_a_stand_in_nothing_is_lost(desk: Post, ticket: int) -> None:
    away(desk, desk.milo)
    assert notified(desk) == [desk.milo]
    away(desk, desk.milo, desk.olga)
    away(desk, desk.olga)
    assert notified(desk) == [desk.milo]
    away(desk, desk.olga, since=0, until=0)
    assert notified(desk) == [desk.milo, desk.olga]
    desk.update("worker", desk.olga, is_disabled=1)
    assert notified(desk) == [desk.milo]
    records.delete(desk.context(), "worker", desk.olga)
    assert desk.one("worker", id=desk.milo)["away_stand_in_id"] == 0 and notified(desk) == [desk.milo]


def test_a_stand_in_who_cannot_read_the_ticket_is_not_notified(desk: Post, ticket: int) -> None:
    records.update(desk.context(), "group", desk.support, {"is_private": 1})
    away(desk, desk.milo, desk.olga)
    assert notified(desk) == [desk.milo]


def test_customers_get_no_mail_about_it(desk: Post, ticket: int) -> None:
    away(desk, desk.milo, desk.olga)
    notified(desk)
    desk.run_due()
    assert desk.all("draft") == [] and not [each for each in desk.all("message") if each["is_outgoing"]]


def test_an_absent_worker_can_be_assigned_a_ticket(desk: Post, ticket: int) -> None:
    away(desk, desk.olga, desk.milo)
    records.update(desk.context(desk.nora), "ticket", ticket, {"owner_id": desk.olga})
    assert desk.ticket(ticket)["owner_id"] == desk.olga


@pytest.mark.parametrize("fields", [
    {"away_from": NOW + 2, "away_until": NOW + 1}, {"away_from": NOW, "away_until": NOW}, {"away_from": "blurb"},
    {"away_stand_in_id": 999},
], ids=["ends before it begins", "ends as it begins", "unreadable date", "unknown stand-in"])  # fmt: skip
def test_mistakes_are_reported(desk: Post, fields: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match=next(reversed(fields))):
        records.update(desk.context(desk.nora), "worker", desk.milo, fields)


def test_workers_cannot_stand_in_for_themselves_or_while_disabled(desk: Post) -> None:
    with pytest.raises(Invalid, match="themselves"):
        away(desk, desk.milo, desk.milo)
    desk.update("worker", desk.olga, is_disabled=1)
    with pytest.raises(Invalid, match="deactivated"):
        away(desk, desk.milo, desk.olga)


def test_workers_enter_only_their_own_absence(desk: Post) -> None:
    by = desk.context(desk.milo)
    fields = {"away_until": "+2 hours", "away_stand_in_id": str(desk.olga), "is_superuser": "1"}
    profile.change_absence(by, desk.milo, fields)
    found = desk.one("worker", id=desk.milo)
    assert (found["away_until"], found["away_stand_in_id"]) == (NOW + 2 * HOUR, desk.olga) and not found["is_superuser"]
    assert profile.absence_of(by, desk.milo) == profile.Absence(NOW + 2 * HOUR, "Olga Test")
    assert profile.absence_of(by, desk.olga) is None and profile.absence_of(by, 999) is None
    with pytest.raises((AdminOnly, Forbidden)):
        records.update(by, "worker", desk.olga, {"away_until": NOW + HOUR})
    with pytest.raises(Forbidden):
        profile.change_absence(by, desk.olga, {"away_until": "+2 hours"})
    found_actor = desk.read(lambda tx: actor_of(tx, desk.milo))
    assert found_actor is not None and not found_actor.is_admin


def test_managers_enter_the_absence_of_members_of_their_groups(desk: Post) -> None:
    records.update(desk.context(), "group", desk.support, {"members": {"manager": str(desk.olga)}})
    profile.change_absence(desk.context(desk.olga), desk.milo, {"away_until": "+2 hours"})
    assert desk.one("worker", id=desk.milo)["away_until"] == NOW + 2 * HOUR
    with pytest.raises(Forbidden):
        profile.change_absence(desk.context(desk.olga), desk.nora, {"away_until": "+2 hours"})
