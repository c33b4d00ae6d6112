"""Reads dates and date ranges from keys of data queries, in the zone of the query."""

from server import times
from server.errors import Invalid
from server.queries.data_query import DataQuery


def edges(query: DataQuery, key: str, default: str, now: int | None = None) -> times.Span:
    """Returns the first and last second of a date text. now: the base of amounts such as `+1 month`.

    Raises BadDataQuery for an invalid date."""
    text = query.values.text(key, default)
    try:
        return times.bounds(text, query.ctx.now if now is None else now, query.scope.tz)
    except Invalid as error:
        raise query.values.bad(key, error.message) from error


def span(query: DataQuery, key: str, default: str) -> times.Span:
    """Returns the range of seconds that a text selects, as in searches. Raises BadDataQuery for an invalid or empty
    one."""
    try:
        selected = times.span(query.values.text(key, default), query.ctx.now, query.scope.tz)
    except Invalid as error:
        raise query.values.bad(key, error.message) from error
    if selected.end <= selected.start:
        raise query.values.bad(key, "the range ends before it begins; write for example 'this month' or '-6 hours'")
    return selected
