"""What the data queries on calendars share: which calendars a search names, and what is on them in a range."""

from server.errors import Invalid
from server.queries.data_query import DataQuery, KeyValues
from server.record_types.base import Record
from server.record_types.calendars import events
from server.record_types.calendars.occurrences import Occurrence

MAX_CALENDARS = 100  # of one data query


def calendars_of(asked: DataQuery, key: str) -> list[Record]:
    """The calendars that the search under a key finds among those that the caller may read; all without the key.

    Raises BadDataQuery for more than MAX_CALENDARS, unless the search limits them itself."""
    calendar, values = asked.ctx.service.registry.type("calendar"), asked.values
    inner = KeyValues({"query": values.given[key]} if key in values else {}, asked, position=values.at(key))
    searched = inner.searched(calendar)
    limit = searched.limit or MAX_CALENDARS + 1
    rows = searched.search.rows(min(limit, MAX_CALENDARS + 1))
    if len(rows) > MAX_CALENDARS:
        raise values.bad(key, f"finds more than {MAX_CALENDARS} calendars; narrow it down or give it a limit:")
    return [calendar.record(row) for row in rows]


def on_them(asked: DataQuery, key: str, calendars: list[Record], start: int, end: int) -> dict[int, list[Occurrence]]:
    """{calendar id: what is on it from `start` until before `end`}. Raises BadDataQuery under `key` for a range that
    cannot be looked at."""
    try:
        return events.occurrences(asked.tx, calendars, start, end, asked.scope.tz)
    except Invalid as error:
        raise asked.values.bad(key, error.message) from error
