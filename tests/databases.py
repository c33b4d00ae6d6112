"""Where the data of a test is: in a file of its folder, or with --store=postgresql in a database of its own.

A database belongs to one folder, as a file does: who opens the folder again finds what was there. It is made from a
template that has the tables of this version, by whoever asks for it first, and dropped with the folder."""

import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.postgresql import Guarded

STORES = ("sqlite", "postgresql")
VARIABLE = "TEST_POSTGRESQL"  # the address of the server that a run of the tests shares
TEMPLATE, BLANK = "helpdesk_template", "helpdesk_blank"  # one with all tables, one with none
FILE = "helpdesk.db"
_made: dict[Path, tuple[str, str]] = {}  # {folder or file: (its database, the scope of the fixture that made it)}
_begun = {"scope": "function"}


def is_postgresql() -> bool:
    return VARIABLE in os.environ


def environment(data: Path) -> Mapping[str, str]:
    """What a process is told that is to use the data folder `data`."""
    return {"HELPDESK_DATABASE": address_of(data)} if is_postgresql() else {}


def place_of(path: Path) -> Path | str:
    """Where a test's database file is: itself, or the database in its place."""
    return address_of(path) if is_postgresql() else path


def address_of(path: Path, template: str = TEMPLATE) -> str:
    """The database of a data folder, or of a file; made when there is none."""
    place = path.parent if path.name == FILE else path
    if place not in _made:
        name = "t" + hashlib.sha256(os.fsencode(place)).hexdigest()[:24]
        with _administrator() as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone():
                connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        _made[place] = name, _begun["scope"]
    return _address(_made[place][0])


def begin(scope: str) -> None:
    """What is made from now on is for a fixture of this scope; "function" for a test itself."""
    _begun["scope"] = scope


def drop(scope: str) -> None:
    """Drop the databases that were made for this scope."""
    dropped = [place for place, (_, made_for) in _made.items() if made_for == scope]
    if dropped:
        with _administrator() as connection:
            for place in dropped:
                connection.execute(f"DROP DATABASE IF EXISTS {_made.pop(place)[0]} WITH (FORCE)")


def start() -> Guarded:
    """Start PostgreSQL for this run and the processes that it starts."""
    server = Guarded()
    os.environ[VARIABLE] = server.address
    with _administrator() as connection:
        connection.execute(f"CREATE DATABASE {BLANK}")
        connection.execute(f"CREATE DATABASE {TEMPLATE}")
    with _administrator(BLANK) as connection:
        connection.execute("CREATE EXTENSION citext")
    _fill_template()
    return server


def _fill_template() -> None:
    from server import app
    from server.automation import saving
    from server.records.registry import load
    from server.store.schema import open_store

    registry = load()
    saving.register()
    open_store(_address(TEMPLATE), app.all_tables(registry), registry.texts()).close()


def opened_in_place(opened: Callable[..., Any]) -> Callable[..., Any]:
    """As schema.opened, but a file is opened in its place; for stores that tests open in their own process."""

    def in_place(where: Path | str, **options: Any) -> Any:
        return opened(place_of(where) if isinstance(where, Path) else where, **options)

    return in_place


def _address(name: str) -> str:
    return os.environ[VARIABLE].replace("/postgres?", f"/{name}?")


def _administrator(database: str = "postgres") -> Any:
    import psycopg

    return psycopg.connect(_address(database), autocommit=True)
