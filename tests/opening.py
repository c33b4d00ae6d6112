"""Opens desks without a server. All desks of a process share the record types, the composed statements and the file of
a new database, which are created once."""

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
_statements: WeakKeyDictionary[Registry, StatementCache[Any]] = WeakKeyDictionary()


def borrow() -> Registry:
    """Returns the record types for one desk; creating them would take longer than the rest of the desk."""
    return _free.pop() if _free else load()


def give_back(registry: Registry) -> None:
    """Keeps the record types for the next desk, unless custom types were added to them."""
    if not registry.revision:
        _free.append(registry)


def opened(folder: Path, registry: Registry, copied: bytes = b"", **options: Any) -> Store:
    """Opens the store of a data folder. A new folder gets a database without records, or the copied one."""
    file = folder / databases.FILE
    is_new = not file.exists() and not databases.is_postgresql()
    if is_new and copied:
        file.write_bytes(copied)
    databases.begin_empty(file)
    if is_new:  # its tables need no comparison with those of the program
        store = schema.opened(file, **options)
    else:
        store = schema.open_store(file, app.all_tables(registry), registry.texts(), **options)
    store.statements = _statements.setdefault(registry, store.statements)
    return store
