"""The base of every kind of filter: its declaration, its record type, and the parsing of its values."""

import dataclasses
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, ClassVar

import peewee

from server.errors import BadQuery, HelpdeskError, ScopeDenied
from server.search.ast import Items, SearchValue, Subquery, Term
from server.search.conditions import Condition, any_of, negated
from server.translation import about_field

if TYPE_CHECKING:
    from server.search.compile import SearchScope
    from server.store.tables import Table


MAX_ITEMS = 200  # each becomes a separate condition; a list of plain ids may be longer


class Filter:
    """A name for searches of one record type.

    column: the compared column, "" if it uses other tables. default: receives bare words. sortable: allowed in `sort:`;
    None for filters with a column."""

    type: ClassVar[str] = ""
    counted_as: ClassVar[str] = ""  # the dimension in counting/, if the class does not determine it
    splits_commas: ClassVar[bool] = False  # `id:7,8` is a list

    def __init__(
        self,
        name: str,
        note: str,
        column: str = "",
        *,
        default: bool = False,
        sortable: bool | None = None,
        aliases: tuple[str, ...] = (),
        target: str = "",
    ) -> None:
        self.name = name
        self.note = note
        self.column_name = column
        self.default = default
        self.sortable = bool(column) and not default if sortable is None else sortable
        self.aliases = aliases
        self.target = target
        self.table: Table

    def bind(self, table: "Table") -> "Filter":
        """Returns this filter for the record type of a table."""
        bound = object.__new__(type(self))  # like copy.copy(), but four times as fast; there are 800 filters
        vars(bound).update(vars(self), table=table)
        return bound

    @property
    def column(self) -> peewee.Column:
        """The compared column."""
        return peewee.Column(self.table.sql, self.column_name)

    def condition(self, term: Term, scope: "SearchScope") -> Condition:
        """Compiles a term. Raises BadQuery at the term's position."""
        try:
            condition = self.meaning(self._listed(term), scope)
        except (BadQuery, ScopeDenied):
            raise
        except HelpdeskError as error:
            raise BadQuery(about_field(self.name, error.message), position=term.value_position) from error
        return negated(condition) if term.negated else condition

    def meaning(self, term: Term, scope: "SearchScope") -> Condition:
        """Compiles a term without its negation."""
        value = term.value
        if isinstance(value, Subquery):
            raise self.bad(term, "takes a value, not a query in parentheses")
        if isinstance(value, Items):
            return any_of([self.item(text, scope) for text in self.items(value, term)])
        return self.one(value, scope)

    def _listed(self, term: Term) -> Term:
        """Returns the term with commas parsed as a list, if the filter splits commas."""
        value = term.value
        if not self.splits_commas or not isinstance(value, SearchValue) or value.quoted or "," not in value.value:
            return term
        parts = tuple(SearchValue(part, False, value.position) for part in value.value.split(",") if part)
        return dataclasses.replace(term, value=Items(parts, value.position))

    def items(self, value: Items, term: Term) -> tuple[SearchValue, ...]:
        """Returns the values of a list in which each value becomes a condition. Raises BadQuery for too many."""
        if len(value.items) > MAX_ITEMS:
            raise self.bad(term, f"at most {MAX_ITEMS} values in a list")
        return value.items

    def item(self, text: SearchValue, scope: "SearchScope") -> Condition:
        """Compiles one value of a list."""
        return self.one(text, scope)

    def one(self, text: SearchValue, scope: "SearchScope") -> Condition:
        """Compiles a single value."""
        raise NotImplementedError  # subclasses override this or `meaning`

    def bad(self, term: Term, reason: str) -> BadQuery:
        """Creates the error for a value of this filter."""
        return BadQuery(about_field(self.name, reason), position=term.value_position, field=self.name)

    def order(self, scope: "SearchScope") -> Any:
        """Returns the expression to sort and group by."""
        return self.column

    def sort_keys(self, scope: "SearchScope") -> list[tuple[Any, bool]]:
        """Returns the expressions to sort by, in order, each with whether it is reversed."""
        return [(self.order(scope), False)]

    def sort_key(self, scope: "SearchScope") -> Hashable:
        """Returns the cache key of sort_keys, like order_key."""
        return self.order_key(scope)

    def order_key(self, scope: "SearchScope") -> Hashable:
        """Returns a cache key that distinguishes the expression from those of other callers or former filters of the
        name."""
        return None

    def describe(self) -> dict[str, Any]:
        """Describes the filter as data, for `describe --json` and the reference pages."""
        description: dict[str, Any] = {
            "name": self.name,
            "type": self.type,
            "default": self.default,
            "sortable": self.sortable,
            "note": self.note,
        }
        if self.column_name:
            description["key"] = self.column_name
        if self.target:
            description["target"] = self.target
        if self.aliases:
            description["aliases"] = list(self.aliases)
        return description


def is_null(text: SearchValue) -> bool:
    """Whether the value is the word null."""
    return not text.quoted and text.value.lower() == "null"
