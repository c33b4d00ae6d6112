"""Brings the file in line with the declared tables: what is additive is added at start, everything else is a migration.

A file of a newer version, or of another program, is refused and left as it is."""

import hashlib
import os
import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Literal

import apsw

from server import clock, settings
from server.discovery import load_all
from server.errors import Damaged
from server.store import fulltext, migrations
from server.store.copying import PART, copy_database
from server.store.database import APPLICATION_ID, Store
from server.store.faults import as_helpdesk_error
from server.store.tables import Column, Table
from server.store.transaction import Transaction

PROGRAM = "program"  # the row of META that names the version which had the file open last
SCHEMA_NUMBER = 1  # raised by hand when an older program must not open the file any more

META = Table("meta", [Column("name", "TEXT"), Column("value", "ANY", null=True)], key=("name",))
MIGRATION = Table("migration", [Column("name", "TEXT"), Column("applied_at")], key=("name",))
COPIED_AT = re.compile(r"[0-9]{9,12}")  # as the name of a copy ends
VERSION = Table("version", [Column("name", "TEXT"), Column("value")], key=("name",))


def open_store(path: Path, tables: Iterable[Table], texts: Iterable[fulltext.TextIndex], **options: object) -> Store:
    """The store of this file, created or brought up to date.

    Raises Damaged for a file that is foreign, newer, damaged or not writable."""
    refuse_foreign(path)
    try:
        store = Store(path, **options)  # type: ignore[arg-type]
    except apsw.Error as error:
        raise Damaged(f"{path} is not a database of this program, or it is damaged: {error}") from error
    try:
        synchronize(store, [META, MIGRATION, VERSION, fulltext.TEXT_FILL, *tables], list(texts))
    except BaseException as error:
        store.close()
        raise as_helpdesk_error(error) from None
    return store


def synchronize(store: Store, tables: list[Table], texts: list[fulltext.TextIndex]) -> None:
    """Run due migrations, then add what is missing: tables, columns, indexes, triggers, full-text indexes."""
    store.read(_refuse_newer)
    due, is_new = store.read(_due_migrations)
    if due and not is_new:
        copy_before_migration(store)
    for name, module in due:
        store.write(partial(_migrate, name, None if is_new else module))
    if store.read(lambda tx: _differs(tx, tables, texts)):
        store.write(lambda tx: _add_missing(tx, tables, texts))
        store.statements.forget()
    program = f"{settings.VERSION} ({settings.BUILD})"
    if store.read(lambda tx: tx.first(META, name=PROGRAM)) != (PROGRAM, program):
        store.write(lambda tx: tx.put(META, {"name": PROGRAM, "value": program}))


def add_tables(tx: Transaction, tables: Iterable[Table]) -> None:
    """Add tables that come and go while the service runs, or what they lack. They have no triggers and no summaries."""
    for table in tables:
        _add_table(tx, table)


def drop_table(tx: Transaction, table: Table) -> None:
    """Remove such a table with its rows."""
    tx.connection.execute(f'DROP TABLE IF EXISTS "{table.name}"')


def lacks(tx: Transaction, tables: Iterable[Table]) -> bool:
    """Whether the file lacks any of these tables or columns."""
    return any(not set(table.names) <= _columns(tx, table.name) for table in tables)


def _differs(tx: Transaction, tables: list[Table], texts: list[fulltext.TextIndex]) -> bool:
    """Whether the declarations are another than those that this file was brought in line with last."""
    known = tx.connection.execute("SELECT name FROM sqlite_master WHERE name = 'meta'").fetchone()
    if not known:
        return True
    row = tx.connection.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
    return row is None or row[0] != _fingerprint(tables, texts)


def _fingerprint(tables: list[Table], texts: list[fulltext.TextIndex]) -> str:
    """A digest of all that `_add_missing` would write."""
    parts = [fulltext.create_text(text) for text in texts]
    for table in _with_summaries(tables):
        parts += [_create_text(table), *(text for _, text in _index_texts(table))]
    parts += [text for table in tables for _, text in _triggers(table)]
    return hashlib.sha256("\n".join([str(SCHEMA_NUMBER), *parts]).encode()).hexdigest()


def problems(tx: Transaction, tables: Iterable[Table], texts: Iterable[fulltext.TextIndex]) -> list[str]:
    """What the file lacks of the declarations, [] when nothing: for `helpdesk check`."""
    found = []
    for table in _with_summaries(tables):
        present = _columns(tx, table.name)
        if not present:
            found.append(f"table {table.name} is missing")
            continue
        found += [f"column {table.name}.{name} is missing" for name in table.names if name not in present]
        indexes = {row[0] for row in tx.connection.execute("SELECT name FROM sqlite_master WHERE type='index'")}
        found += [f"index {name} is missing" for name, _ in _index_texts(table) if name not in indexes]
    for text in texts:
        if not _columns(tx, text.name):
            found.append(f"full-text index {text.name} is missing")
        else:
            found += fulltext.problems(tx, text)
    return found


def copy_before_migration(store: Store) -> Path:
    """Copy the file beside itself through SQLite's own backup; answers the copy's path.

    Copies of starts that were killed or failed before any migration was done hold nothing that this one lacks, and go:
    a service that is restarted again and again would fill the disk with them."""
    for unfinished in store.path.parent.glob(f"{store.path.name}.before-*{PART}*"):  # of a start that was killed
        unfinished.unlink()
    copy = store.path.with_name(f"{store.path.name}.before-{clock.now()}")
    copy.unlink(missing_ok=True)  # of a start within the same second
    copy_database(store.path, copy)
    migrated_at = store.read(_migrated_at)
    for earlier in store.path.parent.glob(f"{store.path.name}.before-*"):
        made_at = earlier.name.removeprefix(f"{store.path.name}.before-")
        if earlier != copy and COPIED_AT.fullmatch(made_at) and int(made_at) > migrated_at:
            earlier.unlink()
    return copy


def _migrated_at(tx: Transaction) -> int:
    """When the file was migrated last, 0 for never."""
    if not _columns(tx, MIGRATION.name):
        return 0
    row = tx.connection.execute("SELECT MAX(applied_at) FROM migration").fetchone()
    return int(row[0] or 0) if row else 0


def refuse_foreign(path: Path) -> None:
    """Raises Damaged for a file that is foreign, newer or has a damaged beginning. Looks at the header before SQLite
    opens the file for writing, so that nothing of it is changed."""
    if not path.exists() or path.stat().st_size == 0:
        return
    match kind_of_file(path):
        case "damaged":
            raise Damaged(f"{path} is not a database of this program, or its beginning is damaged; restore a backup")
        case "foreign":
            raise Damaged(f"{path} belongs to another program; choose another data folder")
        case "newer":
            raise Damaged(f"{path} was written by a newer version of this program; start that version")


def kind_of_file(path: Path) -> Literal["ours", "foreign", "newer", "damaged", "short"]:
    """What a file is by its header. short: it ends before its last page. Not for a database that this process has open:
    to close a file takes SQLite's locks on it away. Raises Damaged when it cannot be read."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise Damaged(f"{path} cannot be read ({error.strerror}); check it or choose another") from error
    if len(header) < 100 or not header.startswith(b"SQLite format 3\x00"):
        return "damaged"
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        return "foreign"
    if int.from_bytes(header[60:64], "big") > SCHEMA_NUMBER:
        return "newer"
    page_size = int.from_bytes(header[16:18], "big")
    is_told = header[24:28] == header[92:96]  # else an old program wrote last, which did not count pages
    pages = int.from_bytes(header[28:32], "big") if is_told else 0
    return "short" if size < pages * (65536 if page_size == 1 else page_size) else "ours"


def _refuse_newer(tx: Transaction) -> None:
    """The header may be behind the log, so SQLite is asked too."""
    row = tx.connection.execute("PRAGMA user_version").fetchone()
    number = int(row[0]) if row else 0
    if number > SCHEMA_NUMBER:
        raise Damaged(f"{tx.store.path} was written by a newer version of this program; start that version")


def _due_migrations(tx: Transaction) -> tuple[list[tuple[str, ModuleType]], bool]:
    """The migrations that this file has not seen, and whether the file is empty."""
    is_new = not _columns(tx, "meta")
    done = set() if is_new else {row[0] for row in tx.connection.execute("SELECT name FROM migration")}
    return [(name, module) for name, module in all_migrations() if name not in done], is_new


def all_migrations() -> list[tuple[str, ModuleType]]:
    """Every migration module by name, in order."""
    found = load_all(migrations.__name__, migrations.__path__)
    return [(each.__name__.rpartition(".")[2], each) for each in found]


def _migrate(name: str, module: ModuleType | None, tx: Transaction) -> None:
    """Run one migration and note it; a new file has nothing to migrate and only notes it."""
    for table in (META, MIGRATION):
        tx.connection.execute(_create_text(table))
    if module is not None:
        module.up(tx)
    tx.put(MIGRATION, {"name": name, "applied_at": clock.now()})


def _add_missing(tx: Transaction, tables: list[Table], texts: list[fulltext.TextIndex]) -> None:
    execute = tx.connection.execute
    execute(f"PRAGMA application_id={APPLICATION_ID}").fetchall()
    execute(f"PRAGMA user_version={SCHEMA_NUMBER}").fetchall()
    for table in tables:  # a summary by other columns than before is counted anew
        if table.summary and _columns(tx, table.summary_table.name) != set(table.summary_table.names):
            execute(f'DROP TABLE IF EXISTS "{table.summary_table.name}"')
    filled = [_add_table(tx, table) for table in _with_summaries(tables)]
    wanted = dict(trigger for table in tables for trigger in _triggers(table))
    present = {row[0]: row[1] for row in execute("SELECT name, sql FROM sqlite_master WHERE type='trigger'")}
    for name in present.keys() - wanted.keys():
        execute(f'DROP TRIGGER "{name}"')
    for name, text in wanted.items():
        if present.get(name) != text:
            if name in present:
                execute(f'DROP TRIGGER "{name}"')
            execute(text)
    for table in tables:
        for version in table.bumps:
            execute("INSERT OR IGNORE INTO version (name, value) VALUES (?, 1)", (version,))
        if table.summary and table.summary_table.name in [name for name in filled if name]:
            columns = ", ".join(f'"{name}"' for name in table.summary)
            execute(
                f'INSERT INTO "{table.summary_table.name}" ({columns}, n) '
                f'SELECT {columns}, count(*) FROM "{table.name}" GROUP BY {columns}'
            )
    for index in texts:
        if not fulltext.has_parts(tx, index):
            fulltext.make(tx, index)
    tx.put(META, {"name": "schema", "value": _fingerprint(tables, texts)})


def _with_summaries(tables: Iterable[Table]) -> list[Table]:
    listed = list(tables)
    return listed + [table.summary_table for table in listed if table.summary]


def _add_table(tx: Transaction, table: Table) -> str | None:
    """Add a table or its missing columns and indexes; answers its name when it is new."""
    present = _columns(tx, table.name)
    if not present:
        tx.connection.execute(_create_text(table))
    else:
        for column in table.columns:
            if column.name not in present:
                tx.connection.execute(f'ALTER TABLE "{table.name}" ADD COLUMN {_column_text(column)}')
    found = tx.connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type='index' AND tbl_name=? AND sql IS NOT NULL", (table.name,)
    )
    indexes = {row[0]: row[1] for row in found}
    wanted = dict(_index_texts(table))
    for name in indexes.keys() - wanted.keys():
        tx.connection.execute(f'DROP INDEX "{name}"')
    for name, text in wanted.items():
        if indexes.get(name) != text:
            if name in indexes:
                tx.connection.execute(f'DROP INDEX "{name}"')
            tx.connection.execute(text)
    return None if present else table.name


def _columns(tx: Transaction, table: str) -> set[str]:
    return {row[1] for row in tx.connection.execute(f'PRAGMA table_info("{table}")')}


def _create_text(table: Table) -> str:
    columns = [_column_text(column) for column in table.columns]
    if table.key:
        columns.append("PRIMARY KEY ({})".format(", ".join(f'"{name}"' for name in table.key)))
        return f'CREATE TABLE IF NOT EXISTS "{table.name}" ({", ".join(columns)}) STRICT, WITHOUT ROWID'
    columns.insert(0, "id INTEGER PRIMARY KEY AUTOINCREMENT")
    return f'CREATE TABLE IF NOT EXISTS "{table.name}" ({", ".join(columns)}) STRICT'


def _column_text(column: Column) -> str:
    text = f'"{column.name}" {column.kind}'
    if column.nocase:
        text += " COLLATE NOCASE"
    if not column.null:
        text += f" NOT NULL DEFAULT {_literal(column.initial)}"
    if column.references:
        text += f" REFERENCES {column.references} ON DELETE CASCADE"
    return text


def _literal(value: object) -> str:
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, str):
        return "'{}'".format(value.replace("'", "''"))
    return str(value)


def _index_texts(table: Table) -> list[tuple[str, str]]:
    texts = []
    for index in table.indexes:
        name = "{}_by_{}".format(table.name, "_".join(re.sub(r"\W", "", column) for column in index.columns))
        columns = ", ".join(f'"{column}"' for column in index.columns)
        unique = "UNIQUE " if index.unique else ""
        where = f" WHERE {index.where}" if index.where else ""
        texts.append((name, f'CREATE {unique}INDEX "{name}" ON "{table.name}" ({columns}){where}'))
    return texts


def _triggers(table: Table) -> list[tuple[str, str]]:
    """Version counters and summaries are kept by triggers: no code path can forget them, nor another program."""
    texts = []
    for version, columns in table.bumps.items():
        of = " OF {}".format(", ".join(f'"{name}"' for name in columns)) if columns else ""
        for moment, when in (("insert", "INSERT"), ("update", f"UPDATE{of}"), ("delete", "DELETE")):
            name = f"{table.name}_{version}_{moment}"
            count = f"UPDATE version SET value = value + 1 WHERE name = '{version}';"
            texts.append((name, f'CREATE TRIGGER "{name}" AFTER {when} ON "{table.name}" BEGIN {count} END'))
    if table.summary:
        texts += _summary_triggers(table)
    return texts


def _summary_triggers(table: Table) -> list[tuple[str, str]]:
    summary, columns = table.summary_table.name, table.summary
    listed = ", ".join(f'"{name}"' for name in columns)
    new = ", ".join(f'NEW."{name}"' for name in columns)
    old = " AND ".join(f'"{name}" = OLD."{name}"' for name in columns)
    more = f'INSERT INTO "{summary}" ({listed}, n) VALUES ({new}, 1) ON CONFLICT DO UPDATE SET n = n + 1;'
    less = f'UPDATE "{summary}" SET n = n - 1 WHERE {old}; DELETE FROM "{summary}" WHERE {old} AND n <= 0;'
    changed = " OR ".join(f'NEW."{name}" <> OLD."{name}"' for name in columns)
    name = f"{table.name}_summary"
    moved = f'UPDATE OF {listed} ON "{table.name}" WHEN {changed}'
    return [
        (f"{name}_insert", f'CREATE TRIGGER "{name}_insert" AFTER INSERT ON "{table.name}" BEGIN {more} END'),
        (f"{name}_update", f'CREATE TRIGGER "{name}_update" AFTER {moved} BEGIN {less} {more} END'),
        (f"{name}_delete", f'CREATE TRIGGER "{name}_delete" AFTER DELETE ON "{table.name}" BEGIN {less} END'),
    ]
