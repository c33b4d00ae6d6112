"""Filters on yes or no."""

from typing import TYPE_CHECKING

from server.search.ast import Text
from server.search.conditions import Condition, equals
from server.search.filters.base import Filter, is_null
from server.search.values import boolean

if TYPE_CHECKING:
    from server.search.compile import Scope


class FlagFilter(Filter):
    """A column that holds 0 or 1."""

    type = "bool"

    def one(self, text: Text, scope: "Scope") -> Condition:
        return equals(self.column, 0 if is_null(text) else int(boolean(text.value)))
