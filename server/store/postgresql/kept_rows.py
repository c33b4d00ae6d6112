"""What was read or written in a turn to write, for the writes that share it. Nobody else changes anything meanwhile, so
what one of them knows the others need not ask for again, nor itself for what it has just written."""

from collections.abc import Iterable, Sequence
from typing import Any

from server.store.statements import Statement
from server.store.tables import Table

MAX_KEPT = 200  # selects and rows; when there are more, all are forgotten
MAX_ROWS = 20  # of a select
MAX_SIZE = 20_000  # characters and bytes of one of them
KINDS = {"INTEGER": int, "REAL": float, "TEXT": str, "BLOB": bytes, "ANY": str}  # of values as rows have them

Row = tuple[Any, ...]
Rows = dict[int, "Row | dict[str, Any] | None"]  # by id; None: there is none; a dict: written with these values


class KeptRows:
    """Answers of selects from one table, and rows by their ids, until they may be others."""

    __slots__ = ("_selects", "_rows", "_number")

    def __init__(self) -> None:
        self._selects: dict[str, dict[tuple[str, Row], list[Row]]] = {}
        self._rows: dict[str, tuple[Table, Rows]] = {}
        self._number = 0

    def selected(self, statement: Statement, bound: Sequence[Any]) -> list[Row] | None:
        """What a statement has answered before; None when it has to be asked."""
        found = self._selects.get(statement.reads)
        return found.get((statement.sql, tuple(bound))) if found else None

    def keep(self, statement: Statement, bound: Sequence[Any], rows: list[Row]) -> None:
        """Keep the answer of a statement."""
        if statement.reads and len(rows) <= MAX_ROWS and sum(map(_size, rows)) <= MAX_SIZE:
            self._count()
            self._selects.setdefault(statement.reads, {})[statement.sql, tuple(bound)] = rows

    def rows(self, table: Table) -> Rows:
        """The rows of a table that are known."""
        kept = self._rows.get(table.name)
        return kept[1] if kept is not None and kept[0] is table else {}

    def put(self, table: Table, id: int, row: Row | dict[str, Any] | None, others: Rows) -> None:
        """Keep a row. others: those of its table that are still so."""
        others.pop(id, None)
        if row is None or _size(row.values() if isinstance(row, dict) else row) <= MAX_SIZE:
            if self._number >= MAX_KEPT:
                others = {}
            self._count()
            others[id] = row
        self._rows[table.name] = table, others

    def forget(self, table: str) -> None:
        """What this table holds may be something else now; "" for any."""
        if table:
            self._selects.pop(table, None)
            self._rows.pop(table, None)
        else:
            self._selects.clear()
            self._rows.clear()
            self._number = 0

    def _count(self) -> None:
        if self._number >= MAX_KEPT:
            self.forget("")
        self._number += 1


def _size(values: Iterable[Any]) -> int:
    return sum(len(value) for value in values if isinstance(value, (str, bytes)))


def as_stored(table: Table, values: dict[str, Any]) -> Row | None:
    """The row that was written with these values, its id among them; None when PostgreSQL may make something else of
    one."""
    found = [values["id"]]
    for column in table.columns:
        value = values.get(column.name, column.initial)
        if isinstance(value, str):
            value = str(value).replace("\0", "\ufffd")
        elif isinstance(value, int):
            value = float(value) if column.kind == "REAL" else int(value)
        if not isinstance(value, KINDS[column.kind]) and not (value is None and column.null):
            return None
        found.append(value)
    return tuple(found)
