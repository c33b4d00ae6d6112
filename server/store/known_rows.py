"""What transactions have read of rows and versions, until a statement of theirs may have changed it.

Not for asking: that is Transaction's part (store/transaction.py)."""

from collections.abc import Hashable
from typing import Any

from server.store.tables import Table

MAX_ROWS = 20  # of a table: most are asked for several times in a row

Row = tuple[Any, ...]
Rows = dict[Hashable, Row | dict[str, Any] | None]  # a dict holds the values that a row was added with
NOTHING: tuple[Table | None, Rows] = (None, {})


class KnownRows:
    """Rows by id, and the first ones by equal values, by the name of their table; versions; the ids that tables give
    next. A transaction has its own, and the writer has one for all that it runs one after the other: versions, ids, and
    rows of tables that seldom change (`Table.is_settled`)."""

    __slots__ = ("versions", "next_ids", "tables")

    def __init__(self) -> None:
        self.versions: dict[str, int] = {}
        self.next_ids: dict[str, int] = {}
        self.tables: dict[str, tuple[Table | None, Rows]] = {}

    def of(self, table: Table) -> Rows:
        """The rows of a table by what they were asked for with; with room for one more."""
        kept, rows = self.tables.get(table.name, NOTHING)
        if kept is not table or len(rows) >= MAX_ROWS:
            rows = {}
            self.tables[table.name] = table, rows
        return rows

    def add(self, table: Table, id: int, values: dict[str, Any]) -> None:
        """A row was just added with these values. Most are never asked for, and made when they are."""
        self.of(table)[id] = values.copy()

    def clear(self) -> None:
        """Nothing is so any more."""
        self.versions.clear()
        self.next_ids.clear()
        self.tables.clear()


def as_stored(table: Table, id: int, values: dict[str, Any]) -> Row | None:
    """The row as it would be read, None where that is not certain: a database may write some values another way."""
    types = table.types
    for name, value in values.items():
        if type(value) is not types[name] or (type(value) is str and "\0" in value):
            return None
    return tuple({**table.initial, **values, "id": id}.values())
