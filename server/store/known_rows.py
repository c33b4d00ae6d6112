"""Caches rows and versions that transactions have read, until one of their statements may change them.

Transaction (store/transaction.py) decides when to use it. Composing a ticket reads ten rows and three versions from it,
four of them from its own transaction: 7 % less time with a file, and as many round trips less with PostgreSQL."""

from collections.abc import Hashable
from typing import Any

from server.store.tables import Table

MAX_ROWS = 20  # per table; most rows are read several times in succession

Row = tuple[Any, ...]
Rows = dict[Hashable, Row | dict[str, Any] | None]  # a dict holds the values that a row was added with
NOTHING: tuple[Table | None, Rows] = (None, {})


class KnownRows:
    """Cached rows by id, and first rows by equal values, by the name of their table; versions; next ids of tables. Each
    transaction has its own, and the writer has one for all its transactions in turn: versions, ids, and rows of settled
    tables (`Table.is_settled`)."""

    __slots__ = ("versions", "next_ids", "tables")

    def __init__(self) -> None:
        self.versions: dict[str, int] = {}
        self.next_ids: dict[str, int] = {}
        self.tables: dict[str, tuple[Table | None, Rows]] = {}

    def rows_of(self, table: Table) -> Rows:
        """Returns the cached rows of a table by id or by (names, values), with room for one more."""
        cached, rows = self.tables.get(table.name, NOTHING)
        if cached is not table or len(rows) >= MAX_ROWS:
            rows = {}
            self.tables[table.name] = table, rows
        return rows

    def add(self, table: Table, id: int, values: dict[str, Any]) -> None:
        """Caches a row that was just added with these values. Most are never read, so the row is built on demand."""
        self.rows_of(table)[id] = values.copy()

    def clear(self) -> None:
        """Drops everything."""
        self.versions.clear()
        self.next_ids.clear()
        self.tables.clear()


def as_stored(table: Table, id: int, values: dict[str, Any]) -> Row | None:
    """Returns the row as it would be read, None if that is uncertain: a database may convert some values."""
    types = table.types
    for name, value in values.items():
        if type(value) is not types[name] or (type(value) is str and "\0" in value):
            return None
    return tuple({**table.initial, **values, "id": id}.values())
