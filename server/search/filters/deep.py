"""Filters on related records, `org:(name:acme*)`, by a query on their type."""

from typing import TYPE_CHECKING, Any

import peewee

from server.search.ast import BareWord, BooleanGroup, Items, SearchValue, Subquery, Term
from server.search.conditions import NEVER, Condition, Turned, all_of, any_of, equals, negated
from server.search.filters.filter import Filter, is_null
from server.search.filters.relations import BelongsTo, Relation

if TYPE_CHECKING:
    from server.search.compile import SearchScope


class DeepFilter(Filter):
    """way: the relation to the target's records. A plain word is a bare word in a search of the target type.

    is_read_along: readers of the record may read all related ones by the rule of the target, which is then not applied
    again."""

    type = "deep"

    def __init__(
        self, name: str, note: str, target: str, way: Relation, *, is_read_along: bool = False, **options: Any
    ) -> None:
        super().__init__(name, note, target=target, sortable=False, **options)
        self.way = way
        self.is_read_along = is_read_along

    def meaning(self, term: Term, scope: "SearchScope") -> Condition:
        value = term.value
        if isinstance(value, Subquery):
            return self._every(value, scope) if value.all else self.matching(value.root, scope)
        if isinstance(value, Items):
            return any_of([self._word(text, scope) for text in self.items(value, term)])
        return self._word(value, scope)

    def matching(self, group: BooleanGroup, scope: "SearchScope") -> Condition:
        """Returns the condition that a related record that the caller may read matches `group`."""
        if scope.record_type(self.target) is None:
            return NEVER  # a type that is not installed has no records
        inner = scope.ids_of(self.target, group, is_readable=self.is_read_along)
        table, way = self.table, self.way
        turned = Turned(lambda at: way.build_turned(table, inner.build(at)), inner.build) if way.turns else None
        return Condition(
            ("deep", table.name, way.key, inner.key),
            inner.values,
            lambda at: way.build(table, inner.build(at)),
            turned=turned,
            makes_list=way.turns,
        )

    def _word(self, text: SearchValue, scope: "SearchScope") -> Condition:
        if is_null(text) and isinstance(self.way, BelongsTo):
            return equals(self.way_column(), 0)
        return self.matching(BooleanGroup("and", (BareWord(text, False, text.position),), False, text.position), scope)

    def way_column(self) -> Any:
        """Returns the column with the id of the target."""
        assert isinstance(self.way, BelongsTo)
        return peewee.Column(self.table.sql, self.way.column)

    def _every(self, value: Subquery, scope: "SearchScope") -> Condition:
        """Matches if there is a related record and all of them match."""
        root = value.root
        opposite = BooleanGroup(
            "and", (BooleanGroup(root.op, root.children, not root.negated, root.position),), False, root.position
        )
        some = self.matching(BooleanGroup("and", (), False, value.position), scope)
        return all_of([some, negated(self.matching(opposite, scope))])
