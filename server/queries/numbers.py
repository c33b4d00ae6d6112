"""Numbers in data queries: with a fraction, and below zero, where whole ones of a declared range do not do."""

from server.errors import Invalid
from server.queries.data_query import KeyValues
from server.search.filters.number import decimal

MAX_MAGNITUDE = 10.0**15  # beyond it neighbouring floats are more than a fraction apart


def number_of(values: KeyValues, name: str, default: float) -> float:
    """The number under a key, `default` when it is not given. Raises BadDataQuery for what is none, or too large."""
    if name not in values:
        return default
    try:
        found = decimal(values.text(name).strip())
    except Invalid as error:
        raise values.bad(name, error.message) from error
    if abs(found) > MAX_MAGNITUDE:
        raise values.bad(name, f"'{values.text(name)[:80]}' is too large")
    return found
