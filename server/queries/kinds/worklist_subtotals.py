"""`worklist.subtotals`: the distribution of records over the values of fields."""

from collections.abc import Callable
from typing import Any

from server.counting.counting import Cells, count
from server.counting.dimensions.base import Dimension
from server.counting.dimensions.dates import DateDimension
from server.counting.dimensions.options import MAX_BINS, options
from server.counting.dimensions.resolve import Fields
from server.counting.measures import FUNCTIONS, Function, function_named
from server.errors import BadDataQuery, nearest
from server.queries.data_query import DataQuery, KeyValues
from server.queries.expanding import expanded
from server.queries.measuring import metric_of
from server.queries.query_type import EXPAND, SEARCHED, QueryKey, QueryResult, QueryType
from server.queries.reading import KeyValue
from server.queries.subtotals.charts import categories, pie, timeseries
from server.queries.subtotals.lists import dictionaries, table
from server.queries.subtotals.result import SubtotalsResult, regrouped, result
from server.queries.subtotals.tree import tree

MAX_FIELDS = 5  # fields in one `by:`

SHAPES: dict[str, Callable[[SubtotalsResult], tuple[Any, dict[str, Any]]]] = {
    "tree": tree,
    "dictionaries": dictionaries,
    "categories": categories,
    "pie": pie,
    "table": table,
    "timeseries": timeseries,
}
COUNT, SUM = FUNCTIONS["count"], FUNCTIONS["sum"]


class WorklistSubtotals(QueryType):
    """Every cell includes a search for its records; `limit:` and `sort:` in `query:` have no effect."""

    name = "worklist.subtotals"
    description = "How the records of a search spread over the values of fields."
    keys = (
        *SEARCHED,
        QueryKey("by", "list", "Fields to count by, nested: <field>@<unit>~<limit>."),
        QueryKey("by.<id>", "list", "As by:, with a function of the last field: count, distinct, avg, sum, min, max."),
        QueryKey("function", "text", "The function of by:, an older way to say it."),
        QueryKey("group", "list", "Some of the fields of by: the values are added up by them."),
        QueryKey("group.<id>", "list", "As group:, with another function than sum."),
        QueryKey("metric", "text", 'A formula with x for every value, such as "(x/60)|round".'),
        EXPAND,
    )
    formats = tuple(SHAPES)

    def run(self, asked: DataQuery) -> QueryResult:
        values = asked.values
        record_type = values.record_type()
        by, function = _function(values, "by", "by.<id>", COUNT)
        if by is None:
            raise BadDataQuery(f"{self.name} needs 'by:', fields to count by", position=values.at("of"), field="by")
        metric = metric_of(values, "metric")
        searched = values.searched(record_type)
        shown = asked.dictionaries()
        dimensions = _dimensions(Fields(searched.search, shown), by)
        measured = dimensions.pop() if function is not COUNT else None
        _check(measured, function)
        if asked.format == "timeseries":
            _lift(dimensions)
        cells = count(searched.search, dimensions, measured, function)
        cells = _grouped(values, cells)
        found = result(record_type, cells, measured, metric, searched.source, str(searched.tz))
        data, extra = SHAPES[asked.format](found)
        if asked.format == "dictionaries":
            expanded(shown, data, values.words("expand"))
        return QueryResult(data, {"context": record_type.context} | extra)


def _function(values: KeyValues, plain: str, pattern: str, default: Function) -> tuple[KeyValue | None, Function]:
    """Returns the key `by:` or `by.<function>:` and the function. Raises BadDataQuery if both are present."""
    named = values.named(pattern)
    given = [*([values.given[plain]] if plain in values else []), *named]
    if len(given) > 1:
        raise BadDataQuery(
            f"write one of '{plain}:' and '{plain}.<function>:'", position=given[1].term.position, field=given[1].name
        )
    function = default
    if named:
        function = function_named(named[0].id, named[0].term.position, named[0].name)
    if plain == "by" and "function" in values:
        if named:
            raise values.bad("function", "the function stands in the name of 'by.' already")
        function = function_named(values.text("function"), values.at("function"))
    return (given[0] if given else None), function


def _dimensions(fields: Fields, by: KeyValue) -> list[Dimension]:
    if not by.texts:
        raise BadDataQuery("by: name at least one field", position=by.position, field=by.name)
    if len(by.texts) > MAX_FIELDS:
        raise BadDataQuery(
            f"by: at most {MAX_FIELDS} fields, these are {len(by.texts)}",
            position=by.texts[MAX_FIELDS].position,
            field=by.name,
            limit=MAX_FIELDS,
        )
    found: list[Dimension] = []
    for place, text in enumerate(by.texts):
        asked = options(text)
        if any(each.asked.name == asked.name and each.asked.unit == asked.unit for each in found):
            raise BadDataQuery(f"by: '{text.value[:80]}' stands twice", position=text.position, field=by.name)
        found.append(fields.named(asked, f"by{place}"))
    return found


def _check(measured: Dimension | None, function: Function) -> None:
    if measured is not None and function.needs_numbers and measured.scale is None:
        raise BadDataQuery(
            f"by.{function}: '{measured.asked.name[:80]}' holds no numbers; count it, or use distinct",
            position=measured.asked.position,
            field=measured.asked.name,
        )


def _lift(dimensions: list[Dimension]) -> None:
    """Removes the default limit of a date axis: a missing step would look like a time without records."""
    if dimensions and isinstance(dimensions[0], DateDimension):
        dimensions[0].default_limit = MAX_BINS


def _grouped(values: KeyValues, cells: Cells) -> Cells:
    given, function = _function(values, "group", "group.<id>", SUM)
    if given is None:
        return cells
    by_name = {each.asked.written: each for each in cells.dimensions}
    by_name |= {each.asked.name: each for each in cells.dimensions if each.asked.name not in by_name}
    kept: list[Dimension] = []
    for text in given.texts:
        found = by_name.get(text.value)
        if found is None:
            raise BadDataQuery(
                f"group: '{text.value[:80]}' is not one of the fields of by:{nearest(text.value, by_name)}",
                position=text.position,
                field=given.name,
            )
        if found not in kept:
            kept.append(found)
    return regrouped(cells, kept, function)
