"""Records with the values of some fields, each as a point of a chart or a map rather than counted."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from server.counting.dimensions.bin_options import options
from server.counting.dimensions.date_bins import DateDimension
from server.counting.dimensions.dimension import Dimension, Member, Raw
from server.counting.dimensions.dimension_names import Fields
from server.dataclass import dataclass
from server.record_types.record_type import Record
from server.search.ast import SearchValue
from server.search.conditions import slots_from
from server.search.select import CompiledSearch
from server.store.statement_shapes import keyed
from server.store.statements import in_list

RAW_DATE = "unix"
MAX_POINTS = 10_000  # points in one series


@dataclass(frozen=True)
class DataPoint:
    """A record with one value per dimension. A record with several values in a dimension yields several points."""

    record: Record
    members: tuple[Member, ...]


def raw_field(text: SearchValue, fields: Fields, alias: str) -> Dimension:
    """Returns the field that a text names with unbinned values: a date without a unit is in Unix seconds.

    Raises BadDataQuery with the nearest name."""
    parsed = options(text)
    dimension = fields.resolve(parsed, alias)
    if isinstance(dimension, DateDimension) and not parsed.unit:
        return fields.resolve(replace(parsed, unit=RAW_DATE), alias)
    return dimension


def points(search: CompiledSearch, dimensions: Sequence[Dimension], limit: int) -> list[DataPoint]:
    """Returns the points of the first records of a search, in its order, without hidden values.

    Runs two statements, and one per dimension of other records."""
    record_type = search.record_type
    records = {row[0]: record_type.record(row) for row in search.rows(limit)}
    while True:
        raws = _raws(search, dimensions, list(records))
        members = [
            dimension.members(Counter(raw[place] for _, raw in raws)) for place, dimension in enumerate(dimensions)
        ]
        if None not in members:
            break
        for dimension, each in zip(dimensions, members, strict=True):
            if each is None:
                dimension.finer()
    by_record: dict[int, list[tuple[Member, ...]]] = {id: [] for id in records}
    for id, raw in raws:
        row_members = [each[part] for each, part in zip(members, raw, strict=True) if each is not None]
        if None not in row_members:
            by_record[id].append(tuple(member for member in row_members if member is not None))
    return [DataPoint(records[id], each) for id, combinations in by_record.items() for each in combinations]


def _raws(search: CompiledSearch, dimensions: Sequence[Dimension], ids: list[int]) -> list[tuple[int, list[Raw]]]:
    """Returns [(record id, raw value of each dimension)]."""
    table = search.record_type.table
    starts: list[int] = []
    values: list[Any] = []
    for each in dimensions:
        starts.append(len(values))
        values += [*each.source.values, *each.values]
    last = len(values)

    def build() -> Any:
        expressions = [
            expression
            for each, start in zip(dimensions, starts, strict=True)
            for expression in each.expressions(slots_from(start))
        ]
        query: Any = table.sql.select(table.sql.id, *expressions)
        for each, start in zip(dimensions, starts, strict=True):
            query = each.source.join(query, slots_from(start))
        return query.where(in_list(table.sql.id, slots_from(last)(0))).limit(MAX_POINTS + 1)

    shape = keyed(build, table, tuple(each.key for each in dimensions))
    rows = search.scope.tx.rows(shape, (*values, json.dumps(ids)))
    widths = [len(each.expressions(slots_from(0))) for each in dimensions]
    return [(row[0], _cut(row[1:], widths)) for row in rows]


def _cut(row: tuple[Any, ...], widths: list[int]) -> list[Raw]:
    parts, start = [], 0
    for width in widths:
        parts.append(row[start : start + width])
        start += width
    return parts
