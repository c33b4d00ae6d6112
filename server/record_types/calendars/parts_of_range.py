"""Date filters with parameters, as ranges: `(since:monday until:friday days:weekdays times:9a-5p)`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from server import times
from server.record_types.calendars.availability import midnight, next_midnight
from server.record_types.calendars.occurrences import at, check_range, local_day
from server.search.ast import Subquery
from server.search.filters.date import limits_of, parts_given
from server.store.dialect import date_part

if TYPE_CHECKING:
    from server.search.compile import SearchScope

# {name of a parameter: (reader of its values, the part of a date they are compared with)}
READERS = {
    "day": (times.weekdays, "weekday"),
    "month": (times.months, "month"),
    "dom": (times.days_of_month, "day"),
    "week": (times.weeks, "week"),
}


def parts_of(query: Subquery, scope: "SearchScope") -> list[tuple[int, int]]:
    """The ranges of the filter in order, each from its first second until before its end.

    Raises Invalid for unknown parameters, and if `since` and `until` are missing or too far apart."""
    parameters = parts_given(query)
    start, end = limits_of(parameters, scope)
    check_range(start, max(end, start))
    if not parameters.keys() - {"since", "until"}:
        return [(start, max(end, start))]
    allowed = {name: read(parameters[part]) for part, (read, name) in READERS.items() if part in parameters}
    clock = times.times_of_day(parameters["time"]) if "time" in parameters else [(0, 24 * 60 - 1)]
    return [
        (max(first, start), min(last, end))
        for day in _midnights(start, end, scope)
        if all(date_part(day + 1, str(scope.tz), name) in values for name, values in allowed.items())
        for first, last in _times(day, clock, scope)
        if max(first, start) < min(last, end)
    ]


def _midnights(start: int, end: int, scope: "SearchScope") -> Iterator[int]:
    day = midnight(start, scope.tz)
    while day < end:
        yield day
        day = next_midnight(day, scope.tz)


def _times(day: int, clock: list[tuple[int, int]], scope: "SearchScope") -> list[tuple[int, int]]:
    """Ranges of minutes of a day as instants; each ends at the beginning of its last minute, or at midnight."""
    date, ranges = local_day(day, scope.tz), []
    for first, last in sorted(clock):
        until = next_midnight(day, scope.tz) if last >= 24 * 60 - 1 else at(date, last * 60, scope.tz)
        begins = at(date, first * 60, scope.tz)
        ranges.append((begins, max(until, begins + 60)))
    return ranges
