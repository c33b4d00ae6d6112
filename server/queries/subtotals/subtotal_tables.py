"""`format:dictionaries` and `format:table`: one row per cell."""

from typing import Any

from server.queries.subtotals.result import SubtotalsResult, SubtotalsRow


def dictionaries(result: SubtotalsResult) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Returns [{keys of each field, count, count_query_context, count_query}]; with other functions than count,
    `<field>` and `<field>_func`."""
    return [_dictionary(result, row) for row in result.rows], {}


def _dictionary(result: SubtotalsResult, row: SubtotalsRow) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for dimension, member in zip(result.dimensions, row.members, strict=True):
        values |= dimension.dictionary(member)
    if result.measured is not None:
        name = result.measured.base.replace(".", "_")
        return values | {name: row.value, f"{name}_func": result.function.name}
    return values | {
        "count": row.value,
        "count_query_context": result.record_type.context,
        "count_query": result.query(row.members),
    }


def table(result: SubtotalsResult) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns {"columns": {key: {label, type}}, "rows": [{key: value}]}; the last column has the values."""
    columns: dict[str, dict[str, Any]] = {}
    for dimension in result.dimensions:
        columns |= dimension.columns()
    if result.measured is None:
        columns["count"] = {"label": "Count", "type": "number"}
    else:
        kind = "number" if result.function.name == "distinct" else result.measured.measured_type
        columns[result.measured.base] = {"label": result.title, "type": kind}
    return {"columns": columns, "rows": [_row(result, row) for row in result.rows]}, {}


def _row(result: SubtotalsResult, row: SubtotalsRow) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for dimension, member in zip(result.dimensions, row.members, strict=True):
        values |= dimension.cells(member)
    if result.measured is not None:
        return values | {result.measured.base: row.value}
    options = {"context": result.record_type.context, "query": result.query(row.members)}
    return values | {"count": row.value, "_types": {"count": {"type": "search", "options": options}}}
