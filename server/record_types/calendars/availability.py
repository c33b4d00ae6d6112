"""The availability of calendars: the time of available events without that of busy events. Pure functions.

Time without events is not available."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta, tzinfo

from server.record_types.calendars.occurrences import LATEST, Occurrence, merged, without
from server.times.time_parts import unix

Ranges = Sequence[tuple[int, int]]


def free(occurrences: Iterable[Occurrence]) -> list[tuple[int, int]]:
    """The ranges in which one calendar is available, in order and disjoint."""
    events = list(occurrences)
    busy = merged((each.start, each.end) for each in events if not each.is_available)
    pieces: list[tuple[int, int]] = []
    for start, end in merged((each.start, each.end) for each in events if each.is_available):
        pieces += without(start, end, busy)
    return pieces


def covers(ranges: Ranges, start: int, end: int) -> bool:
    """Whether the ranges, as returned by `free`, cover every second from `start` until before `end`; if these are
    equal, that second."""
    place = bisect_right(ranges, (start, LATEST)) - 1
    return place >= 0 and ranges[place][1] >= max(end, start + 1)


def minutes(ranges: Ranges, start: int, end: int) -> int:
    """The number of whole minutes between `start` and `end` that the ranges cover."""
    return seconds(ranges, start, end) // 60


def seconds(ranges: Ranges, start: int, end: int) -> int:
    """The number of seconds between `start` and `end` that the ranges cover."""
    place = max(bisect_right(ranges, (start, LATEST)) - 1, 0)
    covered = 0
    for at in range(place, len(ranges)):
        first, last = ranges[at]
        if first >= end:
            break
        covered += max(min(last, end) - max(first, start), 0)
    return covered


def end_of(ranges: Ranges, start: int, lasts: int) -> int | None:
    """The instant at which this many seconds of the ranges, at least one, have passed since `start`; None if the ranges
    end before.

    >>> end_of([(100, 110), (200, 210)], 105, 5), end_of([(100, 110), (200, 210)], 105, 6)
    (110, 201)
    """
    for first, last in ranges[max(bisect_right(ranges, (start, LATEST)) - 1, 0) :]:
        begins = max(first, start)
        if last - begins >= lasts:
            return begins + lasts
        lasts -= max(last - begins, 0)
    return None


def hours(start: int, end: int, tz: tzinfo) -> Iterator[tuple[int, int]]:
    """Yields the clock hours between two instants, the first and last one cut."""
    while start < end:
        local = datetime.fromtimestamp(start, tz)
        into = timedelta(minutes=local.minute, seconds=local.second)
        after = min(start + 3600 - int(into.total_seconds()), end)
        yield start, after
        start = after


def midnight(instant: int, tz: tzinfo) -> int:
    """The beginning of the day of an instant."""
    day = datetime.fromtimestamp(instant, tz).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    return unix(day, tz, first=True)


def next_midnight(instant: int, tz: tzinfo) -> int:
    """The beginning of the following day."""
    day = datetime.fromtimestamp(instant, tz).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    return unix(day + timedelta(days=1), tz, first=True)
