"""Filters by the ids of related records, such as `participant.id:7`, for relations without a column."""

from typing import TYPE_CHECKING, Any

import peewee

from server.digits import is_whole
from server.search.ast import Items, SearchValue, Term
from server.search.conditions import ALWAYS, Condition, all_of, negated, one_of
from server.search.filters.filter import Filter, is_null
from server.search.filters.number import ChooserFilter
from server.search.filters.relations import HasManyThrough, Relation
from server.search.values import integer
from server.store.tables import table_named

if TYPE_CHECKING:
    from server.search.compile import SearchScope


class ByIdFilter(ChooserFilter):
    """Matches if a related record that the caller may read has such an id; `null` matches no related record.

    way: as in DeepFilter. Accepts the values of other choosers. sortable: by the smallest id, for HasManyThrough."""

    def __init__(
        self, name: str, note: str, target: str, way: Relation, *, sortable: bool = False, **options: Any
    ) -> None:
        super().__init__(name, note, "", target=target, sortable=sortable, **options)
        self.way = way

    def order(self, scope: "SearchScope") -> Any:
        assert isinstance(self.way, HasManyThrough)
        between, way = table_named(self.way.between).alias("least"), self.way
        own = getattr(between.c, way.own) == peewee.Column(self.table.sql, "id")
        least = between.select(peewee.fn.MIN(getattr(between.c, way.other))).where(own)
        for name, value in way.only:
            least = least.where(getattr(between.c, name) == value)
        return peewee.fn.COALESCE(least, 0)

    def meaning(self, term: Term, scope: "SearchScope") -> Condition:
        value = term.value
        if isinstance(value, Items) and all(is_whole(item.value) for item in value.items):
            ids = [integer(item.value) for item in value.items]
            return self._reached(one_of(self._ids(scope), ids), scope)
        return Filter.meaning(self, term, scope)  # skips NumberFilter, which uses a column of this table

    def one(self, text: SearchValue, scope: "SearchScope") -> Condition:
        if is_null(text):
            return negated(self._reached(ALWAYS, scope))
        return self._reached(self.number_condition(self._ids(scope), text), scope)

    def _ids(self, scope: "SearchScope") -> peewee.Column:
        return scope.registry.type(self.target).column("id")

    def _reached(self, condition: Condition, scope: "SearchScope") -> Condition:
        target = scope.registry.type(self.target)
        inner = all_of([scope.readable(target), condition])
        ids, table, way = target.table.sql, self.table, self.way

        def build(at: Any) -> Any:
            query = ids.select(target.column("id"))
            return way.build(table, query if inner is ALWAYS else query.where(inner.build(at)))

        return Condition(("by id", table.name, way.key, inner.key), inner.values, build)
