"""Opens desks without a server. What all desks of a process have in common is made once: record types, composed
statements, and a database with its tables."""

from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from server import app
from server.record_types.registry import Registry, load
from server.store import schema
from server.store.database import Store
from server.store.statements import StatementCache
from tests import databases

_free: list[Registry] = []
_statements: WeakKeyDictionary[Registry, StatementCache[Any]] = WeakKeyDictionary()  # of the tables of a registry


def borrow() -> Registry:
    """The record types for one desk. They take more time than the rest of a new desk."""
    return _free.pop() if _free else load()


def give_back(registry: Registry) -> None:
    """Keeps the record types for the next desk, unless custom types were ever added to them."""
    if not registry.revision:
        _free.append(registry)


def opened(folder: Path, registry: Registry, copied: bytes = b"", **options: Any) -> Store:
    """The store of a data folder, which is created with all tables and no record. copied: the file of another desk,
    for a new folder."""
    file = folder / databases.FILE
    is_new = not file.exists() and not databases.is_postgresql()
    if is_new and copied:
        file.write_bytes(copied)
    databases.begin_empty(file)
    if is_new:  # its tables are those of this program
        store = schema.opened(file, **options)
    else:
        store = schema.open_store(file, app.all_tables(registry), registry.texts(), **options)
    store.statements = _statements.setdefault(registry, store.statements)
    return store
