"""Shared code of the data queries on calendars: the selected calendars and their events in a range."""

from server.errors import Invalid
from server.queries.data_query import DataQuery, KeyValues
from server.record_types.calendars import calendar_rows
from server.record_types.calendars.occurrences import Occurrence
from server.record_types.record_type import Record

MAX_CALENDARS = 100  # calendars in one data query


def calendars_of(query: DataQuery, key: str) -> list[Record]:
    """Returns the calendars that the search under a key matches among the readable ones; all of them without the key.

    Raises BadDataQuery for more than MAX_CALENDARS, unless the search has a limit."""
    calendar, values = query.ctx.service.registry.type("calendar"), query.values
    inner = KeyValues({"query": values.by_name[key]} if key in values else {}, query, position=values.at(key))
    searched = inner.searched(calendar)
    limit = searched.limit or MAX_CALENDARS + 1
    rows = searched.search.rows(min(limit, MAX_CALENDARS + 1))
    if len(rows) > MAX_CALENDARS:
        raise values.bad(key, f"finds more than {MAX_CALENDARS} calendars; narrow it down or give it a limit:")
    return [calendar.record(row) for row in rows]


def on_them(query: DataQuery, key: str, calendars: list[Record], start: int, end: int) -> dict[int, list[Occurrence]]:
    """Returns {calendar id: events from start until before end}. Raises BadDataQuery under `key` for an invalid
    range."""
    try:
        return calendar_rows.occurrences(query.tx, calendars, start, end, query.scope.tz)
    except Invalid as error:
        raise query.values.bad(key, error.message) from error
