"""The record types, found in this folder and in the folder types/ of each room: a new file adds a type.

A uri takes precedence over an alias of another type; singular and plural, aliases and full contexts all name a type."""

import copy
import importlib
import importlib.util
import pkgutil
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from server.discovery import load_all
from server.errors import NotFound, nearest
from server.fields import Field
from server.record_types.record_type import RecordType
from server.record_types.shared.relation_tables import SHARED
from server.store import blobs
from server.store.fulltext import TextIndex
from server.store.tables import Table

_NONE: dict[str, RecordType] = {}


class Registry:
    """The record types by all their names: the built-in ones, and the custom ones created by administrators.

    revision: rises when custom types change. cache: values computed for types by other modules; cleared on each
    change."""

    def __init__(self, types: Iterable[RecordType]) -> None:
        self._built_in = sorted(types, key=lambda each: each.uri)
        self.built_in_names = frozenset(name for each in self._built_in for name in (each.uri, *names_of(each)))
        self.custom: tuple[RecordType, ...] = ()
        self.revision = 0
        self.cache: dict[Any, Any] = {}
        self.renew: Callable[[], object] = lambda: None  # reloads changes of other processes
        self._here = threading.local()
        self._index()
        for each in self._built_in:
            each.bind(self)

    def replace_custom(self, types: Iterable[RecordType]) -> None:
        """Replaces the custom types. Concurrent readers see the old or the new ones."""
        self.custom = tuple(types)
        self._index()
        self.revision += 1
        self.cache = {}

    def without_custom(self) -> "Registry":
        """A copy with the built-in types only, which are public."""
        copied = copy.copy(self)
        copied.custom = ()
        copied.cache = {}
        copied._index()
        return copied

    def _index(self) -> None:
        by_uri = {each.uri: each for each in self.custom} | {each.uri: each for each in self._built_in}
        by_name: dict[str, RecordType] = {}
        for each in (*self._built_in, *self.custom):
            for name in names_of(each):
                by_name.setdefault(name, each)
        self._by_uri = dict(sorted(by_uri.items()))
        self._by_name = by_name | by_uri

    def __iter__(self) -> Iterator[RecordType]:
        return iter(self._by_uri.values())

    @contextmanager
    def provisionally(self, types: Iterable[RecordType]) -> Iterator[None]:
        """Adds custom types for this thread until the transaction that creates them is committed."""
        self._here.types = {name: each for each in types for name in (*names_of(each), each.uri)}
        try:
            yield
        finally:
            self._here.types = _NONE

    def find(self, name: str) -> RecordType | None:
        """The type of a uri, alias or context, None if unknown. Case-sensitive."""
        record_type = self._by_name.get(name)
        return record_type if record_type is not None else getattr(self._here, "types", _NONE).get(name)

    def type(self, name: str) -> RecordType:
        """The type of a uri, alias or context. Raises NotFound with the nearest name."""
        record_type = self._by_name.get(name) or self.find(name)
        if record_type is None:  # another process may have just created it
            self.renew()
            record_type = self.find(name)
        if record_type is None:
            raise NotFound(f"there is no record type '{name[:80]}'{nearest(name, self._by_name)}", type=name)
        return record_type

    def uris(self) -> list[str]:
        """Every uri, sorted."""
        return list(self._by_uri)

    def tables(self) -> list[Table]:
        """The tables of the built-in types, and those between types. For custom types, see shared/custom_types.py."""
        tables = [each.table for each in self._built_in]
        for each in self._built_in:
            tables += each.tables
        return [*tables, *SHARED, blobs.BLOB, blobs.BLOB_PIECE]

    def texts(self) -> list[TextIndex]:
        """The full-text indexes of all types."""
        return [each.text for each in self._built_in if each.text is not None]


def names_of(record_type: RecordType) -> list[str]:
    """The names of a type besides its uri."""
    singular, plural = record_type.label_names
    return [name for name in (record_type.context, *record_type.aliases, plural.lower(), singular.lower()) if name]


def load() -> Registry:
    """The registry of every record type in this folder and the rooms."""
    return Registry(each() for each in _types())


@cache
def _types() -> tuple[type[RecordType], ...]:
    from server import record_types

    classes = []
    places = (record_types, *_types_of_rooms())
    for module in [each for place in places for each in load_all(place.__name__, place.__path__)]:
        for value in vars(module).values():
            is_type = isinstance(value, type) and issubclass(value, RecordType) and value.__module__ == module.__name__
            if is_type and value.uri:
                classes.append(value)
    return tuple(classes)


def _types_of_rooms() -> list[ModuleType]:
    """The folders types/ of the rooms. Rooms are not imported by name, since they are upper layers."""
    above = Path(__file__).parent.parent
    rooms = sorted(info.name for info in pkgutil.iter_modules([str(above)]) if info.ispkg)
    folders = [f"server.{room}.types" for room in rooms]
    return [importlib.import_module(each) for each in folders if importlib.util.find_spec(each) is not None]


def field_kinds() -> list[str]:
    """Every kind of field, by its name in declarations."""
    kinds = {kind.type for kind in _kinds(Field) if kind.type}
    return sorted(kinds)


def _kinds(base: type[Field]) -> list[type[Field]]:
    kinds = [base]
    for each in base.__subclasses__():
        kinds += _kinds(each)
    return kinds
