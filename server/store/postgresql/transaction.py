"""Transactions in PostgreSQL. Each statement is a round trip, so results are awaited only if needed."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from server.store.statement_shapes import Builder
from server.store.statements import Statement
from server.store.tables import Table, table_named
from server.store.transaction import Row, Transaction, inserting, slots

_VERSION = table_named("version")
_HAS_ID = re.compile(r'INSERT INTO "\w+" \([^)]*"id"')


class PostgresqlTransaction(Transaction):
    __slots__ = ()

    def version(self, name: str) -> int:
        """The first call reads all versions, since a statement costs more than a few rows."""
        versions = self.connection.versions
        if versions is None:
            versions = dict(self.rows(lambda: _VERSION.select(_VERSION.c.name, _VERSION.c.value)))
            self.connection.versions = versions
        return versions.get(name, 0)

    def _changing(self, build: Builder) -> Statement:
        if self.connection.is_failed:
            raise self.store.dropped()
        statement = super()._changing(build)
        if not _has_own_ids(statement.sql):  # the server assigns the ids of these rows
            self.connection.known_ids.pop(statement.changes, None)
            if statement.changes in self.connection.next_ids:
                self.connection.set_sequence(statement.changes)
        if statement.may_bump:
            self.connection.versions = None
        return statement

    def later(self, build: Builder, values: Sequence[Any] = ()) -> None:
        statement = self._changing(build)
        self.connection.later(statement.sql, statement.bind(values))

    def append(self, build: Builder, values: Sequence[Any]) -> None:
        """Runs the insert immediately: it is sent together with other statements anyway."""
        self.later(build, values)

    def each(self, build: Builder, values: Sequence[Any] = ()) -> Iterator[Row]:
        statement = self._asked(build, values)
        return iter(self.connection.each(statement.sql, statement.bind(values)))

    def insert(self, table: Table, values: dict[str, Any]) -> int:
        if table.key:
            self.later(inserting(table, tuple(values)), tuple(values.values()))
            return 0
        if not self.has_savepoints:
            id = int(values["id"] if "id" in values else self._take_ids(table, 1)[0])
            with_id = values | {"id": id}
            self.later(inserting(table, tuple(with_id)), tuple(with_id.values()))
            return id
        names = tuple(values)
        statement = self._changing(lambda: table.sql.insert(slots(table, names)).returning(table.sql.id))
        rows = self.connection.execute(statement.sql, statement.bind(tuple(values.values())))
        self.connection.count_one()
        return int(rows[0][0])

    def _take_ids(self, table: Table, number: int) -> range:
        """Returns the next ids of a table, assigned here: no other process assigns any during this turn. The commit
        updates the sequence."""
        ids = self.connection.next_ids
        first = ids.get(table.name)
        if first is None:
            first = self._next_id(table)
        ids[table.name] = first + number
        return range(first, first + number)

    def reserve(self, table: Table, number: int) -> range:
        self.statements += 1
        if not self.has_savepoints:
            return self._take_ids(table, number)
        self.connection.known_ids.pop(table.name, None)
        name = f'"{table.name}_id_seq"'
        last = self.connection.execute(
            "SELECT setval($1::regclass, nextval($1::regclass) + $2 - 1)", (name, number)
        ).fetchone()[0]
        return range(last - number + 1, last + 1)

    def next_ids(self, table: Table, number: int) -> range:
        counted = self.connection.next_ids.get(table.name)
        if counted is not None:
            return range(counted, counted + number)
        self.statements += 1
        first = self._next_id(table)
        return range(first, first + number)

    def _next_id(self, table: Table) -> int:
        cached = self.connection.known_ids.get(table.name)
        if cached is not None:
            return cached
        last, is_used = self.connection.execute(f'SELECT last_value, is_called FROM "{table.name}_id_seq"')[0]
        return int(last) + int(is_used)

    def set_next_id(self, table: Table, id: int) -> None:
        self.statements += 1
        self.connection.next_ids.pop(table.name, None)
        self.connection.known_ids.pop(table.name, None)
        self.connection.execute("SELECT setval($1::regclass, $2, false)", (f'"{table.name}_id_seq"', id))

    def add_whole(self, table: Table, rows: Sequence[Row]) -> None:
        self.statements += 1
        self._settled.clear()
        self.connection.copy_in(table.name, table.names, rows)

    def put(self, table: Table, values: dict[str, Any]) -> None:
        names = tuple(values)
        self.later(lambda: _replacing(table, names), tuple(values.values()))

    def put_many(self, table: Table, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        columns = tuple(names)
        self.run_many(lambda: _replacing(table, columns), rows)


def _has_own_ids(sql: str) -> bool:
    """Returns whether a statement is not an insert, or inserts rows with ids."""
    return not sql.startswith("INSERT") or _HAS_ID.match(sql) is not None


def _replacing(table: Table, names: tuple[str, ...]) -> Any:
    """Composes an insert that replaces the row with the same key: columns without a value get their initial value."""
    key = table.key or ("id",)
    sent = [getattr(table.sql, name) for name in names if name not in key]
    others = {
        getattr(table.sql, column.name): column.initial
        for column in table.columns
        if column.name not in names and column.name not in key
    }
    insert = table.sql.insert(slots(table, names))
    if not sent and not others:
        return insert.on_conflict_ignore()
    target = [getattr(table.sql, name) for name in key]
    return insert.on_conflict(conflict_target=target, preserve=sent, update=others)
