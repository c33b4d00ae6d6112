"""The tree of a search text, from the parser to the compiler. Independent of record types and filters.

Query
    root: BooleanGroup
        BareWord      a word or phrase outside any field
        Term          field:value, where the value is SearchValue, Items or Subquery
        BooleanGroup  ( ... ), or operands joined by AND or adjacency
    sort: Sort ...

Every `position` is an offset in characters from the start of the search text, for error messages. Trees are immutable,
so threads and caches may share them.
"""

from typing import Literal, TypeAlias

from server.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SearchValue:
    """One value as written, such as `pump*`, `>5` or `5...9`. quoted: whether it was in quotes.

    position: of the opening quote if there is one."""

    value: str
    quoted: bool
    position: int


@dataclass(frozen=True, slots=True)
class Items:
    """A list in square brackets, nested lists flattened. May be empty."""

    items: tuple[SearchValue, ...]
    position: int


@dataclass(frozen=True, slots=True)
class BareWord:
    """One word or phrase without a field. Adjacent ones in an `and` group form one full-text value."""

    text: SearchValue
    negated: bool
    position: int


@dataclass(frozen=True, slots=True)
class BooleanGroup:
    """Operands of one operator.

    children: empty only for the root and the root of a Subquery, which then match everything. controls: the control
    terms (`sort:`, `limit:` ...) directly in this group, in order. Only those of the outermost group have an effect;
    parse() moves them into Query, and a data query reads them itself."""

    op: Literal["and", "or"]
    children: tuple["Node", ...]
    negated: bool
    position: int
    controls: tuple["Term", ...] = ()


@dataclass(frozen=True, slots=True)
class Subquery:
    """`field:( ... )`; all: True for `field:all( ... )`, where every linked record must match."""

    root: BooleanGroup
    all: bool
    position: int


@dataclass(frozen=True, slots=True)
class Term:
    """`field:value`. negated: for the `!` after the colon, before any kind of value."""

    field: str
    value: "Value"
    negated: bool
    position: int

    @property
    def value_position(self) -> int:
        """The position of the value, after `!` and white space."""
        return self.value.position


@dataclass(frozen=True, slots=True)
class Sort:
    """One name of `sort:`. The compiler checks whether it is sortable."""

    field: str
    descending: bool
    position: int


@dataclass(frozen=True, slots=True)
class Query:
    """A whole search. limit (1-250) and page (from 1) are None if absent."""

    root: BooleanGroup
    sort: tuple[Sort, ...]
    limit: int | None
    page: int | None
    timezone: SearchValue | None
    position: int = 0


Value: TypeAlias = SearchValue | Items | Subquery
Node: TypeAlias = BareWord | Term | BooleanGroup
