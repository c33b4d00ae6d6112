"""Filters on workers: by id, `me`, part of a name, any or none; and on the watchers of a record."""

from typing import TYPE_CHECKING, Any

import peewee

from server import contexts
from server.errors import Invalid
from server.search.ast import Items, SearchValue, Subquery, Term
from server.search.conditions import At, Condition, any_of, compared, equals, negated, one_of
from server.search.filters.filter import Filter, is_null
from server.search.filters.relations import HasManyThrough, Relation
from server.search.values import integer, like_pattern, split_comparison
from server.store.tables import table_named

if TYPE_CHECKING:
    from server.search.compile import SearchScope

ANY = frozenset(("any", "anyone", "anybody", "yes"))
NONE = frozenset(("none", "nobody", "noone", "no", "blank", "empty"))
MAX_NAME_CHARS = 255


class WorkerFilter(Filter):
    """A column with the id of a worker, or, with `way`, related workers."""

    type = "worker"
    splits_commas = True

    def __init__(self, name: str, note: str, column: str = "", way: Relation | None = None, **options: Any) -> None:
        super().__init__(name, note, column, target="worker", **options)
        self.way = way

    def one(self, text: SearchValue, scope: "SearchScope") -> Condition:
        word = text.value.strip()
        lowered = word.lower()
        if lowered in ANY and not text.quoted:
            return self._anyone()
        if (lowered in NONE and not text.quoted) or is_null(text):
            return self._nobody()
        if lowered == "me" and not text.quoted:
            return self._ids([scope.actor_id])
        if word.isascii() and word.isdigit():
            return self._ids([integer(word)])
        operator, rest = split_comparison(word)
        if operator and rest.isascii() and rest.isdigit() and self.column_name:
            return compared(self.column, operator, integer(rest))
        if len(word) > MAX_NAME_CHARS:
            raise Invalid(f"a name of at most {MAX_NAME_CHARS} characters is looked up")
        return self._named(word)

    def _ids(self, ids: list[int]) -> Condition:
        if self.way is None:
            return one_of(self.column, ids)
        worker = table_named("worker").alias("those")
        table, way = self.table, self.way
        return Condition(
            ("worker id", table.name, way.key),
            (ids[0],),
            lambda at: way.build(table, worker.select(worker.c.id).where(worker.c.id == at(0))),
        )

    def _anyone(self) -> Condition:
        if self.way is None:
            return compared(self.column, "!=", 0)
        return self._reached("some", lambda worker, at: worker.select(worker.c.id), ())

    def _nobody(self) -> Condition:
        return equals(self.column, 0) if self.way is None else negated(self._anyone())

    def _named(self, word: str) -> Condition:
        def build(worker: Any, at: At) -> Any:
            name = peewee.NodeList((worker.c.first_name, peewee.SQL("|| ' ' ||"), worker.c.last_name), parens=True)
            matches = peewee.NodeList((name, peewee.SQL("LIKE"), at(0), peewee.SQL("ESCAPE '\\'")))
            return worker.select(worker.c.id).where(matches)

        return self._reached("named", build, (f"%{like_pattern(word)}%",))

    def _reached(self, key: str, select: Any, values: tuple[Any, ...]) -> Condition:
        worker = table_named("worker").alias("those")
        table, way = self.table, self.way
        if way is None:
            column = self.column
            return Condition(
                ("worker", key, table.name, self.column_name), values, lambda at: column.in_(select(worker, at))
            )
        return Condition(("worker", key, table.name, way.key), values, lambda at: way.build(table, select(worker, at)))


class WatchersFilter(WorkerFilter):
    """The watchers of a record: a worker filter, or a query on workers in parentheses."""

    type = "watchers"

    def __init__(self, name: str, note: str, context: str, **options: Any) -> None:
        super().__init__(name, note, "", watched(context), sortable=False, **options)

    def meaning(self, term: Term, scope: "SearchScope") -> Condition:
        if isinstance(term.value, Subquery):
            inner = scope.ids_of("worker", term.value.root)
            table, way = self.table, self.way
            assert way is not None
            return Condition(
                ("deep", table.name, way.key, inner.key), inner.values, lambda at: way.build(table, inner.build(at))
            )
        if isinstance(term.value, Items):
            return any_of([self.one(item, scope) for item in self.items(term.value, term)])
        return super().meaning(term, scope)


def watched(context: str) -> Relation:
    """Returns the relation from workers to the records of a context that they watch; watchers are links to workers."""
    return HasManyThrough("link", "from_id", "to_id", (("from_context", context), ("to_context", contexts.WORKER)))
