"""The databases of tests: files in a folder, or with --store=postgresql one PostgreSQL database per folder.

A folder has one database, so that opening the folder again finds the same data. A database is created from a template
that has the tables of this version. When its test or module has ended it is emptied for the next one, which takes a
tenth of the time of a new one, or dropped if its tables were changed. A database without tables only loses the tables
created since."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw

from server.store import schema
from server.store.database import Store
from server.store.sqlite import SqliteStore
from tests.postgresql import Guarded

STORES = ("sqlite", "postgresql")
VARIABLE = "TEST_POSTGRESQL"  # the address of the server that all processes of a run share
TEMPLATE, BLANK = "helpdesk_template", "helpdesk_blank"  # one with all tables, one empty
FILE = "helpdesk.db"
HANDED_ON = "TEST_PLACES"  # {folder: its database}, for a process that opens folders of a test
MAX_USES = 100  # bytes of a database: deleted rows still occupy its files
KEPT = ("meta", "migration", "version")  # tables that have rows in the template
# Changes with any change of tables, indexes and triggers.
OUTLINE = """SELECT (SELECT sum(hashtext(relname || oid)) FROM pg_class), (SELECT count(*) FROM pg_attribute),
    (SELECT sum(oid::bigint) FROM pg_trigger), (SELECT sum(oid::bigint) FROM pg_proc)"""
EMPTYING = """DO $$ DECLARE each record; found boolean; BEGIN
    FOR each IN SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %I)', each.relname) INTO found;
        IF found THEN EXECUTE format('DELETE FROM %I', each.relname); END IF;
    END LOOP;
    FOR each IN SELECT sequencename FROM pg_sequences WHERE last_value IS NOT NULL LOOP
        EXECUTE format('ALTER SEQUENCE %I RESTART', each.sequencename);
    END LOOP;
END $$"""

BARING = """DO $$ DECLARE each record; BEGIN
    FOR each IN SELECT oid::regclass AS name FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace LOOP
        EXECUTE format('DROP TABLE IF EXISTS %s CASCADE', each.name);
    END LOOP;
    FOR each IN SELECT oid::regprocedure AS name FROM pg_proc
        WHERE starts_with(proname, 'svc_') AND pronamespace = 'public'::regnamespace LOOP
        EXECUTE format('DROP FUNCTION %s', each.name);
    END LOOP;
END $$"""


@dataclass
class Made:
    """A database. is_kept: until the end of the run, for fixtures of the session."""

    name: str
    template: str
    outline: Any
    is_kept: bool = False
    uses: int = 0


_made: dict[Path, Made] = {}  # folder or file: database
_free: list[Made] = []
_begun: dict[str, Any] = {"is_kept": False, "number": 0}


def is_postgresql() -> bool:
    return VARIABLE in os.environ


def begin_empty(file: Path) -> None:
    """Copies a database with all tables and no record to a file, unless there is one. A copy takes a tenth of the time
    of creating the tables. In PostgreSQL databases are copied anyway."""
    if not is_postgresql() and not file.exists():
        file.write_bytes(_new_file())


def begin_folder(data: Path) -> None:
    """Creates a data folder with such a database; see begin_empty."""
    if not is_postgresql():
        data.mkdir(mode=0o700, parents=True)
        begin_empty(data / FILE)


@cache
def _new_file() -> bytes:
    with TemporaryDirectory() as folder:
        file = Path(folder) / FILE
        _create(file)
        return file.read_bytes()


def environment(data: Path) -> Mapping[str, str]:
    """The environment variables of a process that uses the data folder `data`."""
    return {"HELPDESK_DATABASE": address_of(data)} if is_postgresql() else {}


def handed_on() -> Mapping[str, str]:
    """The environment variables of a process that opens folders of this test; see take_over."""
    places = {str(place): made.name for place, made in _made.items()}
    return {HANDED_ON: json.dumps(places)} if is_postgresql() else {}


def take_over() -> None:
    """In such a process: opens the databases of the test under the same paths."""
    if is_postgresql():
        for place, name in json.loads(os.environ[HANDED_ON]).items():
            _made[Path(place)] = Made(name, TEMPLATE, None)
        schema.opened = opened_in_place(schema.opened)


def place_of(path: Path) -> Path | str:
    """The location of a test's database: the file, or the database that stands in for it."""
    return address_of(path) if is_postgresql() else path


def address_of(path: Path, template: str = TEMPLATE) -> str:
    """The database of a data folder or of a file, created on first use."""
    place = path.parent if path.name == FILE else path
    if place not in _made:
        found = next((each for each in _free if each.template == template), None)
        if found is None:
            found = _new(template)
        else:
            _free.remove(found)
        found.is_kept = _begun["is_kept"]
        found.uses += 1
        _made[place] = found
    return _address(_made[place].name)


def _new(template: str) -> Made:
    _begun["number"] += 1
    name = f"t{os.getpid()}_{_begun['number']}"
    with _administrator() as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
    with _administrator(name) as connection:
        return Made(name, template, connection.execute(OUTLINE).fetchone())


@contextmanager
def opened(data: Path) -> Iterator[Any]:
    """A second connection to the database of a data folder, with execute(text).fetchall()."""
    if is_postgresql():
        with _administrator(_made[data].name) as connection:
            yield connection
        return
    connection = apsw.Connection(str(data / FILE))
    try:
        yield connection
    finally:
        connection.close()


def everything(data: Path) -> dict[str, bytes]:
    """The contents of a data folder, by the names of its files, and of the tables of its database."""
    found = {path.name: path.read_bytes() for path in data.rglob("*") if path.is_file()}
    if is_postgresql():
        with opened(data) as connection:
            found.update({name: _copied(connection, name) for name in tables(connection)})
    return found


def _copied(connection: Any, table: str) -> bytes:
    with connection.cursor() as cursor, cursor.copy(f'COPY "{table}" TO STDOUT (FORMAT binary)') as rows:
        return b"".join(bytes(row) for row in rows)


def tables(connection: Any) -> list[str]:
    """The names of all tables."""
    return _named(
        connection,
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
        "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'",
    )


def indexes(connection: Any) -> list[str]:
    """The names of all indexes."""
    return _named(
        connection,
        "SELECT name FROM sqlite_master WHERE type = 'index'",
        "SELECT indexname::text FROM pg_indexes WHERE schemaname = 'public'",
    )


def triggers(connection: Any) -> list[str]:
    """The names of all triggers."""
    return _named(
        connection,
        "SELECT name FROM sqlite_master WHERE type = 'trigger'",
        "SELECT tgname::text FROM pg_trigger WHERE NOT tgisinternal",
    )


def _named(connection: Any, of_sqlite: str, of_postgresql: str) -> list[str]:
    return [row[0] for row in connection.execute(of_postgresql if is_postgresql() else of_sqlite).fetchall()]


def copytree(source: Path, target: Path) -> Path:
    """Like shutil.copytree, for a data folder that is not in use."""
    shutil.copytree(source, target)
    if is_postgresql():
        _copy(_made[source].name, target)
    return target


def copy(store: Store, folder: Path) -> None:
    """Copies the database of an open store into a folder."""
    if isinstance(store, SqliteStore):
        store.checkpoint()
        shutil.copy(store.file, folder)
    else:
        _copy(next(each.name for each in _made.values() if f"/{each.name}?" in store.address), folder)


def _copy(name: str, target: Path) -> None:
    with _administrator() as connection:  # a template must have no other connections
        connection.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", (name,))
    copied = _new(name)
    copied.is_kept = _begun["is_kept"]
    _made[target] = copied


def begin(is_kept: bool) -> bool:
    """Sets whether databases created from now on live until the end of the run; returns the previous setting."""
    was: bool = _begun["is_kept"]
    _begun["is_kept"] = is_kept
    return was


def drop(folder: Path | None = None) -> None:
    """Drops the databases of a folder, or all that do not live until the end of the run."""
    for place, found in list(_made.items()):
        if place.is_relative_to(folder) if folder else not found.is_kept:
            _take_back(place)


def _take_back(place: Path) -> None:
    made = _made.pop(place)
    if made.uses < MAX_USES and _is_as_new(made):
        _free.append(made)
        return
    with _administrator() as connection:
        connection.execute(f"DROP DATABASE {made.name} WITH (FORCE)")


def _is_as_new(made: Made) -> bool:
    """Resets the database to its template; False if that is impossible."""
    with _administrator(made.name) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        if made.template == BLANK:
            connection.execute(BARING)
        if connection.execute(OUTLINE).fetchone() != made.outline:
            return False
        if made.template == BLANK:
            return True
        if connection.execute("SELECT 1 FROM process").fetchone():  # a process may live, and connect again
            return False
        _empty(connection)
    return True


def _empty(connection: Any) -> None:
    connection.execute("SET session_replication_role = replica")  # no triggers, no foreign keys
    connection.execute(EMPTYING)
    for table, rows in _kept().items():
        for row in rows:
            connection.execute(f'INSERT INTO "{table}" VALUES ({", ".join(["%s"] * len(row))})', row)


@cache
def _kept() -> dict[str, list[Any]]:
    with _administrator(TEMPLATE) as connection:
        return {table: connection.execute(f'SELECT * FROM "{table}"').fetchall() for table in KEPT}


def start() -> Guarded:
    """Starts PostgreSQL for this run and its child processes."""
    server = Guarded()
    os.environ[VARIABLE] = server.address
    with _administrator() as connection:
        connection.execute(f"CREATE DATABASE {BLANK}")
        connection.execute(f"CREATE DATABASE {TEMPLATE}")
    with _administrator(BLANK) as connection:
        connection.execute("CREATE EXTENSION citext")
    _create(_address(TEMPLATE))
    return server


def _create(where: Path | str) -> None:
    """Creates all tables in a file, or in the PostgreSQL database of an address."""
    from server import app
    from server.automation import saving
    from server.record_types.registry import load
    from server.store.schema import open_store

    registry = load()
    saving.register()
    open_store(where, app.all_tables(registry), registry.texts()).close()


def opened_in_place(opened: Callable[..., Any]) -> Callable[..., Any]:
    """Like schema.opened, with a database in place of the file; for stores that tests open in their own process."""

    def in_place(where: Path | str, **options: Any) -> Any:
        return opened(place_of(where) if isinstance(where, Path) else where, **options)

    return in_place


def _address(name: str) -> str:
    return os.environ[VARIABLE].replace("/postgres?", f"/{name}?")


def _administrator(database: str = "postgres") -> Any:
    import psycopg

    return psycopg.connect(_address(database), autocommit=True)
