"""`sample.timeseries`: made-up numbers over time, to try out charts."""

from datetime import datetime, timedelta

from server.counting.bins import UNIT_BY_NAME, Unit, Wall
from server.queries.data_query import DataQuery
from server.queries.labels import labels
from server.queries.query_type import QueryKey, QueryResult, QueryType
from server.queries.sample_numbers import DEFAULT_SAMPLES, LABEL, MAX_SAMPLES, TREND, bounds, spread

DAY = timedelta(days=1)
UNITS = {"days": "day", "weeks": "week", "months": "month", "years": "year"}
SERIES = QueryKey(
    "series.<id>",
    "group",
    "One line.",
    required=True,
    keys=(
        LABEL,
        TREND,
        QueryKey("y.min", "text", "The smallest number.", default="0"),
        QueryKey("y.max", "text", "The largest number.", default="100"),
    ),
)


class SampleTimeseries(QueryType):
    """{ts: [labels], <label>: [numbers]}; the last of `x.count:` bins contains the current time."""

    name = "sample.timeseries"
    description = "Made-up numbers over time."
    keys = (
        QueryKey("x.count", "number", "Number of bins.", default=str(DEFAULT_SAMPLES), low=1, high=MAX_SAMPLES),
        QueryKey("x.unit", "text", "Length of a bin.", default="days", choices=tuple(UNITS)),
        SERIES,
    )
    formats = ("timeseries",)

    def run(self, query: DataQuery) -> QueryResult:
        values = query.values
        count = values.number("x.count", DEFAULT_SAMPLES)
        unit = UNIT_BY_NAME[UNITS[values.text("x.unit", "days")]]
        now = datetime.fromtimestamp(query.ctx.now, query.scope.tz).replace(tzinfo=None)
        data: dict[str, list[float] | list[str]] = {"ts": [unit.label(each) for each in _last(unit, now, count)]}
        series = list(values.groups("series.<id>"))
        for label, each in zip(labels(series, "ts"), series, strict=True):
            data[label] = spread(count, *bounds(each, "y"), each.text("trend", "random"), each.id)
        params = {"xaxis_key": "ts", "xaxis_step": unit.step, "xaxis_format": unit.axis}
        return QueryResult(data, {"format_params": params})


def _last(unit: Unit, now: Wall, count: int) -> list[Wall]:
    """Returns the starts of the last `count` bins, the current one last."""
    starts = [unit.start(now.replace(hour=0, minute=0, second=0, microsecond=0))]
    while len(starts) < count:
        starts.append(unit.start(starts[-1] - DAY))
    return starts[::-1]
