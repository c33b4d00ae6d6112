"""What each trait may bring to the types that have it. A trait brings nothing but what it says."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from server.errors import Mistakes
from server.fields import Field, Intake
from server.record_types.parts import Change, Expand, Key, Reading, Record, Writing
from server.search.filters import Filter
from server.store.tables import Column, Table

if TYPE_CHECKING:
    from server.record_types.base import RecordType
    from server.search.compile import SearchScope
    from server.store.transaction import Transaction

Exported = Iterable[tuple[int, dict[str, Any]]]  # (record id, keys of its line)


class Trait:
    """One feature of a type: its part of the declaration, of a write, of a removal and of an export."""

    name = ""
    columns: tuple[Column, ...] = ()
    tables: tuple[Table, ...] = ()  # an export has what stands in them with the records
    sorts: tuple[str, ...] = ()  # patterns of names that records are sorted and counted by
    state: tuple[str, ...] = ()  # expand names that belong to what an event tells of a record before it changed

    # -- declaration ------------------------------------------------------------------------------------------------

    def fields(self) -> dict[str, Field]:
        """The writable names."""
        return {}

    def keys(self, record_type: "RecordType") -> list[Key]:
        """The keys of its own, beside those of its expand names."""
        return []

    def expands(self, record_type: "RecordType") -> list[Expand]:
        """The expand names."""
        return []

    def expand_named(self, record_type: "RecordType", path: str, tx: "Transaction") -> str:
        """The expand name that brings a key which is made of a pattern; "" for a key that is not of the trait."""
        return ""

    def filters(self, record_type: "RecordType") -> list[Filter]:
        """The filters. A type that declares one of these names itself keeps its own."""
        return []

    def filter_named(self, record_type: "RecordType", name: str, scope: "SearchScope") -> Filter | None:
        """A filter whose name is made of a pattern."""
        return None

    def filter_patterns(self) -> list[dict[str, Any]]:
        """These patterns, as `describe` lists them."""
        return []

    # -- writing ----------------------------------------------------------------------------------------------------

    def take(self, record_type: "RecordType", sent: dict[str, Any], reading: Reading) -> Any:
        """Take names that only the trait knows out of what was sent; answers them for `coerce`. Raises UnknownField."""

    def coerce(self, taken: Any, change: Change, intake: Intake, mistakes: Mistakes) -> None:
        """Read what `take` answered into the extras of the change."""

    def check(self, change: Change, reading: Reading) -> None:
        """Once every value is read: may raise."""

    def write(self, change: Change, writing: Writing) -> None:
        """After the row is written: what the extras of the change have for the trait."""

    def listeners(self, context: str, id: int, tx: "Transaction") -> Iterable[int]:
        """Workers who are told of changes to a record."""
        return ()

    def remove(self, record_type: "RecordType", record: Record, writing: Writing) -> None:
        """Take away what belongs to a record that goes."""

    def clear(self, context: str, id: int, room: int, writing: Writing) -> int:
        """Take away what hangs on a record that is gone and may be much: at most `room` of it. Answers how much."""
        return 0

    # -- export -----------------------------------------------------------------------------------------------------

    def export(self, tx: "Transaction", record_type: "RecordType", records: list[Record]) -> Exported:
        """What the lines of records have beside their columns, where there is something."""
        return ()


def together(key: str, pairs: Iterable[tuple[int, Any]]) -> Exported:
    """The values of each record as one list.

    >>> together("links", [(1, "org:5"), (2, "org:5"), (1, "task:7")])
    [(1, {'links': ['org:5', 'task:7']}), (2, {'links': ['org:5']})]
    """
    found: dict[int, list[Any]] = {}
    for id, value in pairs:
        found.setdefault(id, []).append(value)
    return [(id, {key: values}) for id, values in found.items()]
