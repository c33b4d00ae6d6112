"""Tables, indexes and triggers as SQLite takes them: the statements that make them, and what a file has of them."""

from server.store import sqlite_texts
from server.store.fulltext import TextIndex
from server.store.recounting import recount
from server.store.tables import Column, KeptCounts, Table, column_text, index_name, with_counts
from server.store.transaction import Transaction

APPLICATION_ID = 0x53564348  # in the file's header, so that a foreign file is told apart
SCHEMA_NUMBER = 2  # raised by hand when an older program must not open the file any more
NUMBER = "schema_number"  # the row of meta that tells it in PostgreSQL, where no file has a header


def outline(tables: list[Table], texts: list[TextIndex]) -> list[str]:
    """All that `add_missing` would write, told apart from what another declaration writes."""
    parts = [make(text) for text in texts for make in (sqlite_texts.create_text, sqlite_texts.create_waiting)]
    for table in with_counts(tables):
        parts += [create_text(table), *(text for _, text in index_texts(table))]
    return parts + [text for table in tables for _, text in _triggers(table)]


def add_missing(tx: Transaction, tables: list[Table]) -> None:
    """Add the tables, columns, indexes and triggers that the file lacks."""
    execute = tx.connection.execute
    execute(f"PRAGMA application_id={APPLICATION_ID}").fetchall()
    execute(f"PRAGMA user_version={SCHEMA_NUMBER}").fetchall()
    counts = [kept for table in tables for kept in table.counts]
    for kept in counts:  # by other columns than before rows are counted anew
        if columns_of(tx, kept.name) != set(kept.counts.names):
            execute(f'DROP TABLE IF EXISTS "{kept.name}"')
    new = {add_table(tx, table) for table in with_counts(tables)}
    wanted = dict(trigger for table in tables for trigger in _triggers(table))
    present = {row[0]: row[1] for row in execute("SELECT name, sql FROM sqlite_master WHERE type='trigger'")}
    for name in present.keys() - wanted.keys():
        execute(f'DROP TRIGGER "{name}"')
    for name, text in wanted.items():
        if present.get(name) != text:
            if name in present:
                execute(f'DROP TRIGGER "{name}"')
            execute(text)
    for kept in counts:
        # Without all of its triggers, under another program, a count has missed what was written.
        if kept.name in new or any(present.get(name) != text for name, text in _count_triggers(kept)):
            recount(tx, kept)


def add_table(tx: Transaction, table: Table) -> str | None:
    """Add a table or its missing columns and indexes; answers its name when it is new."""
    present = columns_of(tx, table.name)
    if not present:
        tx.connection.execute(create_text(table))
    else:
        for column in table.columns:
            if column.name not in present:
                tx.connection.execute(f'ALTER TABLE "{table.name}" ADD COLUMN {_column_text(column)}')
    found = tx.connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type='index' AND tbl_name=? AND sql IS NOT NULL", (table.name,)
    )
    indexes = {row[0]: row[1] for row in found}
    wanted = dict(index_texts(table))
    for name in indexes.keys() - wanted.keys():
        tx.connection.execute(f'DROP INDEX "{name}"')
    for name, text in wanted.items():
        if indexes.get(name) != text:
            if name in indexes:
                tx.connection.execute(f'DROP INDEX "{name}"')
            tx.connection.execute(text)
    return None if present else table.name


def columns_of(tx: Transaction, table: str) -> set[str]:
    """The columns that a table of the file has, none when there is no such table."""
    return {row[1] for row in tx.connection.execute(f'PRAGMA table_info("{table}")')}


def create_text(table: Table) -> str:
    """The statement that makes a table."""
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
    """[(name, the statement that makes the index)]."""
    texts = []
    for index in table.indexes:
        name = index_name(table, index)
        columns = ", ".join(f'"{column}"' for column in index.columns)
        unique = "UNIQUE " if index.unique else ""
        where = f" WHERE {index.where}" if index.where else ""
        texts.append((name, f'CREATE {unique}INDEX "{name}" ON "{table.name}" ({columns}){where}'))
    return texts


def _triggers(table: Table) -> list[tuple[str, str]]:
    """Version counters and counts are kept by triggers: no code path can forget them, nor another program."""
    texts = []
    for version, columns in table.bumps.items():
        of = " OF {}".format(", ".join(f'"{name}"' for name in columns)) if columns else ""
        for moment, when in (("insert", "INSERT"), ("update", f"UPDATE{of}"), ("delete", "DELETE")):
            name = f"{table.name}_{version}_{moment}"
            count = f"UPDATE version SET value = value + 1 WHERE name = '{version}';"
            texts.append((name, f'CREATE TRIGGER "{name}" AFTER {when} ON "{table.name}" BEGIN {count} END'))
    return [*texts, *(text for kept in table.counts for text in _count_triggers(kept))]


def _count_triggers(kept: KeptCounts) -> list[tuple[str, str]]:
    name, table, columns = kept.name, kept.of.name, kept.columns
    new, old = kept.values("NEW"), kept.values("OLD")
    more = f'INSERT INTO "{name}" ({columns}, n) VALUES ({", ".join(new)}, 1) ON CONFLICT DO UPDATE SET n = n + 1;'
    those = " AND ".join(f'"{column}" = {value}' for column, value in zip(kept.counts.key, old, strict=True))
    less = f'UPDATE "{name}" SET n = n - 1 WHERE {those}; DELETE FROM "{name}" WHERE {those} AND n <= 0;'
    changed = " OR ".join(f"{after} <> {before}" for after, before in zip(new, old, strict=True))
    moved = f'UPDATE OF {columns} ON "{table}" WHEN {changed}'
    return [
        (f"{name}_insert", f'CREATE TRIGGER "{name}_insert" AFTER INSERT ON "{table}" BEGIN {more} END'),
        (f"{name}_update", f'CREATE TRIGGER "{name}_update" AFTER {moved} BEGIN {less} {more} END'),
        (f"{name}_delete", f'CREATE TRIGGER "{name}_delete" AFTER DELETE ON "{table}" BEGIN {less} END'),
    ]


def indexes_of(tx: Transaction, table: Table) -> set[str]:
    """The names of the indexes of a table that the file has."""
    found = tx.connection.execute("SELECT name FROM sqlite_master WHERE type='index' AND tbl_name = ?", (table.name,))
    return {row[0] for row in found}


def number_of(tx: Transaction) -> int:
    """The number of the schema that the file was brought to."""
    row = tx.connection.execute("PRAGMA user_version").fetchone()
    return int(row[0]) if row else 0


def migrated_at(tx: Transaction) -> int:
    """When the file was migrated last, 0 for never."""
    if not columns_of(tx, "migration"):
        return 0
    row = tx.connection.execute("SELECT MAX(applied_at) FROM migration").fetchone()
    return int(row[0] or 0) if row else 0
