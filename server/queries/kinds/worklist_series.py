"""`worklist.series`: numbers over the values of a field, such as days; one line per search."""

from collections.abc import Callable
from typing import Any

from server.counting.measures import plain
from server.queries.data_query import DataQuery
from server.queries.labels import labels
from server.queries.query_type import OF, QUERY, QUERY_REQUIRED, QueryKey, QueryResult, QueryType
from server.queries.series_lines import DataSeries, axis_params, filled_axis, line, shared_axis

SERIES = QueryKey(
    "series.<id>",
    "group",
    "One line.",
    required=True,
    keys=(
        OF,
        QUERY,
        QUERY_REQUIRED,
        QueryKey("label", "text", "Its label; the id when omitted."),
        QueryKey("x", "text", "The field along the axis, such as created@day.", required=True),
        QueryKey("y", "text", "The field that is measured; counting needs none."),
        QueryKey("function", "text", "count, distinct, avg, sum, min or max.", default="count"),
        QueryKey("y.metric", "text", 'A formula with x for each number, such as "(x/60)|round".'),
    ),
)
AXIS = "ts"


class WorklistSeries(QueryType):
    """Shows all bins of dates; of other fields as many values as the `limit:` of the search, or 10."""

    name = "worklist.series"
    description = "Numbers over the values of a field, a line for each search."
    keys = (SERIES, QueryKey("x.label", "text", "Label of the axis; the name of the field when omitted."))
    formats = ("timeseries", "table", "dictionaries", "pie")

    def run(self, query: DataQuery) -> QueryResult:
        groups = list(query.values.groups("series.<id>"))
        for each in groups:
            if each.id == "x":
                raise each.bad("series.x", "'x' is the axis; give the series another id")
        labelled = zip(labels(groups, AXIS), groups, strict=True)
        lines = [line(query, values, label) for label, values in labelled]
        return SHAPES[query.format](lines, query)


def _timeseries(lines: list[DataSeries], query: DataQuery) -> QueryResult:
    axis = filled_axis(lines, shared_axis(lines))
    data: dict[str, list[Any]] = {AXIS: [label for _, label in axis]}
    for each in lines:
        data[each.label] = [each.numbers.get(key, 0) for key, _ in axis]
    return QueryResult(data, {"format_params": axis_params(lines)})


def _table(lines: list[DataSeries], query: DataQuery) -> QueryResult:
    columns = {"x": {"label": query.values.text("x.label") or lines[0].x.label, "type": "text"}}
    columns |= {each.id: {"label": each.label} | each.column for each in lines}
    return QueryResult({"columns": columns, "rows": _rows(lines)})


def _dictionaries(lines: list[DataSeries], query: DataQuery) -> QueryResult:
    return QueryResult(_rows(lines))


def _rows(lines: list[DataSeries]) -> list[dict[str, Any]]:
    rows = []
    for member in shared_axis(lines):
        numbers = {each.id: each.numbers[member.key] for each in lines if member.key in each.numbers}
        rows.append({"x": member.label} | numbers)
    return rows


def _pie(lines: list[DataSeries], query: DataQuery) -> QueryResult:
    return QueryResult([[each.id, plain(sum(each.numbers.values()))] for each in lines])


SHAPES: dict[str, Callable[[list[DataSeries], DataQuery], QueryResult]] = {
    "timeseries": _timeseries,
    "table": _table,
    "dictionaries": _dictionaries,
    "pie": _pie,
}
