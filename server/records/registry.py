"""All record types, found by looking into this folder: adding one is adding a file.

A uri wins over another type's alias; singular and plural, aliases and full contexts all name a type."""

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from types import ModuleType

from server.errors import NotFound, nearest
from server.fields.base import Field
from server.records.base import RecordType
from server.records.shared.tables import SHARED
from server.store import blobs
from server.store.fulltext import Text
from server.store.tables import Table


class Registry:
    """The record types by every name they have."""

    def __init__(self, types: Iterable[RecordType]) -> None:
        self._by_uri = {each.uri: each for each in sorted(types, key=lambda each: each.uri)}
        self._by_name: dict[str, RecordType] = {}
        for each in self._by_uri.values():
            plural = each.label_names[1].lower()
            for name in (each.context, *each.aliases, plural, each.label_names[0].lower()):
                if name:
                    self._by_name.setdefault(name, each)
        self._by_name |= self._by_uri
        for each in self._by_uri.values():
            each.bind(self)

    def __iter__(self) -> Iterator[RecordType]:
        return iter(self._by_uri.values())

    def find(self, name: str) -> RecordType | None:
        """The type of a uri, alias or context, None for an unknown one. Case counts."""
        return self._by_name.get(name)

    def type(self, name: str) -> RecordType:
        """As find. Raises NotFound naming the nearest."""
        found = self._by_name.get(name)
        if found is None:
            raise NotFound(f"there is no record type '{name[:80]}'{nearest(name, self._by_name)}", type=name)
        return found

    def uris(self) -> list[str]:
        """Every uri, sorted."""
        return list(self._by_uri)

    def contexts(self) -> dict[str, str]:
        """{uri: full context}."""
        return {each.uri: each.context for each in self}

    def tables(self) -> list[Table]:
        """The tables of all types, and those between them."""
        found = [each.table for each in self]
        for each in self:
            found += each.tables
        return [*found, *SHARED, blobs.BLOB, blobs.BLOB_PIECE]

    def texts(self) -> list[Text]:
        """The full-text indexes of all types."""
        return [each.text for each in self if each.text is not None]


def load_all(package: ModuleType) -> list[ModuleType]:
    """Every module of a package, in sorted order."""
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__) if not info.ispkg)
    return [importlib.import_module(f"{package.__name__}.{name}") for name in names]


def load() -> Registry:
    """The registry of every record type in this folder."""
    from server import records

    found = []
    for module in load_all(records):
        for value in vars(module).values():
            is_type = isinstance(value, type) and issubclass(value, RecordType) and value.__module__ == module.__name__
            if is_type and value.uri:
                found.append(value())
    return Registry(found)


def field_kinds() -> list[str]:
    """Every kind of field, by the name that declarations show."""
    kinds = {kind.type for kind in _kinds(Field) if kind.type}
    return sorted(kinds)


def _kinds(base: type[Field]) -> list[type[Field]]:
    found = [base]
    for each in base.__subclasses__():
        found += _kinds(each)
    return found
