"""Date values of searches: reads a text as the range of seconds that it selects. search/ reads the terms around
them."""

import calendar
import re
from datetime import date, datetime, time, timedelta, tzinfo

from server.dataclass import dataclass
from server.errors import Invalid
from server.times.instants import NO_DATE, exact, reading_of, unreadable
from server.times.limits import MAX_TEXT, excerpt
from server.times.time_parts import LAST_SECOND, resolve, unix

YEARS = range(1970, 2101)  # other numbers of four digits are Unix seconds

_STEPS = {"last": -1, "this": 0, "next": 1}
_DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}
_YEAR_MONTH = re.compile(r"([0-9]{4})-([0-9]{1,2})")
_LEADING_POINT = re.compile(r"(?:^|(?<= ))\.(?= ?[0-9])")
_POINT_IN_DATE = re.compile(r"(?<=[0-9]{4})\.(?=[0-9]{1,2}$)")


@dataclass(frozen=True, slots=True)
class Span:
    """Unix seconds, both ends included. Empty if `end` is before `start`; a start before 1970 is negative."""

    start: int
    end: int


def span(text: str, now: int, tz: tzinfo) -> Span:
    """Returns what a date filter with `text` selects: 'last week', '2026-11-01 to now', '-2 hours', 'big bang to -3
    days'.

    A single text is the start, and the end is `now`, except for whole periods: today, this week, last month, 2026,
    2026-11. A start without a clock time is at 00:00:00, an end at 23:59:59. '', '0' and 'never' select unset dates.
    Raises Invalid if either end is unreadable."""
    value = _value(text)
    if value in NO_DATE:
        return Span(0, 0)
    period = _period(value, now, tz)
    if period:
        return period
    start, *ends = value.split(" to ")
    if len(ends) > 1:
        raise Invalid(f"'{excerpt(value)}' has more than one 'to'; write '<start> to <end>'", value=excerpt(value))
    return Span(_start(start, now, tz), _ends(ends[0], now, tz).end if ends else now)


def bounds(text: str, now: int, tz: tzinfo) -> Span:
    """Returns the first and the last second of a day, a period or an instant.

    For comparisons: after a day means after its last second. Raises Invalid if the text is unreadable."""
    value = _value(text)
    return _period(value, now, tz) or _ends(value, now, tz)


def _value(text: str) -> str:
    if len(text) > MAX_TEXT:
        raise unreadable(text)
    # The grammar reads points within dates; elsewhere they may belong to 'p.m.' or '1.5 hours'.
    return _LEADING_POINT.sub("-", " ".join(text.lower().split()))


def _start(value: str, now: int, tz: tzinfo) -> int:
    return 0 if value in ("big bang", "never") else _ends(value, now, tz).start


def _ends(value: str, now: int, tz: tzinfo) -> Span:
    written = _written_period(value, tz)
    if written:
        return written
    seconds = exact(value)
    if seconds is not None:
        return Span(seconds, seconds)
    reading, seconds = reading_of(value, now, tz)
    if reading.is_timed:
        return Span(seconds, seconds)
    return Span(resolve(reading, now, tz, clock=0), resolve(reading, now, tz, clock=LAST_SECOND))


def _period(value: str, now: int, tz: tzinfo) -> Span | None:
    """Returns the span of a text that means a whole period, else None."""
    today = datetime.fromtimestamp(now, tz).date()
    if value in _DAYS:
        day = today + timedelta(days=_DAYS[value])
        return _days(day, day, tz)
    step, _, unit = value.partition(" ")
    if step not in _STEPS:
        return _written_period(value, tz)
    if unit == "week":
        monday = today + timedelta(days=7 * _STEPS[step] - today.weekday())
        return _days(monday, monday + timedelta(days=6), tz)
    if unit == "month":
        years, month = divmod(today.month - 1 + _STEPS[step], 12)
        return _month(today.year + years, month + 1, tz)
    return _year(today.year + _STEPS[step], tz) if unit == "year" else None


def _written_period(value: str, tz: tzinfo) -> Span | None:
    """Returns the span of '2026' or '2026-11', else None."""
    if len(value) == 4 and value.isascii() and value.isdigit():
        return _year(int(value), tz) if int(value) in YEARS else None
    match = _YEAR_MONTH.fullmatch(_POINT_IN_DATE.sub("-", value))
    if match is None:
        return None
    if not (int(match[1]) and 1 <= int(match[2]) <= 12):
        raise unreadable(value)
    return _month(int(match[1]), int(match[2]), tz)


def _year(year: int, tz: tzinfo) -> Span:
    return _days(date(year, 1, 1), date(year, 12, 31), tz)


def _month(year: int, month: int, tz: tzinfo) -> Span:
    return _days(date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1]), tz)


def _days(first: date, last: date, tz: tzinfo) -> Span:
    start = unix(datetime.combine(first, time()), tz, first=True)
    return Span(start, unix(datetime.combine(last, time(23, 59, 59)), tz))
