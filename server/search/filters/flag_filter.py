"""Filters on booleans."""

from typing import TYPE_CHECKING

import peewee

from server.search.ast import SearchValue
from server.search.conditions import Condition, equals
from server.search.filters.filter import Filter, is_null
from server.search.values import boolean
from server.store.peewee_parts import column_name

if TYPE_CHECKING:
    from server.search.compile import SearchScope


class FlagFilter(Filter):
    """A column with 0 or 1."""

    type = "bool"

    def one(self, text: SearchValue, scope: "SearchScope") -> Condition:
        return equals(self.column, 0 if is_null(text) else int(boolean(text.value)))


class RareFlagFilter(FlagFilter):
    """A column that is 1 for few records, with a partial index of these. The value is a literal in the statement,
    because SQLite uses no partial index for a bound value."""

    def one(self, text: SearchValue, scope: "SearchScope") -> Condition:
        flag, column = 0 if is_null(text) else int(boolean(text.value)), self.column
        return Condition(
            ("rare", flag, column_name(column)),
            (),
            lambda at: peewee.Expression(column, "=", peewee.SQL(str(flag))),
            frozenset((column.name,)),
        )
