"""Filters on a column with few values, each with a word: `status:open`, or its first letter."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import peewee

from server.errors import Invalid, nearest
from server.search.ast import SearchValue
from server.search.conditions import NEVER, Condition, equals
from server.search.filters.filter import Filter
from server.translation import lazy_gettext

if TYPE_CHECKING:
    from server.search.compile import SearchScope
    from server.store.transaction import Transaction


class ChoiceFilter(Filter):
    """choices: {word: stored value}. Accepts a word, its first letter, or the stored value."""

    type = "enum"
    splits_commas = True

    def __init__(
        self, name: str, note: str, column: str, choices: dict[str, Any], words: tuple[str, ...] = (), **options: Any
    ) -> None:
        super().__init__(name, note, column, **options)
        self.choices = choices
        self.words = words or tuple(choices)

    def one(self, text: SearchValue, scope: "SearchScope") -> Condition:
        return equals(self.column, self.stored(text.value))

    def stored(self, word: str) -> Any:
        """Returns the stored value of a word. Raises Invalid."""
        lowered = word.strip().lower()
        for choice, value in self.choices.items():
            if lowered and (choice == lowered or choice[0] == lowered or str(value).lower() == lowered):
                return value
        raise Invalid(
            lazy_gettext(
                "'{value}' is not one of {known}{nearest}",
                value=word[:50],
                known=", ".join(self.words),
                nearest=nearest(lowered, self.choices),
            )
        )

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"values": list(self.words)}


class NamedChoiceFilter(ChoiceFilter):
    """A choice whose values have names under them, such as `status:"Waiting for supplier"`.

    target: the record type of the names. named_column: the column with the id of a name, which has a partial index of
    those above 0. find: returns the id of a name, 0 for one that no record has, None for an unknown one."""

    def __init__(
        self, *declared: Any, named_column: str, find: "Callable[[Transaction, str], int | None]", **options: Any
    ) -> None:
        super().__init__(*declared, **options)
        self.named_column = named_column
        self.find = find

    def one(self, text: SearchValue, scope: "SearchScope") -> Condition:
        try:
            return super().one(text, scope)
        except Invalid:
            id = self.find(scope.tx, text.value)
            if id is None:
                raise
        return self._named(id) if id else NEVER

    def _named(self, id: int) -> Condition:
        column, name = peewee.Column(self.table.sql, self.named_column), self.named_column

        def build(at: Any) -> Any:
            # A second comparison with a literal, without which SQLite would not use the partial index.
            return (column == at(0)) & peewee.Expression(column, ">", peewee.SQL("0"))

        return Condition(("named choice", self.table.name, name), (id,), build, frozenset((name,)))
