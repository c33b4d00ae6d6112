"""The clocks of a ticket's service target: what each counts, and what it left out."""

from datetime import date, datetime, tzinfo
from typing import Literal

from server.context import Context
from server.dataclass import dataclass
from server.record_types.parts import Record
from server.records.reading import RecordReader
from server.store.transaction import Transaction
from server.tickets import due_times
from server.tickets.due_times import Targets, TargetTerms

MAX_HOLIDAYS = 5  # named days of one clock
HOLIDAY_SECONDS = 20 * 3600  # the shortest busy event that is a day off rather than a break
HALF_DAY = 12 * 3600

ClockState = Literal["running", "paused", "met", "late"]


@dataclass(frozen=True, slots=True)
class DayOff:
    """A time that does not count, from its first day to its last one."""

    name: str
    first: date
    last: date


@dataclass(frozen=True, slots=True)
class TargetClock:
    """A clock. goal: response, next_response or resolution. since: when it began. seconds: what the target allows.
    used, paused: seconds until now, None if they are not known. has_hours: whether only hours of a calendar count."""

    goal: str
    state: ClockState
    due_at: int
    since: int
    seconds: int
    used: int | None
    paused: int
    has_hours: bool
    holidays: tuple[DayOff, ...]


def read(ctx: Context, ticket_id: int) -> list[TargetClock]:
    """Returns the clocks of a ticket that the caller may read; those of a target that still applies."""

    def read_clocks(tx: Transaction) -> list[TargetClock]:
        reading = RecordReader(ctx, tx)
        ticket = reading.record("ticket", ticket_id)
        if ticket is None or not ticket["target_id"]:
            return []
        targets = due_times.enabled_targets(reading)
        target = targets.with_id(ticket["target_id"])
        if target is None:
            return []
        return [_clock(ctx, targets, target, ticket, goal) for goal in due_times.GOALS if ticket[f"{goal}_due_at"]]

    return ctx.service.store.read(read_clocks)


def _clock(ctx: Context, targets: Targets, target: TargetTerms, ticket: Record, goal: str) -> TargetClock:
    state, due_at = _state(targets, ticket, goal), ticket[f"{goal}_due_at"]
    since = ticket["next_response_since"] if goal == "next_response" else ticket["created"]
    used, paused = None, 0
    if goal == "resolution" and state in ("running", "paused") and since >= targets.since:
        used = due_times.used_seconds(targets, target, ticket, ctx.now)
        paused = max(targets.seconds(target, since, ctx.now) - used, 0)
    return TargetClock(
        goal=goal,
        state=state,
        due_at=due_at,
        since=since,
        seconds=getattr(target, goal),
        used=used,
        paused=paused,
        has_hours=target.calendar_id in (targets.hours or {}),
        holidays=_holidays(targets, target, since, ctx.now if state == "paused" else due_at, ctx.tz),
    )


def _state(targets: Targets, ticket: Record, goal: str) -> ClockState:
    if goal not in due_times.unmet_goals(ticket) or not due_times.is_pending(ticket):
        return "late" if ticket[f"{goal}_missed"] else "met"
    return "running" if targets.runs(ticket) else "paused"


def _holidays(targets: Targets, target: TargetTerms, since: int, until: int, tz: tzinfo) -> tuple[DayOff, ...]:
    """Returns the days off between two instants. Half a day within a day off is the same day in most time zones."""
    days_off = (
        each
        for each in (targets.busy or {}).get(target.calendar_id, ())
        if each.start < until and each.end > since and each.end - each.start >= HOLIDAY_SECONDS
    )
    return tuple(
        DayOff(
            each.label,
            datetime.fromtimestamp(each.start + HALF_DAY, tz).date(),
            datetime.fromtimestamp(each.end - HALF_DAY, tz).date(),
        )
        for each, _place in zip(days_off, range(MAX_HOLIDAYS), strict=False)
    )
