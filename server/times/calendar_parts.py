"""Parts of the calendar in the parameters of date filters: weekdays, months, days, weeks, times of day."""

import re
from collections.abc import Iterable

from server.dataclass import dataclass
from server.errors import Invalid
from server.times.limits import MAX_TEXT, excerpt
from server.times.vocabulary import MONTH_NAMES, WEEKDAY_NAMES

LAST_MINUTE = 24 * 60 - 1

_SUNDAY_FIRST = WEEKDAY_NAMES[-1:] + WEEKDAY_NAMES[:-1]
_WEEKDAY_GROUPS = {"weekdays": frozenset(range(1, 6)), "weekends": frozenset({0, 6})}
_CLOCK = re.compile(r"([0-9]{1,2})(?::([0-9]{2})(?::[0-5][0-9])?)? ?(?:([ap])(?:\.?m\.?)?)?")  # seconds have no effect


def weekdays(text: str) -> frozenset[int]:
    """Returns the weekdays in 'mon,wed,fri', 'm,w,f', 'weekdays' or 'weekends'; 0 is Sunday, 6 Saturday.

    Names may be abbreviated if they are unambiguous; others are ignored. Raises Invalid if no weekday remains."""
    numbers: set[int] = set()
    for word in _items(text):
        numbers |= _WEEKDAY_GROUPS.get(word) or _numbers_of_name(word, _SUNDAY_FIRST, 0)
    return _require_some(numbers, text, "weekday", "'mon,wed,fri', 'weekdays' or 'weekends'")


def months(text: str) -> frozenset[int]:
    """Returns the months in 'ja,f,mar'; 1 is January. Names may be abbreviated if they are unambiguous; others are
    ignored.

    Raises Invalid if no month remains."""
    numbers: set[int] = set()
    for word in _items(text):
        numbers |= _numbers_of_name(word, MONTH_NAMES, 1)
    return _require_some(numbers, text, "month", "'jan,feb,dec'")


def days_of_month(text: str) -> frozenset[int]:
    """Returns the days in '1,15,31', clamped to 1 to 31. Raises Invalid if there is no number."""
    return _require_some(_numbers(text, 1, 31), text, "day of a month", "'1,15,31'")


def weeks(text: str) -> frozenset[int]:
    """Returns the weeks of the year in '00,53', clamped to 0 to 53. Raises Invalid if there is no number.

    Weeks begin on Sunday; days before the first Sunday are in week 0."""
    return _require_some(_numbers(text, 0, 53), text, "week of the year", "'1,2,53'")


def times_of_day(text: str) -> list[tuple[int, int]]:
    """Returns the ranges in '8a-noon,1-6p', as minutes since midnight with both ends included, in the order of the
    text.

    A single time is a range of one minute. A start without a.m. or p.m. takes the half of its end unless it would then
    be later than the end; any other bare hour is a.m. A range that ends before it starts crosses midnight and is
    returned as two. Raises Invalid if a part is unreadable.

    >>> times_of_day("9-5p,10p-2a")
    [(540, 1020), (1320, 1439), (0, 120)]
    """
    ranges: list[tuple[int, int]] = []
    for item in _items(text):
        ends = [_clock(part.strip(), text) for part in item.split("-")]
        if len(ends) > 2:
            raise _no_time(text)
        start, end = _minutes(ends)
        ranges += [(start, end)] if start <= end else [(start, LAST_MINUTE), (0, end)]
    if not ranges:
        raise _no_time(text)
    return ranges


def _items(text: str) -> list[str]:
    if len(text) > MAX_TEXT:
        raise Invalid(f"a list of {len(text)} characters is too long; at most {MAX_TEXT} are allowed")
    value = text.strip().lower()
    if value.startswith("[") and value.endswith("]"):
        value = value[1:-1]
    return [item.strip() for item in value.split(",") if item.strip()]


def _numbers_of_name(word: str, names: list[str], first: int) -> frozenset[int]:
    matches = [at for at, name in enumerate(names, first) if name.startswith(word)]
    return frozenset(matches) if len(matches) == 1 else frozenset()


def _numbers(text: str, low: int, high: int) -> set[int]:
    numbers = [int(item) for item in _items(text) if item.isascii() and item.isdigit()]
    return {min(max(number, low), high) for number in numbers}


def _require_some(numbers: Iterable[int], text: str, what: str, example: str) -> frozenset[int]:
    chosen = frozenset(numbers)
    if not chosen:
        raise Invalid(f"'{excerpt(text)}' is not a {what}; write, for example, {example}", value=excerpt(text))
    return chosen


@dataclass(frozen=True, slots=True)
class _Clock:
    """A clock time as written. `half` is 'a', 'p' or empty; a bare hour has neither a half nor minutes."""

    hour: int
    minute: int = 0
    half: str = ""
    is_bare: bool = False
    can_take_half: bool = False

    def minutes(self, half: str = "") -> int:
        half = self.half or half
        if not half:
            return self.hour * 60 + self.minute
        return (self.hour % 12 + (12 if half == "p" else 0)) * 60 + self.minute


def _clock(word: str, text: str) -> _Clock:
    if word in ("noon", "midnight"):
        return _Clock(12 if word == "noon" else 0)
    match = _CLOCK.fullmatch(word)
    if match is None:
        raise _no_time(text)
    hour, minute, half = int(match[1]), int(match[2] or 0), match[3] or ""
    if minute > 59 or hour * 60 + minute > 24 * 60 or (half and not 1 <= hour <= 12):
        raise _no_time(text)
    # '01:30' is a 24-hour time; '1:30' may be either.
    can_take_half = not half and 1 <= hour <= 12 and not match[1].startswith("0")
    return _Clock(hour, minute, half, is_bare=not half and match[2] is None, can_take_half=can_take_half)


def _minutes(ends: list[_Clock]) -> tuple[int, int]:
    start, end = ends[0], ends[-1]
    if len(ends) == 1:
        alone = min(_bare_morning(start), LAST_MINUTE)
        return alone, alone
    last = end.minutes()
    first = _bare_morning(start)
    if end.half and start.can_take_half:
        same_half = start.minutes(end.half)
        first = same_half if same_half <= last else start.minutes("a")
    return min(first, LAST_MINUTE), min(last, LAST_MINUTE)


def _bare_morning(clock: _Clock) -> int:
    """Returns the minutes of a time, with a bare 12 as 12 a.m. Only as the end of a range it is noon, since '0-12'
    never means one minute."""
    return 0 if clock.is_bare and clock.hour == 12 else clock.minutes()


def _no_time(text: str) -> Invalid:
    example = "write for example '8a-noon,1-6p' or '09:00-17:00'"
    return Invalid(f"'{excerpt(text)}' is not a list of times; {example}", value=excerpt(text))
