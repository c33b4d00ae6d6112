"""Brings the database in line with the declared tables: additions happen at start, everything else by a migration.

A database of a newer version, or of another program, is rejected and left unchanged."""

import gc
import hashlib
import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Literal

import apsw

from server import clock, settings
from server.discovery import load_all
from server.errors import Damaged
from server.store import fulltext, migrations, words
from server.store.database import Store
from server.store.sqlite import SqliteStore
from server.store.sqlite_schema import APPLICATION_ID, SCHEMA_NUMBER
from server.store.tables import Column, Table, index_name, with_counts
from server.store.transaction import Transaction

PROGRAM = "program"  # the row of META with the last version that opened the file
SCHEMA = "schema"  # the row with the digest of the declarations
WORDS = "words"  # the row with the version of words.py that indexed the texts
BEGUN = (
    "it is a begun copy of another database, and none that can be used yet; finish it with "
    "`helpdesk migrate-database`, or remove it"
)

META = Table("meta", [Column("name", "TEXT"), Column("value", "TEXT")], key=("name",))
MIGRATION = Table("migration", [Column("name", "TEXT"), Column("applied_at")], key=("name",))
MOVING = Table(
    "moving", [Column("name", "TEXT"), Column("value", "TEXT")], key=("name",)
)  # marks an unfinished copy: moving.py
VERSION = Table("version", [Column("name", "TEXT"), Column("value")], key=("name",))


def open_store(
    where: Path | str, tables: Iterable[Table], texts: Iterable[fulltext.TextIndex], **options: object
) -> Store:
    """The store of this file, or of the PostgreSQL database of this address, created or brought up to date.

    Raises Damaged for one that is foreign, newer, damaged or not writable."""
    store = opened(where, **options)
    try:
        synchronize(store, base_tables(tables), list(texts))
    except BaseException as error:
        store.close()
        raise store.as_helpdesk_error(error) from None
    return store


def base_tables(tables: Iterable[Table]) -> list[Table]:
    """Returns the tables of every database, followed by these."""
    return [META, MIGRATION, VERSION, fulltext.TEXT_FILL, *tables]


def opened(where: Path | str, **options: object) -> Store:
    """Opens the store without changing its schema. Raises Damaged, Unavailable."""
    if isinstance(where, str):
        try:
            from server.store.postgresql.store import PostgresqlStore  # imported on use: its driver is an extra
        except ImportError as error:
            raise Damaged(
                "the data is in PostgreSQL, and psycopg, which speaks with it, is not installed; install it with: "
                "pip install 'psycopg[binary]', or take the program with its extra: pip install '.[postgresql]'"
            ) from error

        return PostgresqlStore(where, **options)  # type: ignore[arg-type]
    refuse_foreign(where)
    try:
        return SqliteStore(where, **options)  # type: ignore[arg-type]
    except apsw.Error as error:
        raise Damaged(f"{where} is not a database of this program, or it is damaged: {error}") from error


def synchronize(store: Store, tables: list[Table], texts: list[fulltext.TextIndex]) -> None:
    """Runs due migrations, then adds what is missing: tables, columns, indexes, triggers, full-text indexes."""
    if store.read(is_begun_copy):
        raise Damaged(f"{store.place}: {BEGUN}")
    store.refuse_newer()
    due, is_new = store.read(due_migrations)
    if due and not is_new:
        gc.enable()  # it is off during a start (app.py), but a migration may take long
        store.before_migration()
    for name, module in due:
        store.write(partial(_migrate, name, None if is_new else module))
    if store.read(lambda tx: _differs(tx, tables, texts)):
        store.write(lambda tx: add_all(tx, tables, texts))
        store.statements.forget()
    program = f"{settings.VERSION} ({settings.BUILD})"
    if store.read(lambda tx: tx.first(META, name=PROGRAM)) != (PROGRAM, program):
        store.write(lambda tx: tx.put(META, {"name": PROGRAM, "value": program}))


def add_tables(tx: Transaction, tables: Iterable[Table]) -> None:
    """Adds tables that are created at run time, or their missing columns. They have no triggers and no summaries."""
    for table in tables:
        tx.store.add_table(tx, table)


def drop_table(tx: Transaction, table: Table) -> None:
    """Removes such a table with its rows."""
    tx.store.drop_table(tx, table)


def lacks(tx: Transaction, tables: Iterable[Table]) -> bool:
    """Returns whether the database lacks any of these tables or columns."""
    return any(not set(table.names) <= tx.store.columns(tx, table.name) for table in tables)


def _differs(tx: Transaction, tables: list[Table], texts: list[fulltext.TextIndex]) -> bool:
    """Returns whether the declarations have changed since the database was last brought in line."""
    if not tx.store.columns(tx, META.name):
        return True
    row = tx.first(META, name=SCHEMA)
    return row is None or row[1] != _fingerprint(tx.store, tables, texts)


def _fingerprint(store: Store, tables: list[Table], texts: list[fulltext.TextIndex]) -> str:
    """Returns a digest of everything that `add_all` would write."""
    parts = [str(SCHEMA_NUMBER), words.RULES, *store.outlines(tables, texts)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def is_begun_copy(tx: Transaction) -> bool:
    """Returns whether the database is the target of an unfinished copy."""
    return bool(tx.store.columns(tx, MOVING.name))


def add_all(tx: Transaction, tables: list[Table], texts: list[fulltext.TextIndex]) -> None:
    """Adds what the database lacks, and records that it is in line."""
    tx.store.lift_limit(tx)
    tx.store.add_missing(tx, tables)
    for version in sorted({version for table in tables for version in table.bumps}):
        tx.add(VERSION, {"name": version, "value": 1})
    has_other_words = tx.first(META, name=WORDS) != (WORDS, words.RULES)
    for index in texts:
        if tx.store.text_parts(tx, index) != list(index.columns):
            fulltext.make(tx, index)
        elif has_other_words:
            fulltext.refill(tx, index)
        tx.store.complete_text(tx, index)
    tx.put(META, {"name": WORDS, "value": words.RULES})
    tx.put(META, {"name": SCHEMA, "value": _fingerprint(tx.store, tables, texts)})


def problems(tx: Transaction, tables: Iterable[Table], texts: Iterable[fulltext.TextIndex]) -> list[str]:
    """Lists what the database lacks, for `helpdesk check`; [] if it is complete."""
    if is_begun_copy(tx):
        return [BEGUN]
    lines = []
    for table in with_counts(tables):
        present = tx.store.columns(tx, table.name)
        if not present:
            lines.append(f"table {table.name} is missing")
            continue
        lines += [f"column {table.name}.{name} is missing" for name in table.names if name not in present]
        indexes = tx.store.indexes(tx, table)
        names = (index_name(table, index) for index in table.indexes)
        lines += [f"index {name} is missing" for name in names if name not in indexes]
    for text in texts:
        if not tx.store.text_parts(tx, text):
            lines.append(f"full-text index {text.name} is missing")
        else:
            lines += fulltext.problems(tx, text)
    return lines


def refuse_foreign(path: Path) -> None:
    """Raises Damaged for a file that is foreign, newer or has a damaged beginning. Reads the header before SQLite opens
    the file for writing, so that the file stays unchanged."""
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
    """Classifies a file by its header. short: it ends before its last page. Not for a database that this process has
    open: closing the file would release SQLite's locks on it. Raises Damaged if it cannot be read."""
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
    is_told = (
        header[24:28] == header[92:96]
    )  # otherwise an old program wrote last and did not update the count of pages
    pages = int.from_bytes(header[28:32], "big") if is_told else 0
    return "short" if size < pages * (65536 if page_size == 1 else page_size) else "ours"


def due_migrations(tx: Transaction) -> tuple[list[tuple[str, ModuleType]], bool]:
    """Returns the migrations that this database lacks, and whether it is empty."""
    is_new = not tx.store.columns(tx, META.name)
    done = set() if is_new else {row[0] for row in tx.find(MIGRATION)}
    return [(name, module) for name, module in all_migrations() if name not in done], is_new


def all_migrations() -> list[tuple[str, ModuleType]]:
    """Returns every migration module by name, in order."""
    modules = load_all(migrations.__name__, migrations.__path__)
    return [(each.__name__.rpartition(".")[2], each) for each in modules]


def _migrate(name: str, module: ModuleType | None, tx: Transaction) -> None:
    """Runs a migration and records it; a new database only records it. Another process may have run it already."""
    tx.store.lift_limit(tx)
    add_tables(tx, (META, MIGRATION))
    if module is not None and tx.first(MIGRATION, name=name) is None:
        module.up(tx)
    tx.put(MIGRATION, {"name": name, "applied_at": clock.now()})
