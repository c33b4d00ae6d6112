"""Parses the Date field of a mail: RFC 5322, sections 3.3 and 4.3, and the deviations of common programs.

No library parses these without guessing: email.utils takes the 10 of `10:00 +03:00` for the zone's hours and ignores
the rest, and general parsers fill in missing parts from today's date."""

import re
import unicodedata
from datetime import UTC, datetime, timedelta, timezone
from typing import NamedTuple

from server.late_pattern import late_pattern

DATE_CHARACTERS = 100
EARLIEST = 397_353_600  # 1982-08-05: RFC 822. Clocks that were never set say 1970 or 1980.

_MINUTE, _HOUR = 60, 3600
_MAX_OFFSET = 14 * _HOUR
_COMMENT = late_pattern(r"\([^()]*\)?")
_CLOCK = r"(?P<hour>\d{1,2})MARK(?P<minute>\d\d)(?:MARK(?P<second>\d\d)(?:[.,]\d+)?)?"
_HALF = r"(?:\s*(?P<half>[ap])\.?m\b\.?)?"
_NAME = r"(?:(?P<name>[^\W\d_]{1,10})(?![^\W\d_]))?"
_OFFSET = r"(?:(?P<sign>[+-])\s*(?P<hours>\d{1,2}):?(?P<minutes>\d\d)?\b)?"
_TIME = rf"(?<![\d.])(?:T\s*)?{_CLOCK}{_HALF}(?:\s*{_NAME}\s*{_OFFSET})?"
_TIMES = tuple(late_pattern(_TIME.replace("MARK", mark), re.IGNORECASE) for mark in (":", r"\."))
_DATES = (
    late_pattern(r"(?<!\d)(?P<year>\d{4})\s*[-/.年]\s*(?P<month>\d{1,2})\s*[-/.月]\s*(?P<day>\d{1,2})(?!\d)"),
    late_pattern(r"(?<!\d)(?P<day>\d{1,2})\.?[\s/-]*(?P<word>[^\W\d_]{3,})\.?,?[\s/-]*(?P<year>\d{2,4})(?!\d)"),
    late_pattern(r"(?P<word>[^\W\d_]{3,})\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<year>\d{4})(?!\d)"),
    late_pattern(r"(?<!\d)(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4}|\d\d)(?!\d)"),
    late_pattern(r"(?<!\d)(?P<day>\d{1,2})\s+(?P<month>\d{1,2})月?\s+(?P<year>\d{4})(?!\d)"),
)
_SLASHED = late_pattern(r"(?<!\d)(\d{1,2})/(\d{1,2})/(\d{4})(?!\d)")

# Beginnings of months as programs that follow the language of their user write them, without accents.
_MONTHS = {
    beginning: number
    for number, beginnings in enumerate((
        "jan ene gen ian sty led oca tammi янв", "feb fev lut uno sub helmi фев", "mar mrt mrz maa bre мар",
        "apr avr abr kwi dub nis huhti апр", "may mai maj mei mag kve touko маи мая",
        "jun juin giu cze cvn haz kesa июн", "jul juil lug lip cvc tem heina июл",
        "aug aou ago agu sie srp elo авг", "sep set sze wrz zar eyl syys сен", "oct okt ott out paz rij eki loka окт",
        "nov kas marr ноя", "dec dez dic des gru pro ara joulu дек",
    ), start=1)
    for beginning in beginnings.split()
}  # fmt: skip
# In minutes; RFC 5322 names the American ones. Names of several zones, such as IST, are left out.
_ZONES = {
    "ut": 0, "utc": 0, "gmt": 0, "z": 0, "wet": 0, "west": 60, "bst": 60, "cet": 60, "met": 60, "mez": 60, "cest": 120,
    "mest": 120, "mesz": 120, "eet": 120, "eest": 180, "msk": 180, "sast": 120, "pkt": 300, "wib": 420, "hkt": 480,
    "sgt": 480, "awst": 480, "jst": 540, "kst": 540, "acst": 570, "acdt": 630, "aest": 600, "aedt": 660, "nzst": 720,
    "nzdt": 780, "nst": -210, "ndt": -150, "ast": -240, "adt": -180, "est": -300, "edt": -240, "cst": -360, "cdt": -300,
    "mst": -420, "mdt": -360, "pst": -480, "pdt": -420, "akst": -540, "akdt": -480, "hst": -600, "brt": -180,
    "art": -180,
}  # fmt: skip


class SentDate(NamedTuple):
    """at: Unix seconds, 0 if the field cannot be parsed. problem: the reason, or the uncertain part, in a few words, ""
    for none."""

    at: int
    problem: str


def read_date(value: str) -> SentDate:
    """The moment of a Date field; without a zone, or with an unknown one, it is read as UTC.

    >>> read_date("Tue, 24 Nov 2026 10:00:00 GMT+0200")
    SentDate(at=1795507200, problem='')
    """
    text = value[:DATE_CHARACTERS].strip()
    if not text:
        return SentDate(0, "")
    text = _COMMENT.sub(" ", text).replace("\u2212", "-")
    for pattern in _TIMES:
        for time in pattern.finditer(text):
            rest = f"{text[: time.start()]} {_not_a_zone(time)} {text[time.end() :]}"
            sent = _moment(rest, time)
            if sent is not None:
                return sent if sent.at >= EARLIEST else SentDate(0, "is older than email")
    return SentDate(0, "cannot be read")


def _moment(rest: str, time: re.Match[str]) -> SentDate | None:
    day = _day(rest, is_american=bool(time["half"]))
    if day is None:
        return None
    hour = int(time["hour"])
    if time["half"]:
        hour = hour % 12 + 12 * (time["half"].lower() == "p")
    offset, problem = _offset(time)
    try:
        zone = timezone(timedelta(seconds=offset))
        moment = datetime(*day, hour, int(time["minute"]), min(int(time["second"] or 0), 59), tzinfo=zone)
        return SentDate(int(moment.astimezone(UTC).timestamp()), problem)
    except (ValueError, OverflowError):  # the 31st of February, 29 o'clock
        return None


def _day(text: str, *, is_american: bool) -> tuple[int, int, int] | None:
    """(year, month, day), which may be an invalid day."""
    for pattern in _DATES:
        for match in pattern.finditer(text):
            groups = match.groupdict()
            month = _month(groups["word"]) if "word" in groups else int(groups["month"])
            if month:
                return _year(groups["year"]), month, int(groups["day"])
    slashed = _SLASHED.search(text)
    if slashed is None:
        return None
    first, second, year = map(int, slashed.groups())
    if first > 12 or first == second:
        return year, second, first
    return (year, first, second) if second > 12 or is_american else None  # otherwise ambiguous


def _month(word: str) -> int:
    plain = "".join(char for char in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(char))
    return next((_MONTHS[plain[:size]] for size in (5, 4, 3) if plain[:size] in _MONTHS), 0)


def _year(digits: str) -> int:
    """The year of two digits, or of three digits that count from 1900 (RFC 5322, section 4.3)."""
    number = int(digits)
    if len(digits) == 4:
        return number
    return number + (2000 if len(digits) == 2 and number < 50 else 1900)


def _offset(time: re.Match[str]) -> tuple[int, str]:
    """(seconds east of Greenwich, the uncertainty about them)."""
    name = time["name"] or ""
    if time["sign"]:
        digits = time["hours"] + (time["minutes"] or "")
        hours, minutes = (int(digits[:-2]), int(digits[-2:])) if len(digits) > 2 else (int(digits), 0)
        seconds = (hours * _HOUR + minutes * _MINUTE) * (-1 if time["sign"] == "-" else 1)
        if minutes < 60 and abs(seconds) <= _MAX_OFFSET:
            return seconds, ""
        return 0, "has no such zone; it was read as UTC"
    if not name or _not_a_zone(time):
        return 0, ""
    if name.lower() in _ZONES:
        return _ZONES[name.lower()] * _MINUTE, ""
    return 0, f"has the unknown zone {name}; it was read as UTC"


def _not_a_zone(time: re.Match[str]) -> str:
    """Whether the word after the time is a month: the time may precede the date."""
    name = time["name"] or ""
    return name if name.lower() not in _ZONES and _month(name) else ""
