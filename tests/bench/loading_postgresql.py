"""A PostgreSQL database that is filled in bulk; see loading.py."""

from collections.abc import Iterator, Sequence

import psycopg

from server.store import schema
from server.store.postgresql.tsvectors import as_tsvector
from server.store.tables import Table
from tests.bench.loading import Batch, Row

MEMORY = "512MB"  # memory for creating indexes


class PostgresqlTarget:
    """The database of an address."""

    def __init__(self, address: str) -> None:
        self._connection = psycopg.connect(address, autocommit=True)
        self._execute("SET synchronous_commit = off")
        # The connections that finally create the indexes are the service's.
        self._execute(f"ALTER DATABASE \"{self._connection.info.dbname}\" SET maintenance_work_mem = '{MEMORY}'")
        self._execute(f"SET maintenance_work_mem = '{MEMORY}'")
        self._ids: list[Table] = []

    def strip(self, tables: Sequence[Table]) -> None:
        for table in tables:
            triggers = self._connection.execute(
                "SELECT tgname FROM pg_trigger WHERE tgrelid = to_regclass(%s) AND NOT tgisinternal",
                (f'"{table.name}"',),
            )
            for (name,) in triggers.fetchall():
                self._execute(f'DROP TRIGGER "{name}" ON "{table.name}"')
            for name, _ in self._indexes(table.name):
                self._execute(f'DROP INDEX "{name}"')
            if table.summary:
                self._execute(f'DROP TABLE "{table.summary_table.name}"')
        self._connection.execute("DELETE FROM meta WHERE name = %s", (schema.SCHEMA,))

    def fill(self, batch: Batch) -> None:
        if batch.table is not None:
            self._copy(batch.table.name, batch.columns, batch.rows)
            if not batch.table.key:
                self._ids.append(batch.table)
            return
        assert batch.text is not None
        indexes = self._indexes(batch.text.name)  # which the service creates only together with their table
        for name, _ in indexes:
            self._execute(f'DROP INDEX "{name}"')
        parts = [batch.columns.index(name) if name in batch.columns else -1 for name in batch.text.columns]
        self._copy(batch.text.name, ("rowid", "words"), _tsvectors(batch, parts))
        for _, text in indexes:
            self._execute(text)

    def finish(self) -> None:
        for table in self._ids:
            self._execute(
                f"SELECT setval(pg_get_serial_sequence('\"{table.name}\"', 'id'), "
                f'(SELECT max(id) FROM "{table.name}"))'
            )
        self._connection.close()

    def _copy(self, name: str, columns: Sequence[str], rows: "Iterator[Row] | Sequence[Row] | object") -> None:
        names = ", ".join(f'"{each}"' for each in columns)
        with (
            self._connection.cursor() as cursor,
            cursor.copy(f'COPY "{name}" ({names}) FROM STDIN'.encode()) as copying,
        ):
            for row in rows:  # type: ignore[attr-defined]
                copying.write_row(row)

    def _indexes(self, table: str) -> list[tuple[str, str]]:
        """Returns [(name, the statement that creates it)], except of primary keys."""
        return self._connection.execute(
            "SELECT relname::text, pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class p ON p.oid = indexrelid "
            "WHERE indrelid = to_regclass(%s) AND NOT indisprimary",
            (f'"{table}"',),
        ).fetchall()

    def _execute(self, text: str) -> None:
        self._connection.execute(text.encode())


def _tsvectors(batch: Batch, parts: Sequence[int]) -> Iterator[Row]:
    for row in batch.rows:
        yield row[0], as_tsvector([row[part] if part >= 0 else "" for part in parts])
