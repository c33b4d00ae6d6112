"""Filters on a column with few values, each with a word: `status:open`, or its first letter."""

from typing import TYPE_CHECKING, Any

from server.errors import Invalid, nearest
from server.search.ast import SearchValue
from server.search.conditions import Condition, equals
from server.search.filters.filter import Filter
from server.translation import lazy_gettext

if TYPE_CHECKING:
    from server.search.compile import SearchScope


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
