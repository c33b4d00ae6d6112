"""What a search needs of a record type. RecordType and Registry in server/record_types/ implement it, so that this
folder depends on no record type."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import peewee

from server.search.ast import Term
from server.search.conditions import Condition
from server.store.tables import Table

if TYPE_CHECKING:
    from server.search.compile import SearchScope


class SearchFilter(Protocol):
    """Compiles the terms of one filter name."""

    @property
    def type(self) -> str: ...

    def condition(self, term: Term, scope: "SearchScope") -> Condition:
        """Compiles a term. Raises BadQuery at the term's position."""


class Searchable(Protocol):
    """The part of a record type that searches use."""

    table: Table

    @property
    def uri(self) -> str: ...
    @property
    def context(self) -> str: ...
    @property
    def can_be_linked(self) -> bool: ...
    @property
    def default_filter(self) -> SearchFilter | None: ...

    def filter_named(self, name: str, scope: "SearchScope") -> SearchFilter | None:
        """Returns the filter of this name, also for a pattern, such as `links.<type>`, or a custom field."""

    def filter_names(self) -> list[str]:
        """Returns every filter name without patterns, for error messages."""

    def record(self, row: Sequence[Any]) -> dict[str, Any]:
        """Converts a row of its table to a record: values by column name."""

    def column(self, name: str) -> peewee.Column:
        """Returns a column of its table, for composing statements."""


class SearchableTypes(Protocol):
    """The record types by name."""

    def __iter__(self) -> Iterator[Searchable]: ...

    def find(self, name: str) -> Searchable | None:
        """Returns the type of a uri, alias or context, None if unknown."""

    def type(self, name: str) -> Searchable:
        """Returns the type of a uri, alias or context. Raises NotFound with the nearest name."""

    def uris(self) -> list[str]:
        """Returns every uri, sorted."""
