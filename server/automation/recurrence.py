"""Recurrence patterns such as `0 9 * * mon-fri`: validates them and computes the next match.

Day of month and day of week are as in cron: if both are restricted, either one suffices. A time that does not exist
because of daylight saving time is shifted by the same amount; one that occurs twice matches once, unless the hour is
`*`."""

import calendar
import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta, tzinfo

from server.dataclass import dataclass
from server.digits import is_whole
from server.errors import Invalid

ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
MAX_DAYS = 9 * 366  # search range: two leap days may be eight years apart
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_PART = re.compile(r"(?:\*|([a-z]{3}|[0-9]{1,2})(?:-([a-z]{3}|[0-9]{1,2}))?)(?:/([0-9]{1,2}))?\Z")


@dataclass(frozen=True)
class _CronField:
    """One of the five fields. words: names of numbers, counted from `first`. special: further syntax of a part."""

    name: str
    low: int
    high: int
    words: tuple[str, ...] = ()
    first: int = 0
    special: str = r"(?!)"

    def number(self, text: str) -> int:
        """Parses the number of a part. Raises ValueError."""
        value = int(text) if is_whole(text, 4) else self.words.index(text) + self.first
        if not self.low <= value <= self.high:
            raise ValueError
        return value

    def reads(self, part: str) -> bool:
        """Returns whether this is a valid part of the field, such as `*/15`, `1-5` or `mon`."""
        if re.fullmatch(self.special, part):
            return True
        match = _PART.match(part)
        if not match:
            return False
        try:
            numbers = [self.number(text) for text in match.groups()[:2] if text]
        except ValueError:
            return False
        return match[3] != "0" and match[3] != "00" and numbers == sorted(numbers)

    def numbers(self, part: str) -> range:
        """Returns the numbers that a part matches; none for special parts."""
        match = _PART.match(part)
        if not match or re.fullmatch(self.special, part):
            return range(0)
        step = int(match[3] or 1)
        if match[1] is None:
            return range(self.low, self.high + 1, step)
        first = self.number(match[1])
        last = self.number(match[2]) if match[2] else self.high if match[3] else first
        return range(first, last + 1, step)


FIELDS = (
    _CronField("minute", 0, 59),
    _CronField("hour", 0, 23),
    _CronField("day of month", 1, 31, special=r"l|lw|([1-9]|[12][0-9]|3[01])w"),
    _CronField("month", 1, 12, MONTHS, 1),
    _CronField("day of week", 0, 7, WEEKDAYS, special=r"([0-7]|sun|mon|tue|wed|thu|fri|sat)(l|#[1-5])"),
)


def check(text: str, field: str) -> None:
    """Validates patterns, one per line. Raises Invalid that names `field` and the first bad line; skips blank lines and
    comments."""
    for number, line in enumerate(text.splitlines(), start=1):
        pattern = line.strip().lower()
        if pattern and not pattern.startswith("#") and pattern not in ALIASES:
            problem = _problem(pattern.split())
            if problem:
                raise Invalid(f"{field}: line {number}: {problem}", field=field)


def _problem(words: list[str]) -> str:
    if len(words) != len(FIELDS):
        return (
            f"a pattern has {len(FIELDS)} parts, such as '0 9 * * mon-fri', or is one of {', '.join(sorted(ALIASES))}"
        )
    for each, word in zip(FIELDS, words, strict=True):
        for part in word.split(","):
            if not each.reads(part):
                return f"'{part[:50]}' is no {each.name}"
    return ""


def next_time(text: str, after: int, zone: tzinfo) -> int:
    """Returns the first match of a pattern after an instant, in Unix seconds; 0 if there is none within nine years."""
    patterns = [line.strip().lower() for line in text.splitlines()]
    times = [_next(ALIASES.get(each, each).split(), after, zone) for each in patterns if each and each[0] != "#"]
    return min(filter(None, times), default=0)


def _next(words: list[str], after: int, zone: tzinfo) -> int:
    minutes, hours, months = (_numbers(place, words[place]) for place in (0, 1, 3))
    day = datetime.fromtimestamp(after, zone).date()
    twice = words[1].startswith("*")
    for _ in range(MAX_DAYS):
        if day.month in months and _is_day_met(words[2], words[4], day):
            times = _times(day, sorted(hours), sorted(minutes), zone, twice)
            first = min((each for each in times if each > after), default=0)
            if first:
                return first
        day += timedelta(days=1)
    return 0


def _numbers(place: int, word: str) -> set[int]:
    return {number for part in word.split(",") for number in FIELDS[place].numbers(part)}


def _times(day: date, hours: list[int], minutes: list[int], zone: tzinfo, twice: bool) -> Iterator[int]:
    for hour in hours:
        for minute in minutes:
            for fold in (0, 1) if twice else (0,):
                local = datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone, fold=fold)
                yield int(local.timestamp())


def _is_day_met(of_month: str, of_week: str, day: date) -> bool:
    """Returns whether a day matches both parts, or one of them if neither begins with `*` (crontab(5))."""
    fits = _is_day(of_month, day), _is_weekday(of_week, day)
    return all(fits) if of_month.startswith("*") or of_week.startswith("*") else any(fits)


def _is_day(word: str, day: date) -> bool:
    last = calendar.monthrange(day.year, day.month)[1]
    for part in word.split(","):
        if part == "l":
            fits = day.day == last
        elif part == "lw":
            fits = day.day == _working_day(day.replace(day=last), last)
        elif part.endswith("w"):
            target = int(part[:-1])
            fits = target <= last and day.day == _working_day(day.replace(day=target), last)
        else:
            fits = day.day in FIELDS[2].numbers(part)
        if fits:
            return True
    return False


def _working_day(day: date, last: int) -> int:
    """Returns the day from Monday to Friday that is nearest to a day, within its month."""
    weekday = day.weekday()
    if weekday == 5:
        return day.day - 1 if day.day > 1 else 3
    if weekday == 6:
        return day.day + 1 if day.day < last else day.day - 2
    return day.day


def _is_weekday(word: str, day: date) -> bool:
    weekday = day.isoweekday() % 7
    for part in word.split(","):
        match = re.fullmatch(r"([0-9a-z]+?)(l|#([1-5]))", part) if re.fullmatch(FIELDS[4].special, part) else None
        if match is None:
            fits = weekday in {number % 7 for number in FIELDS[4].numbers(part)}
        else:
            fits = weekday == FIELDS[4].number(match[1]) % 7
            if match[3]:
                fits = fits and (day.day - 1) // 7 + 1 == int(match[3])
            else:
                fits = fits and day.day > calendar.monthrange(day.year, day.month)[1] - 7
        if fits:
            return True
    return False
