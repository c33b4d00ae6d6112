"""Loaders of expands with `{id: dictionary}` of records found through a column or a join table."""

from collections.abc import Iterable, Sequence
from typing import Any

from server.record_types.parts import DictionaryContext, Record
from server.record_types.shared.collections import ids_text
from server.store.statements import in_list, slot
from server.store.tables import Table, table_named
from server.store.transaction import Transaction

Pairs = list[tuple[int, int]]


def pairs_through(tx: Transaction, table: Table, own: str, other: str, records: Sequence[Record], **only: Any) -> Pairs:
    """The (own id, other id) pairs in a join table of many records, in order. One statement."""
    columns, names = table.sql, tuple(only)

    def build() -> Any:
        mine, others = getattr(columns, own), getattr(columns, other)
        query = columns.select(mine, others).where(in_list(mine, slot(0))).order_by(mine, others)
        for place, name in enumerate(names, start=1):
            query = query.where(getattr(columns, name) == slot(place))
        return query

    return [(row[0], row[1]) for row in tx.rows(build, (ids_text(records), *only.values()))]


def pairs_behind(view: DictionaryContext, table: str, column: str, records: Sequence[Record]) -> Pairs:
    """The (own id, other id) pairs of records whose `column` is the id of one of these records. One statement."""
    others: Any = table_named(table)

    def build() -> Any:
        pointer = getattr(others.c, column)
        return others.select(pointer, others.c.id).where(in_list(pointer, slot(0))).order_by(pointer, others.c.id)

    return [
        (row[0], row[1])
        for row in view.tx.rows(
            build,
            (ids_text(records),),
        )
    ]


def by_id(view: DictionaryContext, uri: str, ids: Iterable[int], expand: str = "") -> dict[int, dict[str, Any]]:
    """The dictionaries of readable records by id. One statement."""
    records = view.records(uri, ids)
    shown_records = view.dictionaries(uri, records, expand)
    return {record["id"]: dictionary for record, dictionary in zip(records, shown_records, strict=True)}


def as_map(
    name: str, records: Sequence[Record], pairs: Iterable[tuple[int, int]], others: dict[int, dict[str, Any]]
) -> dict[int, dict[str, Any]]:
    """{own id: {name: {other id: dictionary}}}, the result of a loader."""
    maps: dict[int, dict[str, Any]] = {record["id"]: {} for record in records}
    for own, other in pairs:
        if other in others:
            maps[own][str(other)] = others[other]
    return {own: {name: each} for own, each in maps.items()}
