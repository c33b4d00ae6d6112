"""Lengths of time, in seconds. Months and years have a fixed length here; instants.py counts them from a date."""

from decimal import Decimal

from server.errors import Invalid
from server.times.limits import MAX_SECOND, MAX_TEXT, excerpt
from server.times.vocabulary import AMOUNTS, UNITS, amounts_in

DAY = 86_400
MONTH = 30 * DAY
YEAR = 365 * DAY


def duration(text: str) -> int:
    """Returns the seconds in '1 hour', '90 minutes', '1d12h', '1.5 hours' or '3600'; drops fractions of a second.

    A month has 30 days and a year 365. Raises Invalid if the text is unreadable or negative.

    >>> duration("1d12h")
    129600
    """
    value = " ".join(text.lower().split())
    if len(text) > MAX_TEXT or not value:
        raise _unreadable(text)
    total = Decimal(value) if value.isascii() and value.isdigit() else _sum(value, text)
    if total > MAX_SECOND:
        raise _unreadable(text)
    return int(total)


def _sum(value: str, text: str) -> Decimal:
    total, at = Decimal(0), 0
    while at < len(value):
        if value[at] in " ,":
            at += 1
            continue
        match = AMOUNTS.match(value, at)
        if match is None or match["sign"] == "-":
            raise _unreadable(text)
        total += sum(count * _seconds(unit, text) for count, unit in amounts_in(match["chain"]))
        at = match.end()
    return total


def _seconds(unit: str, text: str) -> int:
    kind, size = UNITS.get(unit, ("weekdays", 1))
    if kind == "weekdays":
        raise _unreadable(text)
    if kind == "months":
        return YEAR if size == 12 else MONTH
    return size * DAY if kind == "days" else size


def _unreadable(text: str) -> Invalid:
    example = "write for example '1 hour', '90 minutes', '1d12h' or seconds"
    return Invalid(f"'{excerpt(text)}' is not a length of time; {example}", value=excerpt(text))
