"""The base class of traits: their contributions to record types."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from server.errors import Mistakes
from server.fields import Field, Intake
from server.record_types.parts import Change, Expand, Key, Reading, Record, Writing
from server.search.filters import Filter
from server.store.tables import Column, Table

if TYPE_CHECKING:
    from server.record_types.record_type import RecordType
    from server.search.compile import SearchScope
    from server.store.transaction import Transaction

Exported = Iterable[tuple[int, dict[str, Any]]]  # (record id, keys of its line)


class Trait:
    """A feature of a type: its part of the declaration, of writes, of deletions and of exports."""

    name = ""
    columns: tuple[Column, ...] = ()
    tables: tuple[Table, ...] = ()  # an export includes their rows with the records
    sorts: tuple[str, ...] = ()  # patterns of names for sorting and counting
    allows_links: bool = False  # whether other records can be linked to records with the trait
    state: tuple[str, ...] = ()  # expand names included in the state of a record before a change, for events

    # -- declaration ------------------------------------------------------------------------------------------------

    def fields(self) -> dict[str, Field]:
        """The writable names."""
        return {}

    def keys(self, record_type: "RecordType") -> list[Key]:
        """Its keys, besides those of its expand names."""
        return []

    def expands(self, record_type: "RecordType") -> list[Expand]:
        """The expand names."""
        return []

    def expand_named(self, record_type: "RecordType", path: str, tx: "Transaction") -> str:
        """The expand name that loads a key with a pattern; "" for a key of another trait."""
        return ""

    def filters(self, record_type: "RecordType") -> list[Filter]:
        """The filters. A filter of this name declared by the type takes precedence."""
        return []

    def filter_named(self, record_type: "RecordType", name: str, scope: "SearchScope") -> Filter | None:
        """The filter of a name that matches a pattern."""
        return None

    def filter_patterns(self) -> list[dict[str, Any]]:
        """The patterns of filter names, in the form of `describe`."""
        return []

    # -- writing ----------------------------------------------------------------------------------------------------

    def take(self, record_type: "RecordType", sent: dict[str, Any], reading: Reading) -> Any:
        """Removes the names of this trait from submitted fields; returns them for `coerce`. Raises UnknownField."""

    def coerce(self, submitted: Any, change: Change, intake: Intake, mistakes: Mistakes) -> None:
        """Reads the result of `take` into the extras of the change."""

    def check(self, change: Change, reading: Reading) -> None:
        """Called after all values are read; may raise."""

    def write(self, change: Change, writing: Writing) -> None:
        """Writes the trait's extras of the change, after the row."""

    def listeners(self, context: str, id: int, tx: "Transaction") -> Iterable[int]:
        """The workers to notify of changes of a record."""
        return ()

    def remove(self, record_type: "RecordType", record: Record, writing: Writing) -> None:
        """Deletes the trait's data of a record that is being deleted."""

    def clear(self, context: str, id: int, room: int, writing: Writing) -> int:
        """Deletes data of a deleted record that may be large, at most `room` rows. Returns the number of rows."""
        return 0

    # -- export -----------------------------------------------------------------------------------------------------

    def export(self, tx: "Transaction", record_type: "RecordType", records: list[Record]) -> Exported:
        """Additional keys in the export lines of these records, besides columns."""
        return ()


class Search(Trait):
    """Searchable records, unless the type's operations say otherwise."""

    name = "search"


def overriding(traits: tuple[Trait, ...], *hooks: str) -> tuple[Trait, ...]:
    """The traits that override one of these hooks."""
    return tuple(
        each for each in traits if any(getattr(type(each), hook) is not getattr(Trait, hook) for hook in hooks)
    )


def together(key: str, pairs: Iterable[tuple[int, Any]]) -> Exported:
    """Groups the values of each record into one list.

    >>> together("links", [(1, "org:5"), (2, "org:5"), (1, "task:7")])
    [(1, {'links': ['org:5', 'task:7']}), (2, {'links': ['org:5']})]
    """
    groups: dict[int, list[Any]] = {}
    for id, value in pairs:
        groups.setdefault(id, []).append(value)
    return [(id, {key: values}) for id, values in groups.items()]
