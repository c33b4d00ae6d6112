"""`calendar.events`: events of calendars between two dates, by day."""

from server.errors import Invalid
from server.queries.calendars import calendars_of, on_them
from server.queries.data_query import DataQuery
from server.queries.expanding import expanded
from server.queries.query_dates import edges
from server.queries.query_type import EXPAND, QueryKey, QueryResult, QueryType
from server.record_types.calendars.agenda import by_day


class CalendarEvents(QueryType):
    """{events: {midnight: [event]}}; an event that spans midnight is on each of its days, cut at midnight."""

    name = "calendar.events"
    description = "The events of calendars between two dates, by day."
    keys = (
        QueryKey("calendar", "query", "A search for up to 100 calendars; all when omitted."),
        QueryKey("from", "text", "The first day or instant.", default="today"),
        QueryKey("to", "text", "The last day or instant; a month after `from:` when absent."),
        EXPAND,
    )
    formats = ("dictionaries",)

    def run(self, query: DataQuery) -> QueryResult:
        start = edges(query, "from", "today").start
        end = edges(query, "to", "+1 month", start).end
        if end <= start:
            raise query.values.bad("to", "is not later than from:")
        calendars = calendars_of(query, "calendar")
        by_calendar = on_them(query, "to", calendars, start, end)
        occurrences = sorted(
            (one for each in by_calendar.values() for one in each), key=lambda one: (one.start, one.label)
        )
        params = {each["id"]: each["params"] for each in calendars}
        try:
            days = by_day(occurrences, start, end, query.scope.tz, params)
        except Invalid as error:
            raise query.values.bad("to", error.message) from error
        day_events = [one for day in days.values() for one in day]
        expanded(query.dictionaries(), day_events, query.values.words("expand"))
        return QueryResult({"events": days})
