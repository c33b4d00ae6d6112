"""`sample.xy`: made-up points for trying out scatter charts. Source: Data queries, Others."""

from server.queries.asked import Asked
from server.queries.declared import Answer, Key, QueryType
from server.queries.labels import labels
from server.queries.samples import DEFAULT_SAMPLES, LABEL, MAX_SAMPLES, TREND, bounds, spread

SERIES = Key(
    "series.<id>", "group", "One set of points.", required=True,
    keys=(
        LABEL,
        Key("samples", "number", "How many points.", default=str(DEFAULT_SAMPLES), low=1, high=MAX_SAMPLES),
        TREND,
        Key("x.min", "text", "The smallest x.", default="0"),
        Key("x.max", "text", "The largest x.", default="100"),
        Key("y.min", "text", "The smallest y.", default="0"),
        Key("y.max", "text", "The largest y.", default="100"),
    ),
)  # fmt: skip


class SampleXy(QueryType):
    """Two rows for each series: its label with `_x` and every x, its label and every y."""

    name = "sample.xy"
    description = "Made-up points."
    keys = (SERIES,)
    formats = ("scatterplot",)

    def run(self, asked: Asked) -> Answer:
        rows = []
        series = list(asked.values.groups("series.<id>"))
        for label, each in zip(labels(series), series, strict=True):
            trend = each.text("trend", "random")
            count = each.number("samples", DEFAULT_SAMPLES)
            across = "random" if trend == "random" else "up"
            rows.append([f"{label}_x", *spread(count, *bounds(each, "x"), across, f"{each.id} x")])
            rows.append([label, *spread(count, *bounds(each, "y"), trend, f"{each.id} y")])
        return Answer(rows)
