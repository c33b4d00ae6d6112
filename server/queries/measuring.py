"""The measure in one group of a data query: field, function and formula."""

from server.counting.dimensions.bin_options import options
from server.counting.dimensions.dimension import Dimension
from server.counting.dimensions.dimension_names import Fields
from server.counting.measures import FUNCTIONS, Function, function_named, plain
from server.errors import BadDataQuery
from server.queries.data_query import KeyValues
from server.queries.formula import formula
from server.queries.subtotals.result import Metric

COUNT = FUNCTIONS["count"]


def field_of(values: KeyValues, name: str, fields: Fields, alias: str) -> Dimension:
    """Returns the field under a required key. alias: for a table that it joins.

    Raises BadDataQuery with the nearest name."""
    return fields.resolve(options(values.texts(name)[0]), alias)


def measured_of(values: KeyValues, name: str, fields: Fields, functions: list[Function]) -> Dimension | None:
    """Returns the field under a key, None if it is absent and only records are counted.

    Raises BadDataQuery if a function requires a field, or a numeric one."""
    if name not in values:
        lacking = next((each for each in functions if each is not COUNT), None)
        if lacking is not None:
            place = next(each for each in ("functions", "function") if each in values)
            raise values.bad(place, f"'{lacking}' needs '{name}:', the field to measure")
        return None
    measured = field_of(values, name, fields, "measured")
    if measured.scale is None and any(each.needs_numbers for each in functions):
        raise values.bad(name, f"'{measured.options.name[:80]}' holds no numbers; count it, or use distinct")
    return measured


def functions_of(values: KeyValues) -> list[Function]:
    """Returns the functions of `functions:` or the one of `function:`; count if both are absent."""
    if "functions" in values and "function" in values:
        raise values.bad("functions", "write one of 'function:' and 'functions:'")
    name = "functions" if "functions" in values else "function"
    functions: list[Function] = []
    for text in values.texts(name):
        function = function_named(text.value, text.position, name)
        if function in functions:
            raise BadDataQuery(f"{name}: '{text.value}' appears twice", position=text.position, field=name)
        functions.append(function)
    if "functions" in values and not functions:
        raise values.bad("functions", "name at least one function")
    return functions or [COUNT]


def metric_of(values: KeyValues, name: str) -> Metric:
    """Returns the conversion of a number for display: the formula under a key, or rounding alone."""
    if name not in values:
        return lambda x: None if x is None else plain(x)
    text = values.texts(name)[0]
    return formula(text.value, text.position + text.quoted)
