"""The filters `isAvailable` and `isBusy` of workers, by their calendars of availability."""

from typing import TYPE_CHECKING, Any

import peewee

from server import times
from server.record_types.calendars.availability import covers, free
from server.record_types.calendars.calendar_rows import occurrences
from server.record_types.calendars.occurrences import too_many
from server.record_types.calendars.parts_of_range import parts_of
from server.record_types.parts import Record
from server.search.ast import Items, Subquery, Term
from server.search.conditions import ALWAYS, NEVER, Condition, any_of, one_of, slots_from
from server.search.filters import DateFilter
from server.store.tables import table_named

if TYPE_CHECKING:
    from server.search.compile import SearchScope

MAX_CALENDARS = 500  # calendars of workers read in one search


class AvailabilityFilter(DateFilter):
    """Accepts an instant (`now`, `tomorrow 3pm`), a range (`today 9am to 5pm`), or parameters (`(since:monday
    until:friday times:9a-5p)`).

    A worker is available if the calendar is available for the whole time, and busy otherwise. Workers without a
    calendar, or with one that the caller may not read, match neither filter."""

    def __init__(self, name: str, note: str, is_available: bool) -> None:
        super().__init__(name, note, sortable=False)
        self.is_available = is_available

    def meaning(self, term: Term, scope: "SearchScope") -> Condition:
        if isinstance(term.value, Subquery):
            return self._during(parts_of(term.value, scope), scope)
        texts = self.items(term.value, term) if isinstance(term.value, Items) else (term.value,)
        return any_of([self._during(_one_range(text.value, scope), scope) for text in texts])

    def _during(self, ranges: list[tuple[int, int]], scope: "SearchScope") -> Condition:
        """Workers who are available in all of these ranges, or who are not. Matches none if there are no ranges."""
        if not ranges:
            return NEVER
        key = ("availability", tuple(ranges))
        if key not in scope.memo:
            calendars = _calendars(scope)
            by_calendar = occurrences(scope.tx, calendars, ranges[0][0], max(ranges[-1][1], ranges[0][0] + 1), scope.tz)
            scope.memo[key] = {
                id: all(covers(pieces, start, end) for start, end in ranges)
                for id, pieces in ((id, free(each)) for id, each in by_calendar.items())
            }
        matching_ids = sorted(id for id, says in scope.memo[key].items() if says is self.is_available)
        return one_of(peewee.Column(self.table.sql, "calendar_id"), matching_ids)


def _one_range(text: str, scope: "SearchScope") -> list[tuple[int, int]]:
    span = times.span(text, scope.now, scope.tz)
    return [(span.start, max(span.end, span.start))] if span.end else []


def _calendars(scope: "SearchScope") -> list[Record]:
    """The calendars of workers that the caller may read."""
    calendar = scope.registry.type("calendar")
    condition = scope.readable(calendar)
    if condition is NEVER:
        return []
    table, worker = calendar.table, table_named("worker").alias("whose")

    def build() -> Any:
        used = worker.select(worker.c.calendar_id).where(worker.c.calendar_id != 0)
        query = table.sql.select(*table.all_columns).where(table.sql.id.in_(used)).limit(MAX_CALENDARS + 1)
        return query if condition is ALWAYS else query.where(condition.build(slots_from(0)))

    rows = scope.tx.rows(build, condition.values)
    if len(rows) > MAX_CALENDARS:
        raise too_many(MAX_CALENDARS, "calendars of workers")
    return [calendar.record(row) for row in rows]
