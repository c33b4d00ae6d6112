"""The vocabulary of time texts, in lower case, and its patterns. grammar.py has the grammar."""

import re
from collections.abc import Iterable
from decimal import Decimal

from server.late_pattern import late_pattern

MONTH_NAMES = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
WEEKDAY_NAMES = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

# 1 to 12
MONTHS = {short: at for at, name in enumerate(MONTH_NAMES, 1) for short in (name, name[:3])} | {"sept": 9}

# 0 is Monday, as in datetime.date.weekday()
WEEKDAYS = {short: at for at, name in enumerate(WEEKDAY_NAMES) for short in (name, name[:3])}
WEEKDAYS |= {"tues": 1, "thur": 3, "thurs": 3}

NUMBERS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
}
ORDINALS = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "seventh": 7,
    "eighth": 8,
    "ninth": 9,
    "tenth": 10,
    "eleventh": 11,
    "twelfth": 12,
}
STEPS = {"this": 0, "next": 1, "last": -1, "previous": -1}

CLOCK_HOURS = {"noon": 12, "midnight": 0}
DAY_WORDS = {"today": 0, "tomorrow": 1, "yesterday": -1}

# {unit: (what it counts, how many of them)}
UNITS: dict[str, tuple[str, int]] = {
    **dict.fromkeys(["second", "seconds", "sec", "secs", "s"], ("seconds", 1)),
    **dict.fromkeys(["minute", "minutes", "min", "mins", "m"], ("seconds", 60)),
    **dict.fromkeys(["hour", "hours", "hr", "hrs", "h"], ("seconds", 3600)),
    **dict.fromkeys(["day", "days", "d"], ("days", 1)),
    **dict.fromkeys(["week", "weeks", "w"], ("days", 7)),
    **dict.fromkeys(["fortnight", "fortnights"], ("days", 14)),
    **dict.fromkeys(["month", "months", "mo"], ("months", 1)),
    **dict.fromkeys(["year", "years", "y"], ("months", 12)),
    **dict.fromkeys(["weekday", "weekdays"], ("weekdays", 1)),
}

# Hours east of UTC. Only abbreviations with one common meaning.
ZONE_HOURS: dict[str, float] = {
    "z": 0,
    "utc": 0,
    "ut": 0,
    "gmt": 0,
    "wet": 0,
    "west": 1,
    "bst": 1,
    "cet": 1,
    "cest": 2,
    "eet": 2,
    "eest": 3,
    "msk": 3,
    "jst": 9,
    "awst": 8,
    "acst": 9.5,
    "acdt": 10.5,
    "aest": 10,
    "aedt": 11,
    "nzst": 12,
    "nzdt": 13,
    "nst": -3.5,
    "ndt": -2.5,
    "ast": -4,
    "adt": -3,
    "est": -5,
    "edt": -4,
    "cst": -6,
    "cdt": -5,
    "mst": -7,
    "mdt": -6,
    "pst": -8,
    "pdt": -7,
    "akst": -9,
    "akdt": -8,
    "hst": -10,
}


def one_of(words: Iterable[str]) -> str:
    """Returns a pattern for any of the words, the longest first, not followed by a letter."""
    return "(?:" + "|".join(sorted(words, key=len, reverse=True)) + ")(?![a-z])"


MONTH = one_of(MONTHS)
WEEKDAY = one_of(WEEKDAYS)

# Nine digits exceed the year 9999 in every unit except seconds.
_DIGITS = r"\d{1,9}(?:\.\d{1,6})?"
_NUMBER = rf"(?:{_DIGITS}|{one_of(NUMBERS)}(?= ))"
_UNIT = one_of([*UNITS, *WEEKDAYS])

# '2 hours', 'a week', '1.5h', '1 sat', and a chain of them with one sign: '+ 1 day', '-1d12h'.
AMOUNT = late_pattern(rf"({_NUMBER}) ?({_UNIT})", re.ASCII)
AMOUNTS = late_pattern(rf"(?P<sign>[+-]?) ?(?P<chain>{_NUMBER} ?{_UNIT}(?:{_DIGITS} ?{_UNIT})*)", re.ASCII)


def amounts_in(chain: str) -> list[tuple[Decimal, str]]:
    """Returns the numbers and units of a chain that matched AMOUNTS."""
    return [(Decimal(NUMBERS.get(number, number)), unit) for number, unit in AMOUNT.findall(chain)]
