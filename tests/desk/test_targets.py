"""Service targets: the target of a ticket, its due times in the hours of a calendar, and notifications."""

from typing import Any

import pytest

from server.errors import Forbidden, HelpdeskError, Required
from server.record_types.calendars import availability, calendar_rows
from server.records import records
from server.records.records import SearchRequest
from server.tickets import target_alerts, target_clocks, undo
from tests.desk.conftest import NOW, Post

names = pytest.mark.parametrize
MINUTE, HOUR, DAY = 60, 3600, 86400
# NOW is Friday 2026-11-20 15:04:05 UTC.
FIVE_PM = NOW - 4 * MINUTE - 5 + 2 * HOUR
MONDAY_9 = FIVE_PM + 2 * DAY + 16 * HOUR
OF_ALL = {"owner__context": "svc.contexts.app", "owner_id": 0}
SCANS = (target_alerts.watch,)  # importing the module registers the scan


class Promises:
    """A desk with one target for all groups: a response in 4 hours, closed in 10."""

    def __init__(self, desk: Post, calendar_id: int = 0) -> None:
        self.desk = desk
        self.target = desk.create(
            "service_target", name="All", response_minutes=240, resolution_minutes=600, calendar_id=calendar_id
        )
        desk.run_due()

    def ticket(self, **values: Any) -> int:
        return self.desk.create("ticket", **{"subject": "Boat", "group_id": self.desk.support} | values)

    def due(self, id: int) -> tuple[int, int, int]:
        """Returns (first response, resolution, next) in minutes from NOW, 0 for none."""
        found = self.desk.ticket(id)
        return tuple(  # type: ignore[return-value]
            (found[name] - NOW) // MINUTE if found[name] else 0
            for name in ("response_due_at", "resolution_due_at", "due_at")
        )

    def answer(self, id: int) -> None:
        self.desk.reply(self.desk.message(id)["id"], dont_send="1")

    def answer_a_mail(self, id: int) -> None:
        self.desk.add_requester(id, "ann@kite.example")
        self.desk.received(id)
        self.answer(id)

    def points(self, id: int) -> list[str]:
        return [each for each in self.desk.activity(id) if each.startswith("ticket.target")]


@pytest.fixture
def promises(desk: Post) -> Promises:
    return Promises(desk)


def calendar(desk: Post, **values: Any) -> int:
    """Creates a calendar that is open Mondays to Fridays from 9 to 17 UTC."""
    id = desk.create("calendar", name="Hours", timezone="UTC", **OF_ALL)
    desk.create(
        "calendar_event_recurring",
        **{"name": "Open", "calendar_id": id, "patterns": "weekdays", "event_start": "9am", "event_end": "5pm",
           "is_available": 1, "tz": "UTC"} | values,
    )  # fmt: skip
    return id


RANGES = [(100, 200), (300, 400), (900, 1000)]


@names(("start", "seconds", "end"), [
    (100, 100, 200), (100, 101, 301), (50, 10, 110), (150, 50, 200), (150, 51, 301), (250, 1, 301), (200, 1, 301),
    (399, 1, 400), (399, 2, 901), (950, 50, 1000), (950, 51, None), (2000, 1, None), (0, 300, 1000), (0, 301, None),
])  # fmt: skip
def test_the_end_of_a_span_of_working_hours(start: int, seconds: int, end: int | None) -> None:
    assert availability.end_of(RANGES, start, seconds) == end


# -- due times ---------------------------------------------------------------------------------------------------------


def test_around_the_clock_without_a_calendar(promises: Promises) -> None:
    assert promises.due(promises.ticket()) == (240, 600, 240)


def test_only_the_hours_of_the_calendar_count(desk: Post) -> None:
    promises = Promises(desk, calendar(desk))
    found = desk.ticket(promises.ticket())
    left = FIVE_PM - NOW  # left on Friday
    assert found["response_due_at"] == MONDAY_9 + 4 * HOUR - left
    assert found["resolution_due_at"] == MONDAY_9 + DAY + 2 * HOUR - left


def test_a_holiday_does_not_count(desk: Post) -> None:
    hours = calendar(desk)
    desk.create(
        "calendar_event", name="Holiday", calendar_id=hours, is_available=0, date_start=MONDAY_9 - HOUR,
        date_end=MONDAY_9 + 12 * HOUR,
    )  # fmt: skip
    promises = Promises(desk, hours)
    assert desk.ticket(promises.ticket())["response_due_at"] == MONDAY_9 + DAY + 4 * HOUR - (FIVE_PM - NOW)


def test_a_calendar_without_hours_counts_every_hour(desk: Post) -> None:
    promises = Promises(desk, desk.create("calendar", name="Empty", timezone="UTC", **OF_ALL))
    assert promises.due(promises.ticket()) == (240, 600, 240)


def test_too_many_events_of_a_calendar_count_every_hour(desk: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calendar_rows, "MAX_RECURRING", 0)
    promises = Promises(desk, calendar(desk))
    assert promises.due(promises.ticket()) == (240, 600, 240)


def test_the_most_specific_target_applies(promises: Promises) -> None:
    desk = promises.desk
    other = desk.create("group", name="Other")
    desk.create("service_target", name="Urgent", response_minutes=30, importance_min=80)
    desk.create("service_target", name="Ours", response_minutes=60, group_id=desk.support)
    desk.create("service_target", name="Off", response_minutes=1, group_id=desk.support, is_disabled=1)
    desk.run_due()
    found = [promises.due(promises.ticket(**values))[0] for values in (
        {}, {"importance": 90}, {"group_id": other}, {"group_id": other, "importance": 90},
    )]  # fmt: skip
    assert found == [60, 60, 240, 30]


def test_moving_or_another_importance_selects_another_target(promises: Promises) -> None:
    desk = promises.desk
    desk.create("service_target", name="Urgent", response_minutes=30, importance_min=80)
    desk.run_due()
    id = promises.ticket()
    desk.now += 10 * MINUTE
    desk.update("ticket", id, importance=90)
    assert promises.due(id) == (30, 0, 30)
    desk.update("ticket", id, importance=10)
    assert promises.due(id) == (240, 600, 240)


def test_a_reply_meets_the_first_and_closing_the_second(promises: Promises) -> None:
    desk, id = promises.desk, promises.ticket()
    promises.answer_a_mail(id)
    assert promises.due(id)[2] == 600
    desk.update("ticket", id, status_id=2)
    found = desk.ticket(id)
    assert (found["due_at"], found["response_missed"], found["resolution_missed"]) == (0, 0, 0)


def test_a_message_after_the_reply_needs_a_next_response(promises: Promises) -> None:
    desk, id = promises.desk, promises.ticket()
    desk.update("service_target", promises.target, next_response_minutes=60)
    desk.run_due()
    promises.answer_a_mail(id)
    assert desk.ticket(id)["next_response_due_at"] == 0
    desk.now += 10 * MINUTE
    desk.received(id)
    desk.now += 10 * MINUTE
    desk.received(id)  # counts from the first that has no reply
    assert desk.ticket(id)["next_response_due_at"] == NOW + 70 * MINUTE and promises.due(id)[2] == 70
    desk.run_due(50 * MINUTE)
    assert promises.points(id)[-1] == "ticket.target.missed"
    promises.answer(id)
    found = desk.ticket(id)
    assert (found["next_response_due_at"], found["next_response_missed"], promises.due(id)[2]) == (0, 1, 600)


def test_a_composed_ticket_needs_a_next_response_instead_of_a_first(promises: Promises) -> None:
    desk = promises.desk
    desk.update("service_target", promises.target, next_response_minutes=60)
    desk.run_due()
    id = desk.ticket_id()
    assert promises.due(id) == (0, 600, 600)
    desk.now += 2 * HOUR
    desk.received(id)
    desk.update("service_target", promises.target, warning_minutes=5)
    desk.run_due()
    assert promises.due(id) == (0, 600, 180)


def test_closing_ends_the_wait_for_a_next_response(promises: Promises) -> None:
    desk, id = promises.desk, promises.ticket()
    desk.update("service_target", promises.target, next_response_minutes=60)
    desk.run_due()
    promises.answer_a_mail(id)
    desk.received(id)
    for status_id in (2, 0):
        desk.update("ticket", id, status_id=status_id)
    assert desk.ticket(id)["next_response_since"] == 0 and promises.due(id)[2] == 600


def test_deleting_the_message_ends_the_wait_for_a_next_response(promises: Promises) -> None:
    desk, id = promises.desk, promises.ticket()
    desk.update("service_target", promises.target, next_response_minutes=60)
    desk.run_due()
    promises.answer_a_mail(id)
    reply = desk.message(id)["id"]
    late = desk.received(id)
    desk.write(lambda writing: writing.delete("message", late))
    assert desk.ticket(id)["next_response_due_at"] == 0
    desk.received(id)
    desk.write(lambda writing: writing.delete("message", reply))
    assert promises.due(id) == (240, 600, 240) and desk.ticket(id)["next_response_since"] == 0


def test_waiting_does_not_count_for_the_resolution(promises: Promises) -> None:
    desk, id = promises.desk, promises.ticket()
    desk.now += 2 * HOUR
    desk.update("ticket", id, status_id=1)
    assert promises.due(id)[2] == 0
    desk.now += 30 * HOUR
    desk.update("ticket", id, status_id=0)
    assert promises.due(id)[1] == 32 * 60 + 8 * 60
    desk.now += 9 * HOUR
    desk.update("ticket", id, status_id=2)
    assert desk.ticket(id)["resolution_missed"] == 1


def test_a_status_with_a_name_pauses_an_open_ticket(promises: Promises) -> None:
    desk, id = promises.desk, promises.ticket()
    parts = desk.create("ticket_status", name="Parts ordered", status_id=0, clock="paused")
    desk.run_due(2 * HOUR)
    desk.update("ticket", id, status_name_id=parts)
    assert promises.due(id)[2] == 0 and target_clocks.read(desk.context(), id)[1].state == "paused"
    desk.run_due(30 * HOUR)
    assert promises.points(id) == []
    desk.update("ticket", id, importance=60)
    desk.update("ticket", id, status_name_id=0)
    assert promises.due(id)[1] == 32 * 60 + 8 * 60
    [_first, resolution] = target_clocks.read(desk.context(), id)
    assert (resolution.used, resolution.paused) == (2 * HOUR, 30 * HOUR)


def test_the_clock_of_a_status_runs_while_waiting(promises: Promises) -> None:
    desk, id = promises.desk, promises.ticket(owner_id=promises.desk.milo)
    supplier = desk.create("ticket_status", name="At the supplier", status_id=1, clock="runs")
    desk.run_due(2 * HOUR)
    desk.update("ticket", id, status_name_id=supplier)
    assert promises.due(id) == (240, 600, 240)
    desk.run_due(3 * HOUR)
    assert promises.points(id) == ["ticket.target.missed"]
    desk.update("ticket", id, status_id=0)
    assert promises.due(id)[1] == 600  # opening does not begin anew
    desk.update("ticket", id, status_id=1)
    desk.now += HOUR
    desk.update("ticket", id, status_name_id=supplier)
    assert promises.due(id)[1] == 660


def test_another_clock_of_a_status_applies_to_its_tickets(promises: Promises) -> None:
    desk, id = promises.desk, promises.ticket()
    supplier = desk.create("ticket_status", name="At the supplier", status_id=1)
    desk.update("ticket", id, status_name_id=supplier)
    desk.now += HOUR
    desk.update("ticket_status", supplier, clock="runs")
    desk.run_due()
    assert promises.due(id) == (240, 660, 240)
    desk.now += HOUR
    desk.update("ticket_status", supplier, clock="")
    desk.run_due()
    assert promises.due(id)[2] == 0 and desk.ticket(id)["resolution_used"] == HOUR


def test_changed_targets_apply_to_open_tickets_only(promises: Promises) -> None:
    desk, open_one, closed = promises.desk, promises.ticket(), promises.ticket(status_id=2)
    before = desk.ticket(closed)
    desk.update("service_target", promises.target, response_minutes=120)
    desk.run_due()
    assert promises.due(open_one) == (120, 600, 120) and desk.ticket(closed) == before
    desk.update("service_target", promises.target, is_disabled=1)
    desk.run_due()
    assert promises.due(open_one) == (0, 0, 0)


def test_another_calendar_changes_the_due_times(desk: Post) -> None:
    hours = calendar(desk)
    promises = Promises(desk, hours)
    id = promises.ticket()
    [event] = desk.all("calendar_event_recurring")
    desk.update("calendar_event_recurring", event["id"], event_end="6pm")
    desk.run_due()
    assert desk.ticket(id)["response_due_at"] == MONDAY_9 + 4 * HOUR - (FIVE_PM + HOUR - NOW)


def test_many_tickets_are_updated_in_batches(desk: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_alerts, "BATCH", 3)
    ids = [desk.create("ticket", subject=str(number), group_id=desk.support) for number in range(8)]
    promises = Promises(desk)
    assert [promises.due(id) for id in ids] == [(240, 600, 240)] * 8


def test_a_clock_names_its_pauses_and_holidays(desk: Post) -> None:
    hours = calendar(desk)
    desk.create(
        "calendar_event_recurring", name="Founding day", calendar_id=hours, patterns="november 23", is_available=0
    )
    promises = Promises(desk, hours)
    id = promises.ticket()
    desk.now += HOUR
    desk.update("ticket", id, status_id=1)
    desk.now = MONDAY_9 + DAY + HOUR
    [first, resolution] = target_clocks.read(desk.context(), id)
    assert (first.state, resolution.state, resolution.used) == ("paused", "paused", HOUR)
    desk.update("ticket", id, status_id=0)
    [first, resolution] = target_clocks.read(desk.context(), id)
    assert (first.seconds, first.since, first.due_at) == (4 * HOUR, NOW, MONDAY_9 + DAY + 4 * HOUR - (FIVE_PM - NOW))
    assert (resolution.used, resolution.paused) == (HOUR, FIVE_PM - NOW) and resolution.has_hours
    assert [(each.name, str(each.first), str(each.last)) for each in resolution.holidays] == [
        ("Founding day", "2026-11-23", "2026-11-23")
    ]


# -- notifications -----------------------------------------------------------------------------------------------------


def test_the_owner_is_notified_before_and_once_it_is_missed(promises: Promises) -> None:
    desk = promises.desk
    id = promises.ticket(owner_id=desk.milo)
    desk.run_due(200 * MINUTE)
    assert promises.points(id) == []
    for seconds in (10 * MINUTE, 10 * MINUTE, 20 * MINUTE, HOUR):
        desk.run_due(seconds)
    assert promises.points(id) == ["ticket.target.due", "ticket.target.missed"]
    told = [each["params"]["variables"] for each in desk.all("notification", worker_id=desk.milo)][-2:]
    assert [each.get("minutes") for each in told] == ["30", None] and told[0]["goal"] == "first response"
    found = desk.ticket(id)
    assert (found["response_missed"], found["resolution_missed"]) == (1, 0) and found["due_at"]


def test_an_undone_pause_leaves_the_clock_as_it_was(promises: Promises) -> None:
    desk, id = promises.desk, promises.ticket()
    parts = desk.create("ticket_status", name="Parts ordered", status_id=0, clock="paused")
    desk.now += HOUR
    before = desk.ticket(id)
    desk.update("ticket", id, status_name_id=parts)
    desk.now += HOUR
    undo.restore(desk.context(), id, {"status_name_id": "0"})
    changed = {name for name, value in desk.ticket(id).items() if value != before[name]}
    assert changed <= {"changed_at"}


def test_met_targets_notify_no_one(promises: Promises) -> None:
    desk, id = promises.desk, promises.ticket()
    promises.answer_a_mail(id)
    desk.run_due(5 * HOUR)
    assert promises.points(id) == []
    desk.run_due(5 * HOUR)
    assert promises.points(id) == ["ticket.target.missed"] and desk.ticket(id)["resolution_missed"] == 1


def test_managers_are_notified_of_unassigned_tickets(promises: Promises) -> None:
    desk = promises.desk
    records.update(desk.context(), "group", desk.support, {"members": {"manager": str(desk.milo)}})
    promises.ticket()
    desk.run_due(5 * HOUR)
    points = [each["activity_point"] for each in desk.all("notification", worker_id=desk.milo)]
    assert points == ["ticket.target.missed"]


def test_a_late_response_is_recorded(promises: Promises) -> None:
    desk, id = promises.desk, promises.ticket()
    desk.add_requester(id, "ann@kite.example")
    desk.received(id)
    desk.now += 5 * HOUR
    promises.answer(id)
    assert desk.ticket(id)["response_missed"] == 1 and promises.due(id)[2] == 600


def test_what_was_overdue_before_the_target_notifies_no_one(desk: Post) -> None:
    old = desk.create("ticket", subject="Old", group_id=desk.support, owner_id=desk.milo)
    desk.now += 5 * HOUR
    promises = Promises(desk)
    new = promises.ticket(owner_id=desk.milo)
    desk.run_due()
    assert promises.points(old) == [] and desk.ticket(old)["response_missed"] == 1
    desk.run_due(5 * HOUR)
    assert promises.points(new) == ["ticket.target.missed"]
    promises.answer_a_mail(old)
    desk.run_due(HOUR)
    assert promises.points(old) == ["ticket.target.missed"]  # the resolution, which was not overdue before


# -- search, rights ----------------------------------------------------------------------------------------------------


@names(("query", "found"), [
    ("due:<now", ["late"]), ("due:>now", ["soon"]), ("missed.response:y", ["late"]), ("missed.resolution:y", []),
    ("sort:due due:!null", ["late", "soon"]), ("missed.response:n sort:id", ["soon", "none"]),
])  # fmt: skip
def test_tickets_are_searched_by_due_time(promises: Promises, query: str, found: list[str]) -> None:
    desk = promises.desk
    promises.ticket(subject="late")
    desk.now += 5 * HOUR
    promises.ticket(subject="soon")
    promises.ticket(subject="none", status_id=2)
    desk.run_due()
    page = records.search(desk.context(desk.nora), "ticket", SearchRequest(query, 10))
    assert [each["subject"] for each in page["results"]] == found


def test_only_administrators_create_targets(desk: Post) -> None:
    fields = {"name": "Ours", "response_minutes": "5"}
    with pytest.raises(Forbidden):
        records.create(desk.context(desk.milo), "service_target", fields)
    with pytest.raises(Required, match="a first response time"):
        records.create(desk.context(desk.nora), "service_target", {"name": "Ours"})
    with pytest.raises(HelpdeskError, match="calendar_id"):
        records.create(desk.context(desk.nora), "service_target", fields | {"calendar_id": "999"})
    id = records.create(desk.context(desk.nora), "service_target", fields)
    assert desk.shown("service_target", id["id"] if isinstance(id, dict) else id, desk.milo)["response_minutes"] == 5
