"""What every kind of filter has: its declaration, its place in a record type, and how its values are taken apart."""

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


MAX_ITEMS = 200  # each becomes a condition of its own; a list of plain ids may be longer


class Filter:
    """A name usable in a search of one record type.

    column: the column compared, "" for one that looks elsewhere. default: bare words go here.
    sortable: `sort:` takes the name too; None means: when it has a column."""

    type: ClassVar[str] = ""
    counted_as: ClassVar[str] = ""  # the dimension of counting/ that it becomes, where its kind does not tell
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
        """This filter for the record type with this table."""
        bound = object.__new__(type(self))  # as copy.copy(), which takes four times as long, for 800 of them
        vars(bound).update(vars(self), table=table)
        return bound

    @property
    def column(self) -> peewee.Column:
        """The column it compares."""
        return peewee.Column(self.table.sql, self.column_name)

    def condition(self, term: Term, scope: "SearchScope") -> Condition:
        """What the term means. Raises BadQuery at the term's position."""
        try:
            found = self.meaning(self._listed(term), scope)
        except (BadQuery, ScopeDenied):
            raise
        except HelpdeskError as error:
            raise BadQuery(about_field(self.name, error.message), position=term.value_position) from error
        return negated(found) if term.negated else found

    def meaning(self, term: Term, scope: "SearchScope") -> Condition:
        """The condition without the term's negation."""
        value = term.value
        if isinstance(value, Subquery):
            raise self.bad(term, "takes a value, not a query in parentheses")
        if isinstance(value, Items):
            return any_of([self.item(text, scope) for text in self.items(value, term)])
        return self.one(value, scope)

    def _listed(self, term: Term) -> Term:
        """The term with its commas read as those of a list, where the filter takes them so."""
        value = term.value
        if not self.splits_commas or not isinstance(value, SearchValue) or value.quoted or "," not in value.value:
            return term
        parts = tuple(SearchValue(part, False, value.position) for part in value.value.split(",") if part)
        return dataclasses.replace(term, value=Items(parts, value.position))

    def items(self, value: Items, term: Term) -> tuple[SearchValue, ...]:
        """The values of a list whose values become a condition each. Raises BadQuery for too many."""
        if len(value.items) > MAX_ITEMS:
            raise self.bad(term, f"at most {MAX_ITEMS} values in a list")
        return value.items

    def item(self, text: SearchValue, scope: "SearchScope") -> Condition:
        """One value out of a list."""
        return self.one(text, scope)

    def one(self, text: SearchValue, scope: "SearchScope") -> Condition:
        """A single value."""
        raise NotImplementedError  # every kind that does not replace `meaning` has its own

    def bad(self, term: Term, reason: str) -> BadQuery:
        """The error for a value of this filter."""
        return BadQuery(about_field(self.name, reason), position=term.value_position, field=self.name)

    def order(self, scope: "SearchScope") -> Any:
        """The expression to sort and group by."""
        return self.column

    def sort_keys(self, scope: "SearchScope") -> list[tuple[Any, bool]]:
        """The expressions to sort a list by, one behind the other, with whether each goes the other way."""
        return [(self.order(scope), False)]

    def sort_key(self, scope: "SearchScope") -> Hashable:
        """What tells these expressions apart, as order_key."""
        return self.order_key(scope)

    def order_key(self, scope: "SearchScope") -> Hashable:
        """What tells this expression apart from another one that the same name stood for or another caller gets."""
        return None

    def describe(self) -> dict[str, Any]:
        """As data, for `describe --json` and the reference pages."""
        shown: dict[str, Any] = {
            "name": self.name,
            "type": self.type,
            "default": self.default,
            "sortable": self.sortable,
            "note": self.note,
        }
        if self.column_name:
            shown["key"] = self.column_name
        if self.target:
            shown["target"] = self.target
        if self.aliases:
            shown["aliases"] = list(self.aliases)
        return shown


def is_null(text: SearchValue) -> bool:
    """Whether the value is the word null."""
    return not text.quoted and text.value.lower() == "null"
