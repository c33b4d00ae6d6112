"""`calendar.availability`: available minutes per hour."""

from datetime import datetime

from server.queries.calendars import calendars_of, on_them
from server.queries.data_query import DataQuery
from server.queries.query_dates import span
from server.queries.query_type import QueryKey, QueryResult, QueryType
from server.record_types.calendars.availability import free, hours, minutes


class CalendarAvailability(QueryType):
    """[{date, value}], one row per hour of the range; sums the minutes of several calendars."""

    name = "calendar.availability"
    description = "Available minutes of calendars in each hour."
    keys = (
        QueryKey("calendars", "query", "A search for up to 100 calendars; all when omitted."),
        QueryKey("range", "text", "The date range.", default="this month"),
    )
    formats = ("dictionaries", "timeblocks")

    def run(self, query: DataQuery) -> QueryResult:
        within = span(query, "range", "this month")
        start, end, tz = within.start, within.end + 1, query.scope.tz
        occurrences = on_them(query, "range", calendars_of(query, "calendars"), start, end)
        pieces = [free(each) for each in occurrences.values()]
        rows = [
            {
                "date": datetime.fromtimestamp(first, tz).strftime("%Y-%m-%dT%H:%M:%S"),
                "value": sum(minutes(each, first, last) for each in pieces if each),
            }
            for first, last in hours(start, end, tz)
        ]
        return QueryResult(rows)
