"""Fractional and negative numbers in data queries."""

from server.errors import Invalid
from server.queries.data_query import KeyValues
from server.search.filters.number import decimal

MAX_MAGNITUDE = 10.0**15  # above it, floats cannot represent fractions


def number_of(values: KeyValues, name: str, default: float) -> float:
    """Returns the number under a key, `default` if it is absent. Raises BadDataQuery for an invalid or too large
    one."""
    if name not in values:
        return default
    try:
        number = decimal(values.text(name).strip())
    except Invalid as error:
        raise values.bad(name, error.message) from error
    if abs(number) > MAX_MAGNITUDE:
        raise values.bad(name, f"'{values.text(name)[:80]}' is too large")
    return number
