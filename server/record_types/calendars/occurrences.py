"""Occurrences between two instants: single events, and recurring events on each of their days. Pure functions.

Busy events can hide available ones: the remaining pieces of an available event lie between the busy ones."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date, datetime, time, timedelta, tzinfo

from server.dataclass import dataclass
from server.errors import Invalid
from server.record_types.calendars import day_patterns, times_of_day
from server.times.time_parts import unix

MAX_RANGE_DAYS = 190  # half a year
MAX_OCCURRENCES = 10_000  # occurrences in one result
LATEST = 2**62  # later than every instant
LAST_INSTANT = 253_402_128_000  # the end of 29 December 9999: later days have no next day in some zones


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An occurrence of an event: Unix seconds from `start` until before `end`, which are equal for a moment.

    context and record_id: its event."""

    start: int
    end: int
    is_available: bool
    label: str
    calendar_id: int
    context: str
    record_id: int


@dataclass(frozen=True, slots=True)
class RecurringEvent:
    """A recurring event on the days of `patterns`, from `starts` until `ends` of the wall clock in `tz`.

    since, until: limits of the start of an occurrence in Unix seconds; 0 for none."""

    patterns: tuple[str, ...]
    starts: str
    ends: str
    tz: tzinfo
    since: int
    until: int
    model: Occurrence  # the template of each occurrence, without times


def check_range(start: int, end: int) -> None:
    """Raises Invalid for a range that ends before it begins, or is too long."""
    if end < start:
        raise Invalid("the range ends before it begins")
    if end > LAST_INSTANT:
        raise Invalid("the range ends too late; dates are looked at until the year 9999")
    if end - start > MAX_RANGE_DAYS * times_of_day.DAY_SECONDS:
        raise Invalid(f"a range of at most {MAX_RANGE_DAYS} days can be looked at")


def between(
    events: Iterable[Occurrence], recurring: Iterable[RecurringEvent], start: int, end: int
) -> list[Occurrence]:
    """The occurrences that overlap the range from `start` until before `end`, by start, then label. Raises Invalid if
    there are too many."""
    check_range(start, end)
    matches = [each for each in events if overlaps(each, start, end)]
    for each in recurring:
        matches += (one for one in occurrences_of(each, start, end) if overlaps(one, start, end))
        if len(matches) > MAX_OCCURRENCES:
            raise too_many()
    return sorted(matches, key=lambda each: (each.start, each.label, each.record_id))


def overlaps(each: Occurrence, start: int, end: int) -> bool:
    """Whether an occurrence overlaps the range. A moment at its start does, at its end it does not."""
    return each.start < end and (each.end > start or each.start == each.end == start)


def occurrences_of(event: RecurringEvent, start: int, end: int) -> Iterator[Occurrence]:
    """Yields each occurrence that may touch the range, oldest first."""
    first, last = times_of_day.seconds_between(event.starts, event.ends)
    low, high = max(start - last, event.since - times_of_day.DAY_SECONDS), min(end, event.until or end)
    for day in _days(event.patterns, local_day(low, event.tz), local_day(high, event.tz)):
        begins = at(day, first, event.tz)
        if begins >= event.since and (not event.until or begins <= event.until):
            yield replace(event.model, start=begins, end=max(at(day, last, event.tz), begins))


def _days(lines: tuple[str, ...], first: date, last: date) -> Iterator[date]:
    """Yields the days from `first` to `last` that at least one line names; each month is computed once."""
    year, month = first.year, first.month
    while (year, month) <= (last.year, last.month):
        numbers: set[int] = set()
        for line in lines:
            numbers |= day_patterns.days(line, year, month)
        for day in sorted(numbers):
            candidate = date(year, month, day)
            if first <= candidate <= last:
                yield candidate
        year, month = (year, month + 1) if month < 12 else (year + 1, 1)


def at(day: date, seconds: int, tz: tzinfo) -> int:
    """The instant at which clocks show this many seconds after the midnight of a day."""
    return unix(datetime.combine(day, time()) + timedelta(seconds=seconds), tz)


def local_day(instant: int, tz: tzinfo) -> date:
    """The day of an instant."""
    return datetime.fromtimestamp(max(instant, 0), tz).date()


def occluded(occurrences: Iterable[Occurrence]) -> list[Occurrence]:
    """The occurrences with available time hidden by busy time. Raises Invalid for too many pieces."""
    events = list(occurrences)
    busy = merged((each.start, each.end) for each in events if not each.is_available)
    pieces: list[Occurrence] = []
    for each in events:
        if not each.is_available:
            pieces.append(each)
            continue
        pieces += (replace(each, start=start, end=end) for start, end in without(each.start, each.end, busy))
        if len(pieces) > MAX_OCCURRENCES:
            raise too_many()
    return sorted(pieces, key=lambda each: (each.start, each.label, each.record_id))


def merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ranges in order, with touching ranges joined and empty ones removed."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if end <= start:
            continue
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def without(start: int, end: int, holes: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yields the pieces of a range between holes, which are merged ranges. A moment is a piece unless it lies in a
    hole."""
    place = bisect_right(holes, (start, LATEST)) - 1
    if start == end:
        if place < 0 or holes[place][1] <= start:
            yield start, end
        return
    for index in range(max(place, 0), len(holes)):
        hole_start, hole_end = holes[index]
        if hole_start >= end:
            break
        if hole_start > start:
            yield start, hole_start
        start = max(start, hole_end)
    if start < end:
        yield start, end


def too_many(limit: int = MAX_OCCURRENCES, what: str = "events") -> Invalid:
    return Invalid(f"more than {limit} {what}; choose a shorter range or fewer calendars")
