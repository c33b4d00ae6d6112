"""`worklist.xy`: two fields of each record as a point, or one field over bins of dates."""

from collections.abc import Callable
from typing import Any

from server.counting.chart_points import RAW_DATE, DataPoint, points, raw_field
from server.counting.combinations import MAX_ROWS
from server.counting.counting import count
from server.counting.dimensions.date_bins import DateDimension
from server.counting.dimensions.dimension import Dimension, Member
from server.counting.dimensions.dimension_names import Fields
from server.counting.measures import FUNCTIONS
from server.dataclass import dataclass
from server.queries.data_query import DataQuery, KeyValues, QuerySearch
from server.queries.labels import labels
from server.queries.measuring import metric_of
from server.queries.query_type import OF, QUERY, QUERY_REQUIRED, QueryKey, QueryResult, QueryType
from server.queries.subtotals.result import Metric

DEFAULT_LIMIT = 10
AVERAGE = FUNCTIONS["avg"]
SERIES = QueryKey(
    "series.<id>",
    "group",
    "One set of points.",
    required=True,
    keys=(
        OF,
        QUERY,
        QUERY_REQUIRED,
        QueryKey("label", "text", "Its label; the id when omitted."),
        QueryKey(
            "x",
            "text",
            "The field across, such as id; with a unit, such as created@day, one point for each bin.",
            required=True,
        ),
        QueryKey("x.metric", "text", "A formula with x for the numbers across."),
        QueryKey("y", "text", "The field upwards.", required=True),
        QueryKey("y.metric", "text", "A formula with x for the numbers upwards."),
    ),
)


@dataclass(frozen=True)
class Spot:
    """A displayed point: both values with their labels."""

    x: Any
    x_label: str
    y: Any
    y_label: str


@dataclass(frozen=True)
class Spots:
    """The points of one series."""

    label: str
    x: Dimension
    y: Dimension
    spots: list[Spot]


class WorklistXy(QueryType):
    """A record without a value on either axis has no point. Over bins of dates, `y` is the average per bin, and all
    bins are shown unless there is a `limit:`."""

    name = "worklist.xy"
    description = "Two fields of each record as points."
    keys = (SERIES,)
    formats = ("scatterplot", "table", "pie", "categories")

    def run(self, query: DataQuery) -> QueryResult:
        groups = list(query.values.groups("series.<id>"))
        series = [_spots(query, values, label) for label, values in zip(labels(groups), groups, strict=True)]
        return SHAPES[query.format](series)


def _spots(query: DataQuery, values: KeyValues, label: str) -> Spots:
    record_type = values.record_type()
    searched = values.searched(record_type)
    builder = query.dictionaries()
    fields = Fields(searched.search, builder)
    x, y = (raw_field(values.texts(name)[0], fields, name) for name in ("x", "y"))
    metrics = metric_of(values, "x.metric"), metric_of(values, "y.metric")
    for name, dimension in (("x", x), ("y", y)):
        if f"{name}.metric" in values and dimension.scale is None:
            raise values.bad(f"{name}.metric", f"'{dimension.options.name[:80]}' holds no numbers")
    if isinstance(x, DateDimension) and x.options.unit != RAW_DATE:
        if "x.metric" in values:
            raise values.bad("x.metric", "bins of dates are no numbers")
        if y.scale is None:
            raise values.bad("y", f"'{y.options.name[:80]}' holds no numbers, so it has no average in a bin of dates")
        return Spots(label, x, y, _binned(searched, x, y, metrics[1]))
    pairs = points(searched.search, (x, y), searched.limit or DEFAULT_LIMIT)
    names = record_type.labels(builder, [each.record for each in pairs]) if "id" in (x.name, y.name) else {}
    return Spots(label, x, y, [spot for point in pairs if (spot := _spot(point, (x, y), metrics, names)) is not None])


def _spot(
    point: DataPoint, dimensions: tuple[Dimension, Dimension], metrics: tuple[Metric, Metric], names: dict[int, str]
) -> Spot | None:
    ends: list[Any] = []
    for dimension, member, metric in zip(dimensions, point.members, metrics, strict=True):
        value = member.value if dimension.scale is None else metric(member.value)
        if value is None or member.key is None:
            return None
        is_changed = value != member.value
        label = names[point.record["id"]] if dimension.name == "id" else str(value) if is_changed else member.label
        ends += [value, label]
    return Spot(*ends)


def _binned(searched: QuerySearch, x: DateDimension, y: Dimension, metric: Metric) -> list[Spot]:
    """Returns one point per bin, in chronological order."""
    x.default_limit = MAX_ROWS
    dated: list[tuple[Member, float | None]] = [
        (member, metric(tally.value(AVERAGE)))
        for (member,), tally in count(searched.search, (x,), y, AVERAGE).rows()
        if member.key is not None
    ]
    dated.sort(key=lambda each: each[0].order.start)
    spots = [Spot(each.value, each.label, value, str(value)) for each, value in dated if value is not None]
    return spots if searched.limit is None else spots[: searched.limit]


def _scatterplot(series: list[Spots]) -> QueryResult:
    rows: list[list[Any]] = []
    for each in series:
        rows.append([f"{each.label}_x", *(spot.x for spot in each.spots)])
        rows.append([each.label, *(spot.y for spot in each.spots)])
    return QueryResult(rows)


def _table(series: list[Spots]) -> QueryResult:
    """Returns a table, with a column for the series if there are several."""
    first = series[0]
    columns = {"x_label": {"label": first.x.label, "type": "text"}, "y_label": {"label": first.y.label, "type": "text"}}
    several = len(series) > 1
    if several:
        columns = {"series": {"label": "Series", "type": "text"}} | columns
    rows = []
    for each in series:
        for spot in each.spots:
            row = {"x_label": spot.x_label, "x": spot.x, "y_label": spot.y_label, "y": spot.y}
            rows.append({"series": each.label} | row if several else row)
    return QueryResult({"columns": columns, "rows": rows})


def _pie(series: list[Spots]) -> QueryResult:
    return QueryResult([[spot.x_label, spot.y] for each in series for spot in each.spots])


def _categories(series: list[Spots]) -> QueryResult:
    """Returns one row per series, named `hits` if there is only one; 0 where a series has no value."""
    heads = [spot.x_label for each in series for spot in each.spots]
    rows: list[list[Any]] = [["label", *heads]]
    start = 0
    for each in series:
        row: list[Any] = [0] * len(heads)
        row[start : start + len(each.spots)] = [spot.y for spot in each.spots]
        start += len(each.spots)
        rows.append([each.label if len(series) > 1 else "hits", *row])
    return QueryResult(rows, {"format_params": {"xaxis_key": "label"}})


SHAPES: dict[str, Callable[[list[Spots]], QueryResult]] = {
    "scatterplot": _scatterplot,
    "table": _table,
    "pie": _pie,
    "categories": _categories,
}
