"""Tables, indexes and triggers in SQLite: creates them and reads those of a file."""

from server.store import sqlite_texts
from server.store.fulltext import TextIndex
from server.store.recounting import recount
from server.store.tables import Column, KeptCounts, Table, column_text, index_name, with_counts
from server.store.transaction import Transaction

APPLICATION_ID = 0x53564348  # in the header of the file, to recognize foreign files
SCHEMA_NUMBER = 2  # raised by hand when older programs must not open the file
NUMBER = "schema_number"  # the row of meta with the number in PostgreSQL, which has no file header


def outline(tables: list[Table], texts: list[TextIndex]) -> list[str]:
    """Returns everything that `add_missing` would write, so that any change of a declaration shows."""
    parts = [make(text) for text in texts for make in (sqlite_texts.create_text, sqlite_texts.create_waiting)]
    for table in with_counts(tables):
        parts += [create_text(table), *(text for _, text in index_texts(table))]
    return parts + [text for table in tables for _, text in _triggers(table)]


def add_missing(tx: Transaction, tables: list[Table]) -> None:
    """Adds missing tables, columns, indexes and triggers."""
    execute = tx.connection.execute
    execute(f"PRAGMA application_id={APPLICATION_ID}").fetchall()
    execute(f"PRAGMA user_version={SCHEMA_NUMBER}").fetchall()
    counts = [count for table in tables for count in table.counts]
    for count in counts:  # counts by other columns start over
        if columns_of(tx, count.name) != set(count.counts.names):
            execute(f'DROP TABLE IF EXISTS "{count.name}"')
    new = {add_table(tx, table) for table in with_counts(tables)}
    triggers = dict(trigger for table in tables for trigger in _triggers(table))
    present = {row[0]: row[1] for row in execute("SELECT name, sql FROM sqlite_master WHERE type='trigger'")}
    for name in present.keys() - triggers.keys():
        execute(f'DROP TRIGGER "{name}"')
    for name, text in triggers.items():
        if present.get(name) != text:
            if name in present:
                execute(f'DROP TRIGGER "{name}"')
            execute(text)
    for count in counts:
        # A count without all of its triggers has missed the writes of another program.
        if count.name in new or any(present.get(name) != text for name, text in _count_triggers(count)):
            recount(tx, count)


def add_table(tx: Transaction, table: Table) -> str | None:
    """Adds a table, or its missing columns and indexes; returns its name if it is new."""
    present = columns_of(tx, table.name)
    if not present:
        tx.connection.execute(create_text(table))
    else:
        for column in table.columns:
            if column.name not in present:
                tx.connection.execute(f'ALTER TABLE "{table.name}" ADD COLUMN {_column_text(column)}')
    rows = tx.connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type='index' AND tbl_name=? AND sql IS NOT NULL", (table.name,)
    )
    indexes = {row[0]: row[1] for row in rows}
    declared = dict(index_texts(table))
    for name in indexes.keys() - declared.keys():
        tx.connection.execute(f'DROP INDEX "{name}"')
    for name, text in declared.items():
        if indexes.get(name) != text:
            if name in indexes:
                tx.connection.execute(f'DROP INDEX "{name}"')
            tx.connection.execute(text)
    return None if present else table.name


def columns_of(tx: Transaction, table: str) -> set[str]:
    """Returns the columns of a table in the file, empty if there is no such table."""
    return {row[1] for row in tx.connection.execute(f'PRAGMA table_info("{table}")')}


def create_text(table: Table) -> str:
    """Returns the statement that creates a table."""
    columns = [_column_text(column) for column in table.columns]
    if table.key:
        columns.append("PRIMARY KEY ({})".format(", ".join(f'"{name}"' for name in table.key)))
        return f'CREATE TABLE IF NOT EXISTS "{table.name}" ({", ".join(columns)}) STRICT, WITHOUT ROWID'
    columns.insert(0, "id INTEGER PRIMARY KEY AUTOINCREMENT")
    return f'CREATE TABLE IF NOT EXISTS "{table.name}" ({", ".join(columns)}) STRICT'


def _column_text(column: Column) -> str:
    kind = f"{column.kind} COLLATE NOCASE" if column.nocase else column.kind
    return column_text(column, kind, lambda value: f"x'{value.hex()}'")


def index_texts(table: Table) -> list[tuple[str, str]]:
    """Returns [(name, CREATE INDEX statement)]."""
    texts = []
    for index in table.indexes:
        name = index_name(table, index)
        columns = ", ".join(f'"{column}"' for column in index.columns)
        unique = "UNIQUE " if index.unique else ""
        where = f" WHERE {index.where}" if index.where else ""
        texts.append((name, f'CREATE {unique}INDEX "{name}" ON "{table.name}" ({columns}){where}'))
    return texts


def _triggers(table: Table) -> list[tuple[str, str]]:
    """Returns the triggers of version counters and counts, which no code path nor other program can bypass."""
    texts = []
    for version, columns in table.bumps.items():
        columns_clause = " OF {}".format(", ".join(f'"{name}"' for name in columns)) if columns else ""
        for moment, when in (("insert", "INSERT"), ("update", f"UPDATE{columns_clause}"), ("delete", "DELETE")):
            name = f"{table.name}_{version}_{moment}"
            count = f"UPDATE version SET value = value + 1 WHERE name = '{version}';"
            texts.append((name, f'CREATE TRIGGER "{name}" AFTER {when} ON "{table.name}" BEGIN {count} END'))
    return [*texts, *(text for counts in table.counts for text in _count_triggers(counts))]


def _count_triggers(counts: KeptCounts) -> list[tuple[str, str]]:
    name, table, columns = counts.name, counts.of.name, counts.columns
    new, old = counts.values("NEW"), counts.values("OLD")
    more = f'INSERT INTO "{name}" ({columns}, n) VALUES ({", ".join(new)}, 1) ON CONFLICT DO UPDATE SET n = n + 1;'
    those = " AND ".join(f'"{column}" = {value}' for column, value in zip(counts.counts.key, old, strict=True))
    less = f'UPDATE "{name}" SET n = n - 1 WHERE {those}; DELETE FROM "{name}" WHERE {those} AND n <= 0;'
    changed = " OR ".join(f"{after} <> {before}" for after, before in zip(new, old, strict=True))
    moved = f'UPDATE OF {columns} ON "{table}" WHEN {changed}'
    return [
        (f"{name}_insert", f'CREATE TRIGGER "{name}_insert" AFTER INSERT ON "{table}" BEGIN {more} END'),
        (f"{name}_update", f'CREATE TRIGGER "{name}_update" AFTER {moved} BEGIN {less} {more} END'),
        (f"{name}_delete", f'CREATE TRIGGER "{name}_delete" AFTER DELETE ON "{table}" BEGIN {less} END'),
    ]


def indexes_of(tx: Transaction, table: Table) -> set[str]:
    """Returns the names of the indexes of a table in the file."""
    rows = tx.connection.execute("SELECT name FROM sqlite_master WHERE type='index' AND tbl_name = ?", (table.name,))
    return {row[0] for row in rows}


def number_of(tx: Transaction) -> int:
    """Returns the schema number of the file."""
    row = tx.connection.execute("PRAGMA user_version").fetchone()
    return int(row[0]) if row else 0


def migrated_at(tx: Transaction) -> int:
    """Returns the time of the last migration, 0 for never."""
    if not columns_of(tx, "migration"):
        return 0
    row = tx.connection.execute("SELECT MAX(applied_at) FROM migration").fetchone()
    return int(row[0] or 0) if row else 0
