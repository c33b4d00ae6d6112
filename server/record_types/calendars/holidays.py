"""Holidays of a calendar: days that clocks skip. Each is a recurring event that is busy all day. Pure functions.

They are read from lines such as `2026-12-25 Christmas`, `25 Dec Christmas`, which repeats every year, or `last Monday
of May Memorial Day`; and from the all-day events of an iCalendar file (RFC 5545)."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from server.dataclass import dataclass
from server.errors import Invalid
from server.record_types.calendars.times_of_day import DAY_SECONDS
from server.times.vocabulary import MONTH_NAMES
from server.times.vocabulary import MONTHS as ENGLISH_MONTHS
from server.translation import lazy_gettext

MAX_DAYS = 366  # days of one import
MAX_SPELL_DAYS = 62  # days of one entry, from its first to its last
NAME_CHARS = 255  # of an event
LEAP_YEAR = 2028
# Words for months in English and German, with their numbers.
MONTHS = ENGLISH_MONTHS | {
    "januar": 1,
    "februar": 2,
    "märz": 3,
    "mär": 3,
    "mai": 5,
    "juni": 6,
    "juli": 7,
    "oktober": 10,
    "okt": 10,
    "dezember": 12,
    "dez": 12,
}
MONTHS |= {name[:3]: number for name, number in MONTHS.items()}
_MONTH = r"(?P<{}>" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")(?![a-zä])\.?"
_YEAR = r"(?P<{}>\d{{4}})"
_DATE = re.compile(
    r"(?<![\d.-])(?:"
    r"(?P<y1>\d{4})-(?P<m1>\d{1,2})-(?P<d1>\d{1,2})"
    rf"|(?P<d2>\d{{1,2}})\.\s?(?P<m2>\d{{1,2}})\.(?:\s?{_YEAR.format('y2')})?"
    rf"|(?P<d3>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?{_MONTH.format('m3')}(?:,?\s+{_YEAR.format('y3')})?"
    rf"|{_MONTH.format('m4')}\s+(?P<d4>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+{_YEAR.format('y4')})?"
    r")(?!\d)",
    re.IGNORECASE,
)
_UNTIL = re.compile(r"\s*(?:-|–|—|to\b|bis\b)\s*", re.IGNORECASE)
_PATTERN = re.compile(r"(?P<month>[a-z]+) (?P<day>\d{1,2})")
ORDINALS = {"1": "first", "2": "second", "3": "third", "4": "fourth", "-1": "last"}
WEEKDAYS = {
    "MO": "monday",
    "TU": "tuesday",
    "WE": "wednesday",
    "TH": "thursday",
    "FR": "friday",
    "SA": "saturday",
    "SU": "sunday",
}
_NTH = re.compile(r"(-?\d)([A-Z]{2})")
_NTH_LINE = re.compile(
    rf"\s*((?:{'|'.join(ORDINALS.values())}) (?:{'|'.join(WEEKDAYS.values())}) of (?:{'|'.join(MONTH_NAMES)}))\b(.*)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Holiday:
    """A day with its name. year: 0 for every year. pattern: names other days than this one of each year, such as the
    first Monday of a month."""

    year: int
    month: int
    day: int
    name: str
    pattern: str = ""

    @property
    def days(self) -> str:
        """The pattern of its event."""
        on = f"{MONTH_NAMES[self.month - 1]} {self.day}"
        return self.pattern or (f"{self.year:04}-{self.month:02}-{self.day:02}" if self.year else on)

    @property
    def line(self) -> str:
        """The line from which it is read."""
        return f"{self.days} {self.name}"

    def event(self, calendar_id: int) -> dict[str, Any]:
        """Returns the fields of its event. A single day has limits, so that it is not read years later."""
        fields: dict[str, Any] = {"calendar_id": calendar_id, "name": self.name, "patterns": self.days}
        if self.year:
            midnight = int(datetime(self.year, self.month, self.day, tzinfo=UTC).timestamp())
            fields |= {"recur_start": midnight - DAY_SECONDS, "recur_end": midnight + DAY_SECONDS}
        return fields

    @property
    def place(self) -> tuple[int, int, int]:
        """Its place in a list: the days of every year, then single days."""
        return (self.year, self.month, self.day)


def of_event(event: Mapping[str, Any]) -> Holiday | None:
    """Returns the holiday of a recurring event; None for another event."""
    if event["is_available"] or event["event_start"] or event["event_end"]:
        return None
    pattern = " ".join(event["patterns"].lower().split())
    matched = _PATTERN.fullmatch(pattern)
    if matched is not None and matched["month"] in MONTH_NAMES:
        return Holiday(0, MONTH_NAMES.index(matched["month"]) + 1, int(matched["day"]), event["name"])
    try:
        day = date.fromisoformat(pattern)
    except ValueError:
        return Holiday(0, 1, 1, event["name"], pattern)
    return Holiday(day.year, day.month, day.day, event["name"])


def read(text: str, *, is_yearly: bool = False) -> list[Holiday]:
    """Returns the holidays of a list or of an iCalendar file. is_yearly: whether days with a year repeat as well.
    Raises Invalid, with the number of the line."""
    holidays = list(_of_file(text) if "BEGIN:VEVENT" in text else _of_lines(text))
    if is_yearly:
        holidays = [each if each.pattern else Holiday(0, each.month, each.day, each.name) for each in holidays]
    if len(holidays) > MAX_DAYS:
        raise Invalid(lazy_gettext("at most {most} days at once, this has {count}", most=MAX_DAYS, count=len(holidays)))
    return list({each.days: each for each in reversed(holidays)}.values())[::-1]


def _of_lines(text: str) -> Iterator[Holiday]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            yield from _of_line(line)
        except Invalid as error:
            raise Invalid(lazy_gettext("line {number}: {problem}", number=number, problem=error.message)) from error


def _of_line(line: str) -> Iterator[Holiday]:
    nth = _NTH_LINE.fullmatch(line)
    if nth is not None:
        yield Holiday(0, MONTHS[nth[1].split()[-1].lower()], 1, _name(nth[2]), nth[1].lower())
        return
    first = _DATE.search(line)
    if first is None:
        raise Invalid(lazy_gettext("'{line}' has no date such as 2026-12-25 or 25 Dec", line=line.strip()[:60]))
    year, month, day = last = _parts(first)
    end = first.end()
    joint = _UNTIL.match(line, end)
    second = _DATE.match(line, joint.end()) if joint is not None else None
    if second is not None:
        last, end = _parts(second), second.end()
        year = year or last[0]
        last = (last[0] or year, *last[1:])
    begin, after = _checked(year, month, day), _checked(*last)
    if not year and after < begin:  # across the end of the year
        after = after.replace(year=after.year + 1)
    yield from _spell(begin, after, _name(f"{line[: first.start()]} {line[end:]}"), is_yearly=not year)


def _name(text: str) -> str:
    """Returns the name in a line without its date. Raises Invalid if there is none."""
    name = " ".join(text.split()).strip(" ,;:|\"'–—-")
    if not name:
        raise Invalid(lazy_gettext("write the name after the date"))
    return name[:NAME_CHARS]


def _parts(found: re.Match[str]) -> tuple[int, int, int]:
    """Returns (year or 0, month, day) of a matched date."""
    number = next(number for number in "1234" if found[f"d{number}"])
    month = found[f"m{number}"].lower()
    if not month.isdigit():
        month = MONTHS[month]
    return int(found[f"y{number}"] or 0), int(month), int(found[f"d{number}"])


def _checked(year: int, month: int, day: int) -> date:
    checked = _day(year or LEAP_YEAR, month, day)
    if checked is None:
        raise Invalid(lazy_gettext("there is no day {day} of month {month}", day=day, month=month))
    return checked


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _spell(first: date, last: date, name: str, *, is_yearly: bool) -> Iterator[Holiday]:
    """Yields each day of a spell."""
    if not 0 <= (last - first).days < MAX_SPELL_DAYS:
        raise Invalid(lazy_gettext("'{name}' must take at most {most} days", name=name[:60], most=MAX_SPELL_DAYS))
    for number in range((last - first).days + 1):
        day = first + timedelta(days=number)
        yield Holiday(0 if is_yearly else day.year, day.month, day.day, name)


# -- iCalendar --------------------------------------------------------------------------------------------------------


def _of_file(text: str) -> Iterator[Holiday]:
    """Yields the holidays of all-day events; an event with a time of day is none."""
    unfolded = re.sub(r"\r?\n[ \t]", "", text)
    for block in unfolded.split("BEGIN:VEVENT")[1:]:
        event: dict[str, str] = {}
        for line in block.partition("END:VEVENT")[0].splitlines():
            head, _colon, value = line.partition(":")
            event.setdefault(head.partition(";")[0].upper(), value.strip())
        if event.get("STATUS", "").upper() != "CANCELLED":
            yield from _of_file_event(event)


def _of_file_event(event: Mapping[str, str]) -> Iterator[Holiday]:
    first = _file_day(event.get("DTSTART", ""))
    if first is None:
        return
    after = _file_day(event.get("DTEND", "")) or first
    name = re.sub(r"\\([,;\\])", r"\1", re.sub(r"\\[nN]", " ", event.get("SUMMARY", "")))
    name = " ".join(name.split())[:NAME_CHARS] or "Holiday"
    rule = dict(part.partition("=")[::2] for part in event.get("RRULE", "").upper().split(";"))
    is_yearly = rule.get("FREQ") == "YEARLY"
    nth = _NTH.fullmatch(rule.get("BYDAY", ""))
    if is_yearly and nth is not None and nth[1] in ORDINALS and nth[2] in WEEKDAYS:
        days = f"{ORDINALS[nth[1]]} {WEEKDAYS[nth[2]]} of {MONTH_NAMES[first.month - 1]}"
        yield Holiday(0, first.month, first.day, name, days)
        return
    last = max(after - timedelta(days=1), first)
    yield from _spell(first, last, name, is_yearly=is_yearly and "BYDAY" not in rule)


def _file_day(value: str) -> date | None:
    """Returns the day of a DATE value; None for one with a time."""
    if not re.fullmatch(r"\d{8}", value):
        return None
    return _day(int(value[:4]), int(value[4:6]), int(value[6:]))
