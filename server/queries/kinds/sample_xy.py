"""`sample.xy`: made-up points, to try out scatter charts."""

from server.queries.data_query import DataQuery
from server.queries.labels import labels
from server.queries.query_type import QueryKey, QueryResult, QueryType
from server.queries.sample_numbers import DEFAULT_SAMPLES, LABEL, MAX_SAMPLES, TREND, bounds, spread

SERIES = QueryKey(
    "series.<id>",
    "group",
    "One set of points.",
    required=True,
    keys=(
        LABEL,
        QueryKey("samples", "number", "Number of points.", default=str(DEFAULT_SAMPLES), low=1, high=MAX_SAMPLES),
        TREND,
        QueryKey("x.min", "text", "The smallest x.", default="0"),
        QueryKey("x.max", "text", "The largest x.", default="100"),
        QueryKey("y.min", "text", "The smallest y.", default="0"),
        QueryKey("y.max", "text", "The largest y.", default="100"),
    ),
)


class SampleXy(QueryType):
    """Two rows per series: `<label>_x` and every x, then the label and every y."""

    name = "sample.xy"
    description = "Made-up points."
    keys = (SERIES,)
    formats = ("scatterplot",)

    def run(self, query: DataQuery) -> QueryResult:
        rows = []
        series = list(query.values.groups("series.<id>"))
        for label, each in zip(labels(series), series, strict=True):
            trend = each.text("trend", "random")
            count = each.number("samples", DEFAULT_SAMPLES)
            across = "random" if trend == "random" else "up"
            rows.append([f"{label}_x", *spread(count, *bounds(each, "x"), across, f"{each.id} x")])
            rows.append([label, *spread(count, *bounds(each, "y"), trend, f"{each.id} y")])
        return QueryResult(rows)
