"""Filters that only tickets have."""

import dataclasses
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import peewee

from server import contexts
from server.dataclass import dataclass
from server.search.ast import BooleanGroup, SearchValue, Subquery, Term
from server.search.conditions import ALWAYS, NEVER, Condition, any_of, negated
from server.search.filters import ChoiceFilter, DeepFilter, Filter, HasMany, Relation, WorkerFilter
from server.search.filters.filter import is_null
from server.search.filters.relations import select_between
from server.search.values import integer, split_comparison, split_range
from server.store.tables import table_named

if TYPE_CHECKING:
    from server.search.compile import SearchScope
    from server.store.tables import Table

FULL_LEVEL = 100
_HOLDS = {
    "=": lambda number, low, high: number == low,
    "!=": lambda number, low, high: number != low,
    "<": lambda number, low, high: number < low,
    "<=": lambda number, low, high: number <= low,
    ">": lambda number, low, high: number > low,
    ">=": lambda number, low, high: number >= low,
    "between": lambda number, low, high: low <= number <= high,
}


@dataclass(frozen=True)
class Comparison:
    """A parsed value of a number filter: an operator, or "between" with both ends."""

    operator: str
    low: int
    high: int

    def holds(self, number: int) -> bool:
        return bool(_HOLDS[self.operator](number, self.low, self.high))

    @property
    def values(self) -> tuple[int, ...]:
        return (self.low, self.high) if self.operator == "between" else (self.low,)

    def expression(self, operand: Any, at: Any) -> Any:
        """Returns the SQL comparison of `left` with slots for `values`."""
        if self.operator == "between":
            return peewee.Expression(operand, "BETWEEN", peewee.NodeList((at(0), peewee.SQL("AND"), at(1))))
        return peewee.Expression(operand, "<>" if self.operator == "!=" else self.operator, at(0))


def comparison(value: str) -> Comparison:
    """Parses `5`, `>5`, `!=5`, `2...9`. Raises Invalid."""
    limits = split_range(value)
    if limits:
        return Comparison("between", integer(limits[0].strip()), integer(limits[1].strip()))
    operator, rest = split_comparison(value)
    return Comparison(operator, integer(rest.strip()), 0)


@dataclass(frozen=True)
class GroupsOf(Relation):
    """Relates workers to the tickets of their groups."""

    @property
    def key(self) -> Any:
        return "groups of"

    def build(self, table: "Table", inner: Any) -> Any:
        return peewee.Column(table.sql, "group_id").in_(
            select_between("group_member", "group_id", "worker_id", (), inner)
        )


class InGroupsFilter(WorkerFilter):
    """Matches tickets in groups of a worker: `me`, `current`, an id, part of a name."""

    type = "virtual"

    def __init__(self, name: str, note: str, **options: Any) -> None:
        super().__init__(name, note, "", GroupsOf(), sortable=False, **options)

    def one(self, text: SearchValue, scope: "SearchScope") -> Condition:
        if text.value.strip().lower() == "current" and not text.quoted:
            text = SearchValue("me", False, text.position)
        # Uses no other column of the ticket, so that totals can come from the summary.
        return dataclasses.replace(super().one(text, scope), columns=frozenset(("group_id",)))


class WatcherCountFilter(Filter):
    """Matches the number of workers who watch a ticket."""

    type = "number"
    splits_commas = True

    def one(self, text: SearchValue, scope: "SearchScope") -> Condition:
        if is_null(text):
            return NEVER  # a count always has a value
        wanted_count = comparison(text.value)
        # Records without watchers have no row to count: a comparison that 0 satisfies is evaluated by its complement.
        fits_none = wanted_count.holds(0)
        condition = self._counted(wanted_count, fits_none)
        return negated(condition) if fits_none else condition

    def _counted(self, wanted_count: Comparison, opposite: bool) -> Condition:
        link, own = table_named("link").alias("watched"), peewee.Column(self.table.sql, "id")

        def build(at: Any) -> Any:
            holds = wanted_count.expression(peewee.fn.COUNT(link.c.to_id), at)
            return own.in_(
                link.select(link.c.from_id)
                .where(link.c.from_context == contexts.TICKET, link.c.to_context == contexts.WORKER)
                .group_by(link.c.from_id)
                .having(~holds if opposite else holds)
            )

        return Condition(
            ("watchers count", self.table.name, wanted_count.operator, opposite), wanted_count.values, build
        )


class RatingFilter(ChoiceFilter):
    """Matches tickets by their rating, if the caller may read it: good, bad, asked, none, any for good or bad; or a
    query on ratings in parentheses. To the caller, a ticket whose rating they may not read has none."""

    NONE = "none"
    CHOICES = {"good": "good", "bad": "bad", "asked": "asked", NONE: NONE}
    SCORES = {"good": "good", "bad": "bad", "asked": "none"}  # {word: the same in a search of ratings}
    ANY = "any"

    def __init__(self, name: str, note: str) -> None:
        super().__init__(name, note, "", self.CHOICES, (*self.CHOICES, self.ANY), sortable=True, target="rating")
        self._deep = DeepFilter(name, note, "rating", HasMany("rating", "ticket_id"))

    def bind(self, table: "Table") -> "RatingFilter":
        bound = super().bind(table)
        assert isinstance(bound, RatingFilter)
        bound._deep = self._deep.bind(table)  # type: ignore[assignment]
        return bound

    def meaning(self, term: Term, scope: "SearchScope") -> Condition:
        if isinstance(term.value, Subquery):
            return self._deep.meaning(term, scope)
        return super().meaning(term, scope)

    def one(self, text: SearchValue, scope: "SearchScope") -> Condition:
        if text.value.strip().lower() == self.ANY:
            return any_of([self._of_score("good", scope), self._of_score("bad", scope)])
        word = self.NONE if is_null(text) else self.stored(text.value)
        if word == self.NONE:
            return negated(self._deep.matching(BooleanGroup("and", (), False, text.position), scope))
        return self._of_score(self.SCORES[word], scope)

    def order(self, scope: "SearchScope") -> Any:
        """Returns the word of the readable rating of a ticket."""
        rating = scope.registry.type("rating").table.sql
        readable = self._readable(scope)
        asked = peewee.Case(None, ((rating.score == "", "asked"),), rating.score)
        own = rating.select(asked).where(rating.ticket_id == peewee.Column(self.table.sql, "id"))
        if readable is not ALWAYS:
            own = own.where(readable.build(lambda place: readable.values[place]))
        return peewee.fn.COALESCE(own, self.NONE)

    def order_key(self, scope: "SearchScope") -> Hashable:
        readable = self._readable(scope)
        return readable.key, readable.values

    @staticmethod
    def _readable(scope: "SearchScope") -> Condition:
        record_type = scope.registry.type("rating")
        scope.require_covered(record_type)
        return scope.readable(record_type)

    def _of_score(self, score: str, scope: "SearchScope") -> Condition:
        term = Term("score", SearchValue(score, False, 0), False, 0)
        return self._deep.matching(BooleanGroup("and", (term,), False, 0), scope)


class ResponsibilityFilter(Filter):
    """Matches the caller's responsibility for a ticket's bucket: 100 in their groups, 0 elsewhere.

    Always hides buckets of level 0. Levels cannot be set individually."""

    type = "number"
    counted_as = "level"
    splits_commas = True

    def condition(self, term: Term, scope: "SearchScope") -> Condition:
        plain = super().condition(Term(term.field, term.value, False, term.position), scope)
        return self._own(scope) if (plain is NEVER) == term.negated else NEVER

    def one(self, text: SearchValue, scope: "SearchScope") -> Condition:
        if is_null(text) or not comparison(text.value).holds(FULL_LEVEL):
            return NEVER
        return self._own(scope)

    def order(self, scope: "SearchScope") -> Any:
        member = table_named("group_member").alias("own_groups")
        own = member.select(member.c.group_id).where(member.c.worker_id == scope.actor_id)
        group = peewee.Column(self.table.sql, "group_id")
        return peewee.Case(None, ((group.in_(own), FULL_LEVEL),), 0)

    def order_key(self, scope: "SearchScope") -> Hashable:
        return scope.actor_id

    def _own(self, scope: "SearchScope") -> Condition:
        member = table_named("group_member").alias("own_groups")
        group = peewee.Column(self.table.sql, "group_id")
        return Condition(
            ("own groups", self.table.name),
            (scope.actor_id,),
            lambda at: group.in_(member.select(member.c.group_id).where(member.c.worker_id == at(0))),
            frozenset(("group_id",)),
        )
