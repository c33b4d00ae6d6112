"""The times by which a ticket must get a first response, a next response and be resolved, from its service target.

They are stored on the ticket so that lists can sort and search by them. Only hours of the target's calendar count, and
for the resolution only while the ticket is open, or has a status whose clock runs. Outside of the loaded range of the
calendar, all hours count.

Times are Unix seconds, 0 for none. due_at: the earliest goal that is not yet met, while the clocks run. tell_at: when
the next notification is due. next_response_since: when the oldest message came that the requester still waits to have
answered, after the first response. resolution_since: since when the clock of the resolution runs; 0 for since the
ticket was opened."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from server import log
from server.dataclass import dataclass
from server.errors import Invalid
from server.record_types.calendars import availability
from server.record_types.calendars.availability import Ranges
from server.record_types.calendars.calendar_rows import occurrences
from server.record_types.calendars.occurrences import LATEST, Occurrence
from server.record_types.calendars.times_of_day import DAY_SECONDS
from server.record_types.parts import Change, Reading, Record, Writing
from server.store.store_local import VersionedLocal
from server.store.tables import Column, table_named
from server.store.transaction import Transaction
from server.tickets.types.ticket_parts import status_names
from server.tickets.types.ticket_parts.status import OPEN, PENDING
from server.times import zone

LOG = log.get("tickets")
VERSION = "service_targets"
BEHIND_DAYS, AHEAD_DAYS = 40, 140  # the loaded range of calendars around today
RENEW_DAYS = 7  # the loaded range is renewed after this time
STOPPED = -1  # resolution_since while the clock is paused
GOALS = ("response", "next_response", "resolution")
NAMES = (
    "target_id",
    *(f"{goal}_due_at" for goal in GOALS),
    "next_response_since",
    "resolution_since",
    "resolution_used",
    "due_at",
    "tell_at",
)
COLUMNS = tuple(
    map(Column, (*NAMES, *(f"{goal}_missed" for goal in GOALS)))
)  # resolution_used: calendar seconds of earlier periods in which the ticket was open


@dataclass(frozen=True, slots=True)
class TargetTerms:
    """A service target. Times in seconds, 0 for no goal."""

    id: int
    group_id: int
    importance_min: int
    response: int
    next_response: int
    resolution: int
    warning: int
    calendar_id: int


@dataclass(frozen=True, slots=True)
class Targets:
    """All enabled targets in order of precedence, with the hours of their calendars from since to until, and the
    events that are busy meanwhile, such as holidays. clocks: {id of a status with a name: what its clock does}."""

    terms: tuple[TargetTerms, ...] = ()
    hours: Mapping[int, Ranges] | None = None
    busy: Mapping[int, Sequence[Occurrence]] | None = None
    since: int = 0
    until: int = 0
    clocks: Mapping[int, str] = field(default_factory=dict)

    def runs(self, ticket: Record) -> bool:
        """Whether the clocks of a ticket run."""
        clock = self.clocks.get(ticket["status_name_id"])
        return is_pending(ticket) and (clock == status_names.RUNS if clock else ticket["status_id"] == OPEN)

    def for_ticket(self, group_id: int, importance: int) -> TargetTerms | None:
        """Returns the target of a ticket."""
        return next(
            (each for each in self.terms if each.group_id in (0, group_id) and importance >= each.importance_min), None
        )

    def with_id(self, id: int) -> TargetTerms | None:
        """Returns the target with this id if it is enabled."""
        return next((each for each in self.terms if each.id == id), None)

    def end_of(self, target: TargetTerms, start: int, seconds: int) -> int:
        """Returns the instant at which this many seconds of the target's hours have passed."""
        hours = (self.hours or {}).get(target.calendar_id)
        end = availability.end_of(hours, start, seconds) if hours and start >= self.since and seconds > 0 else None
        return start + seconds if end is None else end

    def seconds(self, target: TargetTerms, start: int, end: int) -> int:
        """Returns the number of seconds of the target's hours between two instants."""
        hours = (self.hours or {}).get(target.calendar_id)
        if not hours or start < self.since:
            return max(end - start, 0)
        return availability.seconds(hours, start, end)


# Saves 8 microseconds without a target; with one, the hours of its calendar on hundreds of days.
CACHE: VersionedLocal[Targets] = VersionedLocal()


def enabled_targets(reading: Reading) -> Targets:
    """Returns the enabled targets, cached; read again when targets or calendars change, and every few days."""
    tx = reading.tx
    memo: Targets | None = tx.memo.get(VERSION)
    if memo is not None:
        return memo
    version = tx.version(VERSION)
    targets = CACHE.get(tx.store, version)
    if targets is None or (targets.terms and reading.now + (AHEAD_DAYS - RENEW_DAYS) * DAY_SECONDS > targets.until):
        targets = _read(reading)
        if not tx.can_write:  # a rollback would free this version number for other data
            CACHE.set(tx.store, version, targets)
    tx.memo[VERSION] = targets
    return targets


def forget(tx: Transaction) -> None:
    """Drops the targets from the memo of a transaction that has changed them."""
    tx.memo.pop(VERSION, None)


def apply(change: Change, writing: Writing) -> None:
    """Adds the due times that follow from a change of group, importance or status to the change. Call it after
    status.apply."""
    is_moved = change.is_create or change.changes("group_id") or change.changes("importance")
    if not is_moved and not change.changes("status_id") and not change.changes(status_names.COLUMN):
        return
    if change.value("status_id") not in PENDING and change.was("next_response_since"):
        change.new |= {"next_response_since": 0, "next_response_due_at": 0}
    targets = enabled_targets(writing)
    if not targets.terms and not change.was("target_id"):
        return
    change.new.update(_after(targets, change, writing.now, is_moved=is_moved))


def renewed(targets: Targets, ticket: Record, now: int) -> dict[str, Any]:
    """Returns the columns of an open or waiting ticket after targets, calendars or statuses have changed. What is
    overdue by now is missed, and no one is notified of it."""
    target = targets.for_ticket(ticket["group_id"], ticket["importance"])
    values = _switched(targets, target, target, ticket, ticket, now)
    values = _columns(targets, target, {**ticket, **values}, now, is_new=True) | values
    if 0 < values["due_at"] <= now and "tell_at" in values:
        due = {**ticket, **values}
        missed = {f"{goal}_missed": 1 for goal in unmet_goals(due) if 0 < due[f"{goal}_due_at"] <= now}
        return values | missed | {"tell_at": 0}
    return values


def replied(writing: Writing, ticket: Record, values: Mapping[str, Any], created: int) -> dict[str, Any]:
    """Returns the columns that change with a reply to a ticket. values: the columns of the same change."""
    none = {"next_response_since": 0, "next_response_due_at": 0} if ticket["next_response_since"] else {}
    if not ticket["target_id"]:
        return none
    late = {
        f"{goal}_missed": 1
        for goal in unmet_goals(ticket)
        if goal != "resolution" and 0 < ticket[f"{goal}_due_at"] < created
    }
    return none | late | _next(enabled_targets(writing), {**ticket, **values, **none}, writing.now)


def awaited(writing: Writing, ticket: Record, created: int) -> dict[str, Any]:
    """Returns the columns that change when a requester writes again, after a reply. created: of the oldest message that
    has no reply yet."""
    values = {"next_response_since": created}
    if not ticket["target_id"]:
        return values
    targets = enabled_targets(writing)
    target = targets.with_id(ticket["target_id"])
    values |= _next_response(targets, target, {**ticket, **values})
    return values | _next(targets, {**ticket, **values}, writing.now)


def used_seconds(targets: Targets, target: TargetTerms, ticket: Record, now: int) -> int:
    """Returns the seconds of the target's hours in which the clock of the resolution ran."""
    used = int(ticket["resolution_used"])
    return used + targets.seconds(target, _runs_since(ticket), now) if targets.runs(ticket) else used


def is_pending(ticket: Record) -> bool:
    """Whether a ticket is open or waiting."""
    return ticket["status_id"] in PENDING


def unmet_goals(ticket: Record) -> tuple[str, ...]:
    """Returns the goals that a ticket still has to meet until it is closed."""
    if ticket["next_response_since"]:
        return ("next_response", "resolution")
    return ("resolution",) if ticket["initial_response_message_id"] else ("response", "resolution")


def next_goal(ticket: Record) -> str:
    """Returns the goal that a ticket has to meet first."""
    return min(unmet_goals(ticket), key=lambda goal: ticket[f"{goal}_due_at"] or LATEST)


def _after(targets: Targets, change: Change, now: int, *, is_moved: bool) -> dict[str, Any]:
    """Returns the columns after a change."""
    old = change.old or change.type.initial
    ticket = {**old, **change.new, "created": change.value("created") or now}
    before = None if change.is_create else targets.with_id(old["target_id"])
    target = targets.for_ticket(ticket["group_id"], ticket["importance"]) if is_moved else before
    values = _switched(targets, before, target, old, ticket, now)
    return values | _columns(targets, target, {**ticket, **values}, now, is_new=is_moved)


def _switched(
    targets: Targets, before: TargetTerms | None, target: TargetTerms | None, old: Record, ticket: Record, now: int
) -> dict[str, Any]:
    """Returns the columns of the target and of the clock of its resolution, which a change may start or stop. before,
    target: the terms before and after it."""
    values: dict[str, Any] = {"target_id": target.id if target else 0}
    ran, runs = _ran(old), targets.runs(ticket)
    if before is not None and ran and not runs:
        values["resolution_used"] = old["resolution_used"] + targets.seconds(before, _runs_since(old), now)
        if 0 < old["resolution_due_at"] < now:
            values["resolution_missed"] = 1
    since = (_runs_since(old) if ran else now) if runs else STOPPED
    values["resolution_since"] = since if target is not None else 0
    return values


def _ran(ticket: Record) -> bool:
    """Whether the clock of the resolution ran, as it was stored; as the state says without a target."""
    return ticket["resolution_since"] > 0 or (ticket["resolution_since"] == 0 and ticket["status_id"] == OPEN)


def _columns(targets: Targets, target: TargetTerms | None, ticket: Record, now: int, *, is_new: bool) -> dict[str, Any]:
    """Returns the due times. is_new: whether the ticket may have had another target until now."""
    values: dict[str, Any] = {"target_id": target.id if target else 0}
    if target is None:
        return {**values, **dict.fromkeys((f"{goal}_due_at" for goal in GOALS), 0), "due_at": 0, "tell_at": 0}
    if is_new:
        is_expected = target.response and not _is_composed(ticket)
        values["response_due_at"] = targets.end_of(target, ticket["created"], target.response) if is_expected else 0
        values |= _next_response(targets, target, ticket)
    if targets.runs(ticket):
        since = _runs_since(ticket)
        seconds_left = target.resolution - ticket["resolution_used"]
        due = targets.end_of(target, since, seconds_left) if seconds_left > 0 else since
        values["resolution_due_at"] = due if target.resolution else 0
    return values | _next(targets, {**ticket, **values}, now)


def _runs_since(ticket: Record) -> int:
    since = ticket["resolution_since"]
    return int(since if since > 0 else ticket["last_opened_at"] or ticket["created"])


def _is_composed(ticket: Record) -> bool:
    """Whether the first message is a worker's, and so no one waits for a first response."""
    is_silent = ticket["num_messages"] and not ticket["num_messages_in"]
    return not ticket["initial_response_message_id"] and bool(is_silent or ticket["next_response_since"])


def _next_response(targets: Targets, target: TargetTerms | None, ticket: Record) -> dict[str, Any]:
    since = ticket["next_response_since"]
    due = targets.end_of(target, since, target.next_response) if target and target.next_response and since else 0
    return {"next_response_due_at": due}


def _next(targets: Targets, ticket: Record, now: int) -> dict[str, Any]:
    """Returns the earliest due time and when to notify about it, both 0 while the clocks are paused."""
    goal = next_goal(ticket)
    due_at = ticket[f"{goal}_due_at"] if targets.runs(ticket) else 0
    if due_at == ticket["due_at"]:
        return {"due_at": due_at} if due_at else {"due_at": 0, "tell_at": 0}
    target = targets.with_id(ticket["target_id"])
    tell_at = due_at - target.warning if target is not None and due_at else 0
    if tell_at <= now:
        tell_at = 0 if due_at <= now and ticket[f"{goal}_missed"] else due_at
    return {"due_at": due_at, "tell_at": tell_at}


def _read(reading: Reading) -> Targets:
    table = table_named("service_target")
    rows = reading.tx.rows(
        lambda: table.select(
            table.c.id,
            table.c.group_id,
            table.c.importance_min,
            table.c.response_minutes,
            table.c.next_response_minutes,
            table.c.resolution_minutes,
            table.c.warning_minutes,
            table.c.calendar_id,
        ).where(table.c.is_disabled == 0)
    )
    terms = [
        TargetTerms(id, group_id, importance, first * 60, later * 60, resolution * 60, warning * 60, calendar_id)
        for id, group_id, importance, first, later, resolution, warning, calendar_id in rows
    ]
    terms.sort(key=lambda each: (each.group_id == 0, -each.importance_min, each.id))
    since, until = reading.now - BEHIND_DAYS * DAY_SECONDS, reading.now + AHEAD_DAYS * DAY_SECONDS
    events = _events(reading, {each.calendar_id for each in terms}, since, until)
    hours = {id: availability.free(_with_all_hours(each, since, until)) for id, each in events.items()}
    busy = {id: [one for one in each if not one.is_available] for id, each in events.items()}
    clocks = {id: each.clock for id, each in status_names.read(reading.tx).by_id.items() if each.clock}
    return Targets(tuple(terms), hours, busy, since, until, clocks)


def _with_all_hours(events: list[Occurrence], since: int, until: int) -> list[Occurrence]:
    """Returns the events of a calendar; with all hours if it only has holidays."""
    if not events or any(each.is_available for each in events):
        return events
    return [*events, replace(events[0], start=since, end=until, is_available=True)]


def _events(reading: Reading, ids: set[int], since: int, until: int) -> dict[int, list[Occurrence]]:
    """Returns {calendar id: its events}; {} if there are too many, which must not prevent writes of tickets."""
    calendars = [each for id in sorted(ids - {0}) if (each := reading.record("calendar", id)) is not None]
    try:
        return occurrences(reading.tx, calendars, since, until, zone("UTC")) if calendars else {}
    except Invalid as error:
        LOG.warning("service_targets.calendars", reason=error.message)
        return {}
