"""Automatic assignment: who gets a ticket, who is skipped and why, what waits, and what the history says."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from server import mailroom
from server.errors import Invalid
from server.people import next_owner
from server.record_types.shared import entries
from server.records import records
from server.tickets import assign_queue, properties, undo
from server.tickets.types.ticket_parts.status import CLOSED, OPEN, WAITING
from tests.desk.conftest import NOW, Post
from tests.desk.mailroom import mail
from tests.desk.test_targets import MONDAY_9, calendar

HOUR, DAY = 3600, 86400
SCANS = (assign_queue.assign_waiting,)  # importing the module registers the scan


class Team:
    """A desk whose default group has milo, tom and mira, and assigns tickets by turns. Attributes of these names are
    their ids."""

    def __init__(self, desk: Post) -> None:
        self.desk, self.group = desk, desk.support
        self.milo, self.tom, self.mira = desk.milo, desk.worker("Tom", "Berg"), desk.worker("Mira", "Moss")
        self.setup(assign_way="round_robin", members={"member": f"{self.tom},{self.mira}"})

    def setup(self, **fields: Any) -> None:
        records.update(self.desk.context(), "group", self.group, fields)

    def worker(self, id: int, **fields: Any) -> None:
        records.update(self.desk.context(), "worker", id, fields)

    def ticket(self, **values: Any) -> int:
        return self.desk.create("ticket", **{"subject": "Boat", "group_id": self.group} | values)

    def owner(self, ticket_id: int) -> int:
        return int(self.desk.ticket(ticket_id)["owner_id"])

    def owners(self, number: int) -> list[int]:
        """Creates tickets and returns their owners."""
        return [self.owner(self.ticket()) for _ in range(number)]

    def outlook(self) -> next_owner.Outlook:
        group = self.desk.one("group", id=self.group)
        found: next_owner.Outlook = self.desk.read(lambda tx: next_owner.outlook(tx, self.desk.now, group))
        return found

    def skipped(self) -> dict[int, str]:
        return {each.worker_id: each.skipped for each in self.outlook().candidates if each.skipped}

    def history(self, ticket_id: int) -> list[str]:
        """Returns the entries about the owner, as the page of the ticket shows them."""
        found = self.desk.all("activity_log", target__context="svc.contexts.ticket", target_id=ticket_id)
        return [
            entries.on_ticket(each["activity_point"], each["params"])
            for each in found
            if each["activity_point"].startswith("ticket.owner")
        ]


@pytest.fixture
def team(desk: Post) -> Team:
    return Team(desk)


# -- who gets it -------------------------------------------------------------------------------------------------------


def test_nobody_is_assigned_unless_the_group_chooses_a_way(desk: Post) -> None:
    id = desk.create("ticket", subject="Boat", group_id=desk.support)
    assert desk.ticket(id)["owner_id"] == 0 and not desk.activity(id)


def test_members_get_tickets_by_turns(team: Team) -> None:
    assert team.owners(7) == [team.milo, team.tom, team.mira] * 2 + [team.milo]


def test_a_new_member_is_next_and_a_former_one_gets_nothing(team: Team) -> None:
    team.owners(3)
    team.setup(members={"member": str(team.desk.olga), "remove": str(team.milo)})
    assert team.owners(3) == [team.desk.olga, team.tom, team.mira]


def test_the_member_with_the_fewest_open_tickets_of_all_groups_gets_the_next_one(team: Team) -> None:
    team.setup(assign_way="fewest_open")
    other = team.desk.create("group", name="Other")
    for owner, number in ((team.milo, 2), (team.tom, 1)):
        for _ in range(number):
            team.ticket(owner_id=owner, group_id=other)
    team.ticket(owner_id=team.mira, status_id=CLOSED)
    assert team.owners(3) == [team.mira, team.tom, team.mira]


def test_a_chosen_owner_stays(team: Team) -> None:
    assert team.owner(team.ticket(owner_id=team.desk.olga)) == team.desk.olga


@pytest.mark.parametrize(
    "values",
    [{"status_id": WAITING}, {"status_id": CLOSED}, {"spam_score": 0.99}, {"spam_training": "S"}, {"assign": "nobody"}],
)
def test_tickets_that_nobody_works_on_are_not_assigned(team: Team, values: dict[str, Any]) -> None:
    assert team.owner(team.ticket(**values)) == 0


def test_email_the_api_and_a_composed_ticket_are_assigned_alike(team: Team) -> None:
    received = mailroom.receive(team.desk.context(), mail())
    sent = records.create(team.desk.context(team.desk.nora), "ticket", {"subject": "Boat", "group_id": str(team.group)})
    composed = team.desk.ticket_id(status="0")
    assert [team.owner(id) for id in (received.ticket_id, sent["id"], composed)] == [team.milo, team.tom, team.mira]


def test_the_history_says_how_and_the_owner_is_notified(team: Team) -> None:
    id = mailroom.receive(team.desk.context(), mail()).ticket_id
    assert team.history(id) == ["Assigned to Milo Test (round robin)"]
    notified = team.desk.all("notification", worker_id=team.milo, activity_point="ticket.owner.assigned")
    assert len(notified) == 1
    assert "assigned to Milo Test (round robin)" in entries.plain_text(notified[0]["params"])


# -- who is skipped ----------------------------------------------------------------------------------------------------


def test_absent_members_are_skipped_until_they_are_back(team: Team) -> None:
    team.worker(team.milo, away_until=NOW + HOUR)
    assert team.skipped() == {team.milo: next_owner.AWAY}
    assert team.owners(2) == [team.tom, team.mira]
    team.desk.now += HOUR
    assert team.owners(2) == [team.milo, team.tom]


def test_deactivated_members_get_nothing(team: Team) -> None:
    team.worker(team.milo, is_disabled=1)
    assert team.owners(2) == [team.tom, team.mira]


def test_managers_get_tickets_only_if_the_group_says_so(team: Team) -> None:
    team.setup(members={"manager": str(team.milo)})
    assert team.owners(1) == [team.milo]
    team.setup(assign_managers=0)
    assert team.skipped() == {team.milo: next_owner.MANAGER}
    assert team.owners(3) == [team.tom, team.mira, team.tom]


def test_only_members_who_were_here_today_or_just_now_get_tickets(team: Team) -> None:
    team.setup(assign_presence="today")
    assert set(team.skipped().values()) == {next_owner.NOT_TODAY}
    team.desk.write(lambda writing: writing.set("worker", team.tom, {"last_activity_at": NOW - HOUR}))
    assert team.owners(2) == [team.tom, team.tom]
    team.setup(assign_presence="active")
    assert team.skipped()[team.tom] == next_owner.NOT_ACTIVE
    team.desk.write(lambda writing: writing.set("worker", team.mira, {"last_activity_at": NOW - 60}))
    assert team.owners(1) == [team.mira]


def test_nobody_gets_more_open_tickets_than_they_may_have(team: Team) -> None:
    team.setup(assign_max_open=2)
    team.worker(team.milo, assign_max_open=1)
    other = team.desk.create("group", name="Other")
    team.ticket(owner_id=team.milo, group_id=other)
    team.ticket(owner_id=team.tom, group_id=other)
    assert team.owners(5) == [team.tom, team.mira, team.tom, team.mira, 0]
    assert team.skipped() == {
        team.milo: next_owner.FULL,
        team.tom: next_owner.FULL_IN_GROUP,
        team.mira: next_owner.FULL_IN_GROUP,
    }


def test_two_tickets_at_the_same_moment_do_not_exceed_a_capacity(team: Team) -> None:
    """Two processes: tests/store/postgresql/test_processes.py."""
    team.setup(assign_max_open=5)
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda number: team.ticket(subject=f"Boat {number}"), range(20)))
    owners = Counter(map(team.owner, ids))
    assert owners == {team.milo: 5, team.tom: 5, team.mira: 5, 0: 5}


# -- what waits --------------------------------------------------------------------------------------------------------


def test_tickets_wait_for_somebody_and_the_oldest_is_assigned_first(team: Team) -> None:
    for id in (team.milo, team.tom, team.mira):
        team.worker(id, away_until=NOW + HOUR)
    waiting = [team.ticket() for _ in range(3)]
    assert team.outlook().waiting == 3 and team.outlook().next is None
    team.worker(team.tom, away_until=0)
    late = team.ticket()  # behind those that have waited longer
    assert team.owner(late) == 0
    team.worker(team.tom, assign_max_open=2)
    team.desk.run_due()
    assert [team.owner(id) for id in (*waiting, late)] == [team.tom, team.tom, 0, 0]
    team.desk.update("ticket", waiting[0], status_id=CLOSED)
    team.desk.run_due(assign_queue.AGAIN_SECONDS)
    assert [team.owner(id) for id in (*waiting, late)] == [team.tom, team.tom, team.tom, 0]
    assert team.history(waiting[2]) == ["Assigned to Tom Berg (round robin)"]


def test_a_ticket_that_somebody_took_closed_or_moved_waits_no_more(team: Team) -> None:
    for id in (team.milo, team.tom, team.mira):
        team.worker(id, away_until=NOW + HOUR)
    other = team.desk.create("group", name="Other")
    taken, closed, moved, stays = (team.ticket() for _ in range(4))
    team.desk.update("ticket", taken, owner_id=team.desk.nora)
    team.desk.update("ticket", closed, status_id=CLOSED)
    team.desk.update("ticket", moved, group_id=other)
    assert team.outlook().waiting == 1
    team.desk.run_due(HOUR)
    assert [team.owner(id) for id in (taken, closed, moved, stays)] == [team.desk.nora, 0, 0, team.milo]
    assert not team.desk.read(lambda tx: tx.find(next_owner.ASSIGN_QUEUE))


def test_tickets_wait_for_the_hours_of_the_group(team: Team) -> None:
    team.setup(assign_calendar_id=calendar(team.desk))  # open until 17
    assert team.owners(1) == [team.milo]
    team.desk.now += 2 * HOUR
    waiting = team.ticket()
    assert team.owner(waiting) == 0 and team.outlook().begins_at == MONDAY_9
    assert assign_queue.assign_waiting(team.desk.service, team.desk.now) == MONDAY_9
    team.desk.now = MONDAY_9
    new = team.ticket()
    team.desk.run_due()
    assert [team.owner(waiting), team.owner(new)] == [team.tom, team.mira]


def test_waiting_tickets_stay_without_an_owner_when_the_group_turns_it_off(team: Team) -> None:
    for id in (team.milo, team.tom, team.mira):
        team.worker(id, away_until=NOW + HOUR)
    waiting = team.ticket()
    team.setup(assign_way="off")
    team.desk.run_due(HOUR)
    assert team.owner(waiting) == 0 and team.outlook().waiting == 0


# -- reopened, moved, given back ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("status_id", [WAITING, CLOSED])
def test_a_reopened_ticket_of_somebody_absent_goes_back_to_the_group(team: Team, status_id: int) -> None:
    id = mailroom.receive(team.desk.context(), mail(Message_ID="<m1@kite.example>")).ticket_id
    team.desk.update("ticket", id, status_id=status_id)
    team.worker(team.milo, away_until=NOW + HOUR)
    mailroom.receive(team.desk.context(), mail("Again.\n", In_Reply_To="<m1@kite.example>"))
    assert (team.desk.ticket(id)["status_id"], team.owner(id)) == (OPEN, team.tom)
    assert team.history(id)[1:] == ["Assigned to Tom Berg (round robin)"]


def test_it_waits_without_an_owner_if_everybody_is_absent(team: Team) -> None:
    id = mailroom.receive(team.desk.context(), mail(Message_ID="<m1@kite.example>")).ticket_id
    team.desk.update("ticket", id, status_id=CLOSED)
    for each in (team.milo, team.tom, team.mira):
        team.worker(each, away_until=NOW + HOUR)
    mailroom.receive(team.desk.context(), mail("Again.\n", In_Reply_To="<m1@kite.example>"))
    assert team.owner(id) == 0 and team.outlook().waiting == 1
    assert team.history(id)[1:] == ["Went back to the group: Milo Test is not available"]


def test_a_present_owner_keeps_the_reopened_ticket(team: Team) -> None:
    id = mailroom.receive(team.desk.context(), mail(Message_ID="<m1@kite.example>")).ticket_id
    team.desk.update("ticket", id, status_id=CLOSED)
    mailroom.receive(team.desk.context(), mail("Again.\n", In_Reply_To="<m1@kite.example>"))
    assert team.owner(id) == team.milo


def test_a_ticket_that_a_worker_reopens_or_gives_back_is_left_alone(team: Team) -> None:
    id = team.ticket()
    records.update(team.desk.context(team.desk.nora), "ticket", id, {"owner_id": "0"})
    records.update(team.desk.context(team.desk.nora), "ticket", id, {"status": "closed"})
    records.update(team.desk.context(team.desk.nora), "ticket", id, {"status": "open"})
    team.desk.run_due()
    assert team.owner(id) == 0


def test_a_moved_ticket_is_assigned_in_its_new_group_unless_its_owner_is_a_member(team: Team) -> None:
    other = team.desk.create("group", name="Other")
    kept, given = team.ticket(group_id=other, owner_id=team.mira), team.ticket(group_id=other, owner_id=team.desk.olga)
    for id in (kept, given):
        team.desk.update("ticket", id, group_id=team.group)
    assert (team.owner(kept), team.owner(given)) == (team.mira, team.milo)


# -- on request --------------------------------------------------------------------------------------------------------


def test_the_field_assign_chooses_an_owner_by_the_way_of_the_group_or_another(desk: Post) -> None:
    id = desk.create("ticket", subject="Boat", group_id=desk.support)
    records.update(desk.context(desk.nora), "ticket", id, {"assign": "group"})
    assert desk.ticket(id)["owner_id"] == desk.milo
    with pytest.raises(Invalid, match="assign"):
        records.update(desk.context(desk.nora), "ticket", id, {"assign": "anybody"})


def test_a_present_owner_stays_unless_the_ticket_is_given_back(team: Team) -> None:
    id = team.ticket()
    records.update(team.desk.context(team.desk.nora), "ticket", id, {"assign": "fewest_open"})
    assert team.owner(id) == team.milo
    records.update(team.desk.context(team.desk.nora), "ticket", id, {"assign": "group", "owner_id": "0"})
    assert team.owner(id) == team.tom


def test_a_group_without_a_way_assigns_what_waits_on_request(desk: Post) -> None:
    records.update(desk.context(), "worker", desk.milo, {"away_until": NOW + HOUR})
    id = desk.create("ticket", subject="Boat", group_id=desk.support)
    records.update(desk.context(desk.nora), "ticket", id, {"assign": "round_robin"})
    assert desk.ticket(id)["owner_id"] == 0
    desk.run_due(HOUR)
    assert desk.ticket(id)["owner_id"] == desk.milo


def test_the_api_shows_who_is_next_and_why_others_are_skipped(team: Team) -> None:
    team.worker(team.milo, away_until=NOW + HOUR)
    shown = records.retrieve(team.desk.context(team.desk.nora), "group", team.group, "assignment")["assignment"]
    assert shown["next_id"] == team.tom and shown["waiting"] == 0 and shown["begins_at"] == 0
    assert shown["members"][0] == {"worker_id": team.milo, "open": 0, "open_in_group": 0, "skipped": "away"}


@pytest.mark.sqlite("its query plans")
def test_the_choice_reads_no_tickets(team: Team) -> None:
    plan = team.desk.read(
        lambda tx: tx.connection.execute(
            "EXPLAIN QUERY PLAN SELECT owner_id, group_id, SUM(n) FROM ticket_summary "
            "WHERE owner_id IN (SELECT value FROM json_each('[1]')) AND status_id = 0 GROUP BY 1, 2"
        ).fetchall()
    )
    assert "ticket_summary_by_owner_id_status_id" in str(plan)


def test_the_undo_of_a_move_restores_the_owner_and_assigns_nobody(team: Team) -> None:
    other = team.desk.create("group", name="Other")
    bucket, inbox = (str(team.desk.one("bucket", group_id=id)["id"]) for id in (team.group, other))
    nora = team.desk.context(team.desk.nora)
    owned, unowned = team.ticket(group_id=other, owner_id=team.desk.olga), team.ticket(assign="nobody")
    before = properties.move(nora, owned, bucket)
    assert team.owner(owned) == team.milo and before == {"bucket_id": inbox, "owner_id": str(team.desk.olga)}
    undo.restore(nora, owned, before)
    assert team.owner(owned) == team.desk.olga
    undo.restore(nora, unowned, properties.move(nora, unowned, inbox))
    assert team.owner(unowned) == 0
