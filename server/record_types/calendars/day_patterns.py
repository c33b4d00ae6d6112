"""Patterns of days: `weekdays`, `mon, wed`, `1st, 15th`, `first monday of`, `december 25`. Pure functions.

A pattern names the same days whenever it is read: relative ones, such as `tomorrow`, are rejected."""

import calendar
import re
from datetime import UTC, date, datetime
from functools import lru_cache

from server import times
from server.errors import Invalid

MAX_PATTERNS = 50  # patterns of one event
MAX_PATTERN_CHARS = 255
LEAP_YEAR = 2028

EVERY_DAY = frozenset(("daily", "day", "every day", "all days"))
EXAMPLES = "weekdays, 'mon, wed', '1st, 15th', 'first monday of', 'last day of', 'december 25' or 2026-12-25"
_DAY = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)?")
_WORDS_OF_WEEK = re.compile(r"[a-z, ]+")
# Days of the month at which a line is read: it is absolute if both readings agree.
_READ_ON = (10, 21)


def lines(text: str) -> list[str]:
    """The patterns of a text, one per line, in lower case; without blank lines and comments (`#`)."""
    stripped = (" ".join(line.lower().split()) for line in text.splitlines())
    return [line for line in stripped if line and not line.startswith("#")]


def check(text: str) -> None:
    """Raises Invalid unless there is at least one line and every line names days."""
    patterns = lines(text)
    if not patterns:
        raise Invalid(f"write at least one line that names days, such as {EXAMPLES}")
    if len(patterns) > MAX_PATTERNS:
        raise Invalid(f"at most {MAX_PATTERNS} lines, this has {len(patterns)}")
    for line in patterns:
        if len(line) > MAX_PATTERN_CHARS:
            raise Invalid(f"a line of at most {MAX_PATTERN_CHARS} characters")
        days(line, LEAP_YEAR, 2)


@lru_cache(maxsize=4096)  # 12 to 40 microseconds for each line and month of a calendar
def days(line: str, year: int, month: int) -> frozenset[int]:
    """The days of a month that a line names, 1 to 31. Raises Invalid if it is not an absolute pattern.

    >>> sorted(days("weekends", 2026, 11))[:3]
    [1, 7, 8]
    """
    line = line.removeprefix("every ")
    last = calendar.monthrange(year, month)[1]
    if line in EVERY_DAY:
        return frozenset(range(1, last + 1))
    numbers = _numbered(line)
    if numbers:
        return frozenset(day for day in numbers if day <= last)
    weekdays = _weekdays(line)
    if weekdays:
        return frozenset(day for day in range(1, last + 1) if date(year, month, day).isoweekday() % 7 in weekdays)
    try:
        only_day = _named(line, year, month)
    except Invalid:
        if calendar.isleap(year):
            raise
        _named(line, LEAP_YEAR, month)  # raises unless it is 29 February
        return frozenset()
    return frozenset((only_day.day,)) if (only_day.year, only_day.month) == (year, month) else frozenset()


def _numbered(line: str) -> list[int]:
    """The days of a list such as `1st, 15`; [] for any other line."""
    matches = [_DAY.fullmatch(part.strip()) for part in line.split(",")]
    numbers = [int(match[1]) for match in matches if match]
    return numbers if len(numbers) == len(matches) and all(1 <= number <= 31 for number in numbers) else []


def _weekdays(line: str) -> frozenset[int]:
    """The weekdays of a list such as `mon, wed and fri`, Sunday 0; empty for any other line."""
    if not _WORDS_OF_WEEK.fullmatch(line):
        return frozenset()
    words = [word.strip() for word in line.replace(" and ", ",").split(",") if word.strip()]
    try:
        weekdays = [times.weekdays(word.removesuffix("s") if word[:4] != "week" else word) for word in words]
    except Invalid:  # not a weekday
        return frozenset()
    return frozenset().union(*weekdays)


def _named(line: str, year: int, month: int) -> date:
    """The day of a line that contains one date. Raises Invalid."""
    dates = set()
    for day in _READ_ON:
        noon = datetime(year, month, day, 12, tzinfo=UTC)
        try:
            seconds = times.instant(line, int(noon.timestamp()), UTC)
        except Invalid:
            raise _no_days(line) from None
        dates.add(datetime.fromtimestamp(seconds, UTC).date())
    if len(dates) > 1 or line.isdigit():
        raise _no_days(line)
    return dates.pop()


def _no_days(line: str) -> Invalid:
    return Invalid(f"'{line[:60]}' names no days of its own; write for example {EXAMPLES}", value=line[:60])
