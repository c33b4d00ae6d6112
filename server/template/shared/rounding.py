"""Rounds in decimal: from the digits of the printed number, halves away from zero."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal

MAX_PLACES = 400  # digits after or before the point; a float has no more digits than that
METHODS = {"common": ROUND_HALF_UP, "ceil": ROUND_CEILING, "floor": ROUND_FLOOR}
_WIDE = Context(prec=1000)


def rounded(value: int | float, places: int, method: str = "common") -> Decimal:
    """Returns a finite number with at most `places` digits after the point; negative places round before it.

    >>> rounded(1.005, 2), rounded(-2.5, 0), rounded(1250, -2)
    (Decimal('1.01'), Decimal('-3'), Decimal('1.3E+3'))"""
    places = max(-MAX_PLACES, min(MAX_PLACES, places))
    exact = Decimal(repr(value))
    exponent = exact.as_tuple().exponent
    if isinstance(exponent, int) and -exponent <= places:
        return exact
    return exact.quantize(Decimal(1).scaleb(-places), rounding=METHODS[method], context=_WIDE)


def rounded_number(value: int | float, places: int, method: str = "common") -> int | float:
    """Returns the rounded number as a value of the language: whole if it has no digits after the point."""
    if isinstance(value, float) and not math.isfinite(value):
        return value
    result = rounded(value, places, method)
    if abs(result) < 2**53 or isinstance(value, int):
        whole = int(result)
        if whole == result and abs(whole) < 2**63:
            return whole
    return float(result)


def fixed(value: int | float, places: int) -> str:
    """Formats a number with exactly `places` digits after the point and commas between thousands: '1,234.50'."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    text = f"{rounded(value, places):,.{places}f}"
    return text.lstrip("-") if not text.strip("-0.,") else text
