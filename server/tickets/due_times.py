"""The times by which a ticket must get a first response and be resolved, from its service target.

They are stored on the ticket so that lists can sort and search by them. Only hours of the target's calendar count, and
for the resolution only while the ticket is open. Outside of the loaded range of the calendar, all hours count.

Times are Unix seconds, 0 for none. due_at: the earliest goal of an open ticket that is not yet met. tell_at: when the
next notification is due."""

from collections.abc import Mapping
from typing import Any

from server.dataclass import dataclass
from server.record_types.calendars import availability
from server.record_types.calendars.availability import Ranges
from server.record_types.calendars.calendar_rows import occurrences
from server.record_types.calendars.times_of_day import DAY_SECONDS
from server.record_types.parts import Change, Reading, Record, Writing
from server.store.store_local import VersionedLocal
from server.store.tables import Column, table_named
from server.store.transaction import Transaction
from server.tickets.types.ticket_parts.status import OPEN
from server.times import zone

VERSION = "service_targets"
BEHIND_DAYS, AHEAD_DAYS = 40, 140  # the loaded range of calendars around today
RENEW_DAYS = 7  # the loaded range is renewed after this time
NAMES = ("target_id", "response_due_at", "resolution_due_at", "resolution_used", "due_at", "tell_at")
COLUMNS = (
    *map(Column, NAMES),
    Column("response_missed"),
    Column("resolution_missed"),
)  # resolution_used: calendar seconds of earlier periods in which the ticket was open


@dataclass(frozen=True, slots=True)
class TargetTerms:
    """A service target. Times in seconds, 0 for no goal."""

    id: int
    group_id: int
    importance_min: int
    response: int
    resolution: int
    warning: int
    calendar_id: int


@dataclass(frozen=True, slots=True)
class Targets:
    """All enabled targets in order of precedence, with the hours of their calendars from since to until."""

    terms: tuple[TargetTerms, ...] = ()
    hours: Mapping[int, Ranges] | None = None
    since: int = 0
    until: int = 0

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
    if not is_moved and not change.changes("status_id"):
        return
    targets = enabled_targets(writing)
    if not targets.terms and not change.was("target_id"):
        return
    change.new.update(_after(targets, _Spell(change, writing.now), is_moved=is_moved))


def renewed(targets: Targets, ticket: Record, now: int) -> dict[str, Any]:
    """Returns the columns of an open ticket after targets or calendars have changed."""
    target = targets.for_ticket(ticket["group_id"], ticket["importance"])
    return _columns(targets, target, {**ticket, "target_id": target.id if target else 0}, now, is_new=True)


def answered(writing: Writing, ticket: Record, values: Mapping[str, Any], created: int) -> dict[str, Any]:
    """Returns the columns that change with the first response to a ticket. values: the columns of the same change."""
    if not ticket["target_id"]:
        return {}
    late = {"response_missed": 1} if 0 < ticket["response_due_at"] < created else {}
    return late | _next(enabled_targets(writing), {**ticket, **values}, writing.now)


@dataclass(frozen=True, slots=True)
class _Spell:
    """A change of a ticket, and the period of being open that it may end."""

    change: Change
    now: int

    @property
    def record(self) -> Record:
        change = self.change
        return {**(change.old or change.type.initial), **change.new, "created": change.value("created") or self.now}

    @property
    def ends(self) -> bool:
        """Whether the change ends a period of being open."""
        return not self.change.is_create and self.change.was("status_id") == OPEN != self.change.value("status_id")


def _after(targets: Targets, spell: _Spell, *, is_moved: bool) -> dict[str, Any]:
    """Returns the columns after a change."""
    ticket, was = spell.record, spell.change.was
    values: dict[str, Any] = {}
    before = targets.with_id(was("target_id"))
    if spell.ends and before is not None:
        values["resolution_used"] = was("resolution_used") + targets.seconds(before, was("last_opened_at"), spell.now)
        if 0 < was("resolution_due_at") < spell.now:
            values["resolution_missed"] = 1
    target = targets.for_ticket(ticket["group_id"], ticket["importance"]) if is_moved else before
    values["target_id"] = target.id if target else 0
    return values | _columns(targets, target, {**ticket, **values}, spell.now, is_new=is_moved)


def _columns(targets: Targets, target: TargetTerms | None, ticket: Record, now: int, *, is_new: bool) -> dict[str, Any]:
    """Returns the due times. is_new: whether the ticket may have had another target until now."""
    values: dict[str, Any] = {"target_id": target.id if target else 0}
    if target is None:
        return {**values, "response_due_at": 0, "resolution_due_at": 0, "due_at": 0, "tell_at": 0}
    if is_new:
        values["response_due_at"] = targets.end_of(target, ticket["created"], target.response) if target.response else 0
    if ticket["status_id"] == OPEN:
        since = ticket["last_opened_at"] or ticket["created"]
        seconds_left = target.resolution - ticket["resolution_used"]
        due = targets.end_of(target, since, seconds_left) if seconds_left > 0 else since
        values["resolution_due_at"] = due if target.resolution else 0
    return values | _next(targets, {**ticket, **values}, now)


def _next(targets: Targets, ticket: Record, now: int) -> dict[str, Any]:
    """Returns the earliest due time and when to notify about it, both 0 unless the ticket is open."""
    due = [] if ticket["initial_response_message_id"] else [ticket["response_due_at"]]
    due_at = min(filter(None, [*due, ticket["resolution_due_at"]]), default=0) if ticket["status_id"] == OPEN else 0
    if due_at == ticket["due_at"]:
        return {"due_at": due_at} if due_at else {"due_at": 0, "tell_at": 0}
    target = targets.with_id(ticket["target_id"])
    tell_at = due_at - target.warning if target is not None and due_at else 0
    return {"due_at": due_at, "tell_at": tell_at if tell_at > now else due_at}


def _read(reading: Reading) -> Targets:
    table = table_named("service_target")
    rows = reading.tx.rows(
        lambda: table.select(
            table.c.id,
            table.c.group_id,
            table.c.importance_min,
            table.c.response_minutes,
            table.c.resolution_minutes,
            table.c.warning_minutes,
            table.c.calendar_id,
        ).where(table.c.is_disabled == 0)
    )
    terms = [
        TargetTerms(id, group_id, importance, response * 60, resolution * 60, warning * 60, calendar_id)
        for id, group_id, importance, response, resolution, warning, calendar_id in rows
    ]
    terms.sort(key=lambda each: (each.group_id == 0, -each.importance_min, each.id))
    since, until = reading.now - BEHIND_DAYS * DAY_SECONDS, reading.now + AHEAD_DAYS * DAY_SECONDS
    return Targets(tuple(terms), _hours(reading, {each.calendar_id for each in terms}, since, until), since, until)


def _hours(reading: Reading, ids: set[int], since: int, until: int) -> dict[int, Ranges]:
    """Returns {calendar id: ranges of availability}."""
    calendars = [each for id in sorted(ids - {0}) if (each := reading.record("calendar", id)) is not None]
    by_calendar = occurrences(reading.tx, calendars, since, until, zone("UTC")) if calendars else {}
    return {id: availability.free(each) for id, each in by_calendar.items()}
