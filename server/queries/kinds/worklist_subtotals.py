"""`worklist.subtotals`: the distribution of records over the values of fields."""

from collections.abc import Callable
from typing import Any

from server.counting.counting import Cells, count
from server.counting.dimensions.bin_options import MAX_BINS, options
from server.counting.dimensions.date_bins import DateDimension
from server.counting.dimensions.dimension import Dimension
from server.counting.dimensions.dimension_names import Fields
from server.counting.measures import FUNCTIONS, Function, function_named
from server.errors import BadDataQuery, nearest
from server.queries.data_query import DataQuery, KeyValues
from server.queries.expanding import expanded
from server.queries.measuring import metric_of
from server.queries.query_type import EXPAND, SEARCHED, QueryKey, QueryResult, QueryType
from server.queries.query_values import KeyValue
from server.queries.subtotals.result import SubtotalsResult, regrouped, result
from server.queries.subtotals.subtotal_charts import categories, pie, timeseries
from server.queries.subtotals.subtotal_tables import dictionaries, table
from server.queries.subtotals.subtotal_tree import tree

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
    description = "Distribution of the records of a search over the values of fields."
    keys = (
        *SEARCHED,
        QueryKey("by", "list", "Fields to count by, nested: <field>@<unit>~<limit>."),
        QueryKey("by.<id>", "list", "As by:, with a function of the last field: count, distinct, avg, sum, min, max."),
        QueryKey("function", "text", "The function of by:, in an older notation."),
        QueryKey("group", "list", "Some of the fields of by:; values are summed by them."),
        QueryKey("group.<id>", "list", "As group:, with another function than sum."),
        QueryKey("metric", "text", 'A formula with x for every value, such as "(x/60)|round".'),
        EXPAND,
    )
    formats = tuple(SHAPES)

    def run(self, query: DataQuery) -> QueryResult:
        values = query.values
        record_type = values.record_type()
        by, function = _function(values, "by", "by.<id>", COUNT)
        if by is None:
            raise BadDataQuery(f"{self.name} needs 'by:', fields to count by", position=values.at("of"), field="by")
        metric = metric_of(values, "metric")
        searched = values.searched(record_type)
        builder = query.dictionaries()
        dimensions = _dimensions(Fields(searched.search, builder), by)
        measured = dimensions.pop() if function is not COUNT else None
        _check(measured, function)
        if query.format == "timeseries":
            _lift(dimensions)
        cells = count(searched.search, dimensions, measured, function)
        cells = _grouped(values, cells)
        totals = result(record_type, cells, measured, metric, searched.source, str(searched.tz))
        data, extra = SHAPES[query.format](totals)
        if query.format == "dictionaries":
            expanded(builder, data, values.words("expand"))
        return QueryResult(data, {"context": record_type.context} | extra)


def _function(values: KeyValues, plain: str, pattern: str, default: Function) -> tuple[KeyValue | None, Function]:
    """Returns the key `by:` or `by.<function>:` and the function. Raises BadDataQuery if both are present."""
    with_function = values.matching(pattern)
    choices = [*([values.by_name[plain]] if plain in values else []), *with_function]
    if len(choices) > 1:
        raise BadDataQuery(
            f"write one of '{plain}:' and '{plain}.<function>:'",
            position=choices[1].term.position,
            field=choices[1].name,
        )
    function = default
    if with_function:
        function = function_named(with_function[0].id, with_function[0].term.position, with_function[0].name)
    if plain == "by" and "function" in values:
        if with_function:
            raise values.bad("function", "the function stands in the name of 'by.' already")
        function = function_named(values.text("function"), values.at("function"))
    return (choices[0] if choices else None), function


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
    dimensions: list[Dimension] = []
    for place, text in enumerate(by.texts):
        field = options(text)
        if any(each.options.name == field.name and each.options.unit == field.unit for each in dimensions):
            raise BadDataQuery(f"by: '{text.value[:80]}' appears twice", position=text.position, field=by.name)
        dimensions.append(fields.resolve(field, f"by{place}"))
    return dimensions


def _check(measured: Dimension | None, function: Function) -> None:
    if measured is not None and function.needs_numbers and measured.scale is None:
        raise BadDataQuery(
            f"by.{function}: '{measured.options.name[:80]}' holds no numbers; count it, or use distinct",
            position=measured.options.position,
            field=measured.options.name,
        )


def _lift(dimensions: list[Dimension]) -> None:
    """Removes the default limit of a date axis: a missing step would look like a time without records."""
    if dimensions and isinstance(dimensions[0], DateDimension):
        dimensions[0].default_limit = MAX_BINS


def _grouped(values: KeyValues, cells: Cells) -> Cells:
    group, function = _function(values, "group", "group.<id>", SUM)
    if group is None:
        return cells
    by_name = {each.options.written: each for each in cells.dimensions}
    by_name |= {each.options.name: each for each in cells.dimensions if each.options.name not in by_name}
    group_dimensions: list[Dimension] = []
    for text in group.texts:
        dimension = by_name.get(text.value)
        if dimension is None:
            raise BadDataQuery(
                f"group: '{text.value[:80]}' is not one of the fields of by:{nearest(text.value, by_name)}",
                position=text.position,
                field=group.name,
            )
        if dimension not in group_dimensions:
            group_dimensions.append(dimension)
    return regrouped(cells, group_dimensions, function)
