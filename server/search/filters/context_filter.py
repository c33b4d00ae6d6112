"""Filters on a column with the context of a record type, by any name of the type."""

from typing import TYPE_CHECKING

from server.search.ast import SearchValue
from server.search.conditions import Condition, equals
from server.search.filters.text_filters import Match, TextFilter

if TYPE_CHECKING:
    from server.search.compile import SearchScope


class ContextFilter(TextFilter):
    """Accepts uris, aliases and full contexts; other values are compared with the context by `match`."""

    def __init__(self, name: str, note: str, column: str, match: Match = "exact") -> None:
        super().__init__(name, note, column, match)

    def one(self, text: SearchValue, scope: "SearchScope") -> Condition:
        record_type = scope.record_type(text.value.strip().lower())
        return equals(self.column, record_type.context) if record_type else super().one(text, scope)

    item = one
