"""Filters on related records by their names, such as `tag:billing`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from server.search.ast import SearchValue
from server.search.conditions import At, Condition, Turned, negated
from server.search.filters.deep import DeepFilter
from server.search.filters.filter import is_null
from server.store.tables import Table

if TYPE_CHECKING:
    from server.search.compile import SearchScope

ANY, NONE = "any", "none"


class NamedFilter(DeepFilter):
    """Accepts exact names, `any`, `none`, and a query on the related records in parentheses.

    names: the table of names, whose key is compared. key: converts a name to this key."""

    def __init__(self, *declared: Any, names: Table, key: Callable[[str], str], **options: Any) -> None:
        super().__init__(*declared, **options)
        self.names = names
        self.key = key

    def _word(self, text: SearchValue, scope: "SearchScope") -> Condition:
        scope.require_covered(scope.registry.type(self.target))
        word = "" if text.quoted else text.value.strip().lower()
        if word == NONE or is_null(text):
            return negated(self._related(""))
        return self._related("" if word == ANY else self.key(text.value))

    def _related(self, key: str) -> Condition:
        """Returns the condition that a record of this name is related, or any record if it is blank."""
        table, way = self.table, self.way
        key_column, id_column = self.names.all_columns

        def inner(at: At) -> Any:
            query = self.names.sql.select(id_column)
            return query.where(key_column == at(0)) if key else query

        return Condition(
            ("named", table.name, way.key, bool(key)),
            (key,) if key else (),
            lambda at: way.build(table, inner(at)),
            turned=Turned(lambda at: way.build_turned(table, inner(at)), inner),
            makes_list=True,
        )
