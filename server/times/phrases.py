"""Adds the meaning of each kind of phrase to TimeParts. grammar.py has the patterns of the phrases.

Each function receives the parts and the match of its pattern; it raises ValueError if the phrase contradicts itself or
an earlier one."""

import re
from datetime import date, timedelta
from decimal import Decimal

from server.times import zones
from server.times.time_parts import DAY_SECONDS, TimeParts
from server.times.vocabulary import CLOCK_HOURS, DAY_WORDS, MONTHS, ORDINALS, STEPS, UNITS, WEEKDAYS, amounts_in

Match = re.Match[str]

# Dates


def _set_date(reading: TimeParts, year: int | None, month: int, day: int | None) -> None:
    if reading.month is not None:
        raise ValueError("two dates")
    reading.year, reading.month, reading.day, reading.starts_day = year, month, day, True


def _full_year(digits: str) -> int:
    year = int(digits)
    if len(digits) > 2:
        return year
    return year + (1900 if year >= 70 else 2000)


def numeric_date(reading: TimeParts, match: Match) -> None:
    parts = match.groupdict()
    year = _full_year(parts["year"]) if parts["year"] else None
    _set_date(reading, year, int(parts["month"]), int(parts.get("day") or 1))


def named_date(reading: TimeParts, match: Match) -> None:
    parts = match.groupdict()
    year, day = parts.get("year"), parts.get("day")
    # 'January 2027' is its first day, 'January' alone the current day in January.
    day_number = int(day) if day else 1 if year else None
    _set_date(reading, _full_year(year) if year else None, MONTHS[parts["month"]], day_number)


def week_date(reading: TimeParts, match: Match) -> None:
    day = date.fromisocalendar(int(match["year"]), int(match["week"]), int(match["day"] or 1))
    _set_date(reading, day.year, day.month, day.day)


def day_of_year(reading: TimeParts, match: Match) -> None:
    year, count = int(match["year"]), int(match["day"])
    day = date(year, 1, 1) + timedelta(days=count - 1)
    if day.year != year:
        raise ValueError(count)
    _set_date(reading, day.year, day.month, day.day)


def four_digits(reading: TimeParts, match: Match) -> None:
    """Sets the missing year of a date ('Nov 20 15:04:05 2026'), else a clock time ('tomorrow 1530')."""
    if reading.month is not None and reading.year is None:
        reading.year = int(match[0])
    else:
        _set_clock(reading, int(match[0][:2]), int(match[0][2:]))


# Clock times


def _set_clock(reading: TimeParts, hour: int, minute: int = 0, second: int = 0) -> None:
    if reading.clock is not None or minute > 59 or second > 60:
        raise ValueError("not a clock time, or the second one")
    clock = hour * 3600 + minute * 60 + second
    if clock > DAY_SECONDS:
        raise ValueError("after 24:00")
    reading.clock, reading.is_timed = clock, True


def _hour(match: Match) -> int:
    hour, half = int(match["hour"]), match["half"]
    if not half:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError(hour)
    return hour % 12 + (12 if half == "p" else 0)


def clock_12(reading: TimeParts, match: Match) -> None:
    _set_clock(reading, _hour(match), int(match["minute"] or 0), int(match["second"] or 0))


def clock_24(reading: TimeParts, match: Match) -> None:
    _set_clock(reading, int(match["hour"]), int(match["minute"] or 0), int(match["second"] or 0))


def around_hour(reading: TimeParts, match: Match) -> None:
    """'back of 7pm' is a quarter past seven, 'front of 5am' a quarter to five."""
    minutes = _hour(match) * 60 + (15 if match["side"] == "back" else -15)
    _set_clock(reading, minutes // 60, minutes % 60)


# Amounts and steps


def amounts(reading: TimeParts, match: Match) -> None:
    """Adds '+2 hours'. In '-1d12h' the sign applies to the whole chain, in '-1 day 12 hours' only to the first
    amount."""
    for count, unit in amounts_in(match["chain"]):
        _add_amount(reading, -count if match["sign"] == "-" else count, unit)


def _add_amount(reading: TimeParts, count: Decimal, unit: str) -> None:
    if unit in WEEKDAYS:
        _set_weekday(reading, WEEKDAYS[unit])
        reading.weekday_count, reading.has_amount = _whole(count), True
        return
    kind, size = UNITS[unit]
    count *= size
    if kind == "days" and count % 1:
        # Days are counted on the wall clock, fractions of a day in real time. The remainder has the sign of the count.
        reading.add("seconds", int(count % 1 * DAY_SECONDS))
    reading.add(kind, int(count) if kind in ("seconds", "days") else _whole(count))


def _whole(count: Decimal) -> int:
    if count % 1:
        raise ValueError("part of a month")
    return int(count)


def step(reading: TimeParts, match: Match) -> None:
    """'next month', 'last friday', 'this week', 'eighth day'."""
    word, unit = match["step"], match["unit"]
    if unit in WEEKDAYS:
        _set_weekday(reading, WEEKDAYS[unit])
        reading.starts_day = True
        reading.weekday_step = STEPS.get(word, 0)
        reading.weekday_count = ORDINALS.get(word, 0)
        return
    kind, size = UNITS[unit]
    reading.add(kind, STEPS.get(word, ORDINALS.get(word, 0)) * size)
    reading.in_week = reading.in_week or (unit == "week" and word in STEPS)


def weekday(reading: TimeParts, match: Match) -> None:
    _set_weekday(reading, WEEKDAYS[match["weekday"]])
    reading.starts_day = True


def _set_weekday(reading: TimeParts, number: int) -> None:
    if reading.weekday is not None:
        raise ValueError("two weekdays")
    reading.weekday = number


def edge_of_month(reading: TimeParts, match: Match) -> None:
    if reading.edge or reading.nth:
        raise ValueError("two days of a month")
    reading.edge = 1 if match["edge"] == "first" else -1


def weekday_of_month(reading: TimeParts, match: Match) -> None:
    if reading.edge:
        raise ValueError("two days of a month")
    weekday(reading, match)
    reading.nth = ORDINALS.get(match["nth"], -1)


def ago(reading: TimeParts, match: Match) -> None:
    if not reading.has_amount:
        raise ValueError("nothing is ago")
    reading.negate()


def from_now(reading: TimeParts, match: Match) -> None:
    if not reading.has_amount:
        raise ValueError("nothing is from now")


def filler(reading: TimeParts, match: Match) -> None:
    """Accepts 'at' and 'in', which have no meaning of their own."""


# Words


def word(reading: TimeParts, match: Match) -> None:
    text = match[0]
    if text == "now":
        reading.is_timed = True
    elif text in CLOCK_HOURS:
        _set_clock(reading, CLOCK_HOURS[text])
    else:
        reading.days += DAY_WORDS[text]
        reading.starts_day = True


# Zones


def set_zone(reading: TimeParts, match: Match) -> None:
    name = match["name"]
    if reading.zone is not None:
        raise ValueError("two zones")
    reading.zone = zones.zone(name) if "/" in name else zones.abbreviated(name)
    if reading.zone is None:
        raise ValueError(name)


def zone_and_offset(reading: TimeParts, match: Match) -> None:
    if reading.zone is not None:
        raise ValueError("two zones")
    reading.zone = zones.offset(match["sign"], match["hours"], match["minutes"])


def offset(reading: TimeParts, match: Match) -> None:
    # '-1' or '+5' may begin many phrases; only after a clock time it must be an offset.
    if reading.clock is None and (match["minutes"] is None or not reading.starts_day):
        raise ValueError("an offset of nothing")
    zone_and_offset(reading, match)


def comment(reading: TimeParts, match: Match) -> None:
    """Reads the '(CET)' that mail programs append to the offset; it is the zone only if there is no offset."""
    if reading.zone is None:
        set_zone(reading, match)
