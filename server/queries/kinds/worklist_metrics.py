"""`worklist.metrics`: single numbers, each from a separate search."""

from typing import Any

from server.counting.counting import count
from server.counting.dimensions.dimension import Dimension
from server.counting.dimensions.dimension_names import Fields
from server.counting.measures import Function, Tally
from server.dataclass import dataclass
from server.queries.data_query import DataQuery, KeyValues, QuerySearch
from server.queries.labels import labels
from server.queries.measuring import COUNT, functions_of, measured_of, metric_of
from server.queries.query_type import OF, QUERY, QUERY_REQUIRED, QueryKey, QueryResult, QueryType

VALUES = QueryKey(
    "values.<id>",
    "group",
    "One number, or one for each of its functions.",
    required=True,
    keys=(
        OF,
        QUERY,
        QUERY_REQUIRED,
        QueryKey("field", "text", "The field to measure; counting needs none."),
        QueryKey("function", "text", "count, distinct, avg, sum, min or max.", default="count"),
        QueryKey("functions", "list", "Several functions, each with its own number."),
        QueryKey("label", "text", "Its label; the id when omitted."),
        QueryKey("metric", "text", 'A formula with x for the number, such as "(x/60)|round".'),
    ),
)


@dataclass(frozen=True)
class MetricValue:
    """One number. kind: the column type in a table, "search" for a number of records. query: the search for them."""

    id: str
    name: str
    value: float | None
    kind: str
    context: str
    query: str


class WorklistMetrics(QueryType):
    """With several functions the ids are `<id>_<function>`. Average, minimum and maximum of no values are null."""

    name = "worklist.metrics"
    description = "Single numbers, each from its own search."
    keys = (VALUES,)
    formats = ("table", "pie")

    def run(self, query: DataQuery) -> QueryResult:
        groups = list(query.values.groups("values.<id>"))
        labelled = zip(labels(groups), groups, strict=True)
        metrics = [metric for label, values in labelled for metric in _metrics(query, values, label)]
        return _pie(metrics) if query.format == "pie" else _table(metrics)


def _metrics(query: DataQuery, values: KeyValues, label: str) -> list[MetricValue]:
    record_type = values.record_type()
    searched = values.searched(record_type)
    functions, metric = functions_of(values), metric_of(values, "metric")
    measured = measured_of(values, "field", Fields(searched.search, query.dictionaries()), functions)
    search_text = f"{searched.source} set.timezone:{searched.tz}" if searched.source else ""
    numbers = _numbers(searched, measured, functions)
    several = "functions" in values
    return [
        MetricValue(
            f"{values.id}_{function}" if several else values.id,
            f"{function.label} {label}" if several else label,
            metric(number),
            _kind(function, measured, "metric" in values),
            record_type.context,
            search_text,
        )
        for function, number in zip(functions, numbers, strict=True)
    ]


def _numbers(searched: QuerySearch, measured: Dimension | None, functions: list[Function]) -> list[float | None]:
    """Returns the number of each function. Functions that need sums share a statement."""
    added_up = next((each for each in functions if each.needs_numbers), None)
    tallies = {}
    for function in functions:
        leader = added_up if added_up is not None and function.needs_numbers else function
        if leader.name not in tallies:
            cells = count(searched.search, (), None if leader is COUNT else measured, leader)
            tallies[leader.name] = next((tally for _, tally in cells.rows()), Tally())
        tallies[function.name] = tallies[leader.name]
    return [tallies[function.name].value(function) for function in functions]


def _kind(function: Function, measured: Dimension | None, is_changed: bool) -> str:
    if function is COUNT:
        return "search"
    return "number" if measured is None or is_changed or function.name == "distinct" else measured.measured_type


def _table(metrics: list[MetricValue]) -> QueryResult:
    rows: list[dict[str, Any]] = []
    for each in metrics:
        options: Any = {"context": each.context, "query": each.query or None} if each.kind == "search" else []
        kind = {"value": {"type": each.kind, "options": options}}
        rows.append({"_types": kind, "id": each.id, "name": each.name, "value": each.value})
    return QueryResult({"columns": {"name": {"label": "Metric"}, "value": {"label": "Value"}}, "rows": rows})


def _pie(metrics: list[MetricValue]) -> QueryResult:
    series = {each.name: {"key": each.value, "context": each.context, "query": each.query} for each in metrics}
    return QueryResult([[each.name, each.value] for each in metrics], {"series": series})
