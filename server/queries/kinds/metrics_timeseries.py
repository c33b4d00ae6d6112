"""`metrics.timeseries`: metrics over time, one line per series."""

from typing import Any

from server.counting.measures import plain
from server.queries.data_query import DataQuery, KeyValues
from server.queries.labels import labels
from server.queries.metrics.choosing import chooser, find_dimension
from server.queries.metrics.splitting import BY_KEYS, largest, names
from server.queries.metrics.tick_samples import Cell, cells
from server.queries.metrics.ticks import PERIODS, Ticks, ticks
from server.queries.query_type import QueryKey, QueryResult, QueryType
from server.record_types.metric import GAUGE
from server.record_types.metrics import dimensions

RANGE = "-6 hours"
FUNCTIONS = ("count", "samples", "sum", "avg", "average", "min", "max", "distinct")
MISSING = ("null", "zero", "carry")


class MetricsTimeseries(QueryType):
    """{ts: [labels of ticks], name of a series: [numbers]}. Omits a series of an unknown metric."""

    name = "metrics.timeseries"
    description = "Metrics over time."
    keys = (
        QueryKey(
            "period", "text", "Length of a tick; minute means five minutes.", default="day", choices=tuple(PERIODS)
        ),
        QueryKey("range", "text", "The date range; extended to whole ticks.", default=RANGE),
        QueryKey(
            "series.<id>",
            "group",
            "One metric.",
            required=True,
            keys=(
                QueryKey("metric", "text", "The name of the metric.", required=True),
                QueryKey("label", "text", "Label of the series; its id when omitted."),
                QueryKey(
                    "function", "text", "The function of the samples of a tick.", default="count", choices=FUNCTIONS
                ),
                QueryKey("by", "list", "Dimensions; one series for each of their values."),
                QueryKey("by.<id>", "group", "How to label the values of a dimension.", keys=BY_KEYS),
                QueryKey(
                    "missing",
                    "text",
                    "Value for ticks without samples; carry for gauges, otherwise null.",
                    choices=MISSING,
                ),
                QueryKey("query", "query", "Values of dimensions; only samples with them count."),
            ),
        ),
    )
    formats = ("timeseries",)

    def run(self, query: DataQuery) -> QueryResult:
        axis, series = ticks(query, RANGE), list(query.values.groups("series.<id>"))
        data: dict[str, list[Any]] = {"ts": [each.label for each in axis.bins]}
        groups = []
        for label, each in zip(labels(series, "ts"), series, strict=True):
            lines = _lines(query, each, label, axis)
            if lines is None:
                continue
            for name in lines.keys() & data.keys():
                raise each.bad("label", f"'{name[:80]}' is the name of another series; give each its own label")
            data |= lines
            groups.append(list(lines))
        unit = axis.calendar.unit
        params = {"xaxis_key": "ts", "xaxis_step": unit.step, "xaxis_format": unit.axis}
        return QueryResult(data, {"groups": groups, "format_params": params})


def _lines(query: DataQuery, series: KeyValues, label: str, axis: Ticks) -> dict[str, list[Any]] | None:
    """Returns {name: numbers} of one series, split by the values of `by:`; None for an unknown metric."""
    metric = query.ctx.service.registry.type("metric")
    row = query.tx.first(metric.table, name=series.text("metric"))
    if row is None:
        return None
    record = metric.record(row)
    declared = dimensions.parse(record["dimensions_kata"])
    for text in series.texts("by"):
        find_dimension(text.value, text.position, declared, "by")
    by, function = series.words("by"), series.text("function", "count")
    chooses = chooser(query, series.by_name["query"], declared) if "query" in series else None
    missing = series.text("missing", "carry" if record["type"] == GAUGE else "null")
    by_split = largest(
        cells(query, record["id"], axis, declared, by, chooses, function == "distinct", query.values.at("range"))
    )
    return {
        name: _filled([_value(by_split[split].get(place), function) for place in range(len(axis.bins))], missing)
        for split, name in names(query, series, label, declared, by_split).items()
    }


def _value(cell: Cell | None, function: str) -> float | None:
    if cell is None or not cell.count:
        return None
    if function in ("count", "samples"):
        return cell.count
    if function == "distinct":
        return len(cell.seen)
    if function in ("avg", "average"):
        return plain(cell.sum / cell.count)
    return plain({"sum": cell.sum, "min": cell.min, "max": cell.max}[function])


def _filled(values: list[float | None], missing: str) -> list[float | None]:
    """Fills gaps in the values; `carry` leaves gaps before the first value."""
    last: float | None = 0 if missing == "zero" else None
    filled: list[float | None] = []
    for value in values:
        if value is not None and missing == "carry":
            last = value
        filled.append(last if value is None else value)
    return filled
