"""The tree of a search text, as the parser makes it and the compiler reads it. Knows no record type and no filter.

Query
    root: BooleanGroup
        BareWord      a word or phrase outside any field
        Term          field:value, where the value is SearchValue, Items or Subquery
        BooleanGroup  ( ... ), or operands that AND or neighbourhood ties together
    sort: Sort ...

Every `position` counts characters from 0 in the whole search text, also deep inside brackets, so that an error can
point at it. Trees are immutable, so threads and caches may hold the same one.
"""

from typing import Literal, TypeAlias

from server.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SearchValue:
    """One value as written, such as `pump*`, `>5` or `5...9`; `quoted` tells whether quotes stood round it.

    `position` is that of the opening quote when there is one."""

    value: str
    quoted: bool
    position: int


@dataclass(frozen=True, slots=True)
class Items:
    """A list in square brackets, nested ones flattened. It may be empty."""

    items: tuple[SearchValue, ...]
    position: int


@dataclass(frozen=True, slots=True)
class BareWord:
    """One word or phrase without a field. Neighbours in an `and` group together make one full-text value."""

    text: SearchValue
    negated: bool
    position: int


@dataclass(frozen=True, slots=True)
class BooleanGroup:
    """Operands under one operator.

    children: only the root, and the root of a Subquery, may have none; they then restrict nothing.
    controls: the control terms (`sort:`, `limit:` ...) written directly in this group, in order. Only those of
    the outermost group act, and parse() has moved them into Query there; a data query reads them itself.
    """

    op: Literal["and", "or"]
    children: tuple["Node", ...]
    negated: bool
    position: int
    controls: tuple["Term", ...] = ()


@dataclass(frozen=True, slots=True)
class Subquery:
    """`field:( ... )`; `all` is true for `field:all( ... )`, where every linked record must match."""

    root: BooleanGroup
    all: bool
    position: int


@dataclass(frozen=True, slots=True)
class Term:
    """`field:value`. `negated` stands for the `!` after the colon, in front of any kind of value."""

    field: str
    value: "Value"
    negated: bool
    position: int

    @property
    def value_position(self) -> int:
        """Where the value begins, after `!` and white space."""
        return self.value.position


@dataclass(frozen=True, slots=True)
class Sort:
    """One name of `sort:`. Whether it can be sorted by is for the compiler to say."""

    field: str
    descending: bool
    position: int


@dataclass(frozen=True, slots=True)
class Query:
    """A whole search. `limit` (1-250) and `page` (from 1) are None when the text does not say."""

    root: BooleanGroup
    sort: tuple[Sort, ...]
    limit: int | None
    page: int | None
    timezone: SearchValue | None
    position: int = 0


Value: TypeAlias = SearchValue | Items | Subquery
Node: TypeAlias = BareWord | Term | BooleanGroup
