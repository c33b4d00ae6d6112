"""Runs searches: the matching ids in order, their number, and positions for paging."""

import dataclasses
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import peewee

from server.dataclass import dataclass
from server.errors import BadQuery, nearest
from server.search.ast import Query, Sort
from server.search.beginning import begun_by_fewer
from server.search.compile import SearchScope, compile_group
from server.search.conditions import ALWAYS, NEVER, At, Condition, all_of, slots_from
from server.search.keyset import behind
from server.store.peewee_parts import stand_in
from server.store.statement_shapes import keyed

if TYPE_CHECKING:
    from server.record_types.record_type import RecordType
    from server.search.filters import Filter


MANY = 500  # ids fetched at once to avoid a second statement for the count
FEW_VALUES = 20  # values of a condition that may be nested one select deeper; SQLite limits the depth of large ones
MAX_VALUES = 8_000  # values in the statement of one search, including those of read conditions


@dataclass(frozen=True)
class CompiledSearch:
    """A compiled search on one type."""

    record_type: "RecordType"
    condition: Condition
    order: tuple[tuple[str, bool], ...]
    scope: SearchScope

    def page(self, limit: int, offset: int) -> tuple[list[tuple[Any, ...]], int]:
        """Returns the rows of one page, in order, and the total number of matches.

        A condition on other tables is evaluated only once: its first ids are fetched, and if there are no more, they
        also give the count. A condition that computes a list first is counted in the same statement."""
        if self.condition.columns is not None or offset + limit > MANY:
            rows = self.rows(limit, offset)
            is_last = len(rows) < limit and (rows or offset == 0)
            return rows, offset + len(rows) if is_last else self.total()
        ids, total = self._ids_and_total(offset + limit) if self.condition.makes_list else self._ids_then_total()
        page_ids = ids[offset : offset + limit]
        by_id = {row[0]: row for row in self.scope.tx.get_many(self.record_type.table, page_ids)}
        return [by_id[id] for id in page_ids], total

    def _ids_then_total(self) -> tuple[list[int], int]:
        ids = self.ids(MANY + 1)
        return ids, len(ids) if len(ids) <= MANY else self.total()

    def _ids_and_total(self, limit: int) -> tuple[list[int], int]:
        """Returns the first ids and the total number of matches."""
        table, condition, count = self.record_type.table.sql, self.condition, len(self.condition.values)

        def build() -> Any:
            query = table.select(table.id).where(condition.build(slots_from(0)))
            if self.order or count > FEW_VALUES:
                total = peewee.fn.COUNT(peewee.SQL("*")).over()
                return query.select(table.id, total).order_by(*self._order_expressions()).limit(slots_from(count)(0))
            # A window function takes 1.5 times as long.
            matches = query.cte("found", materialized=True, columns=("id",))
            number = peewee.Select([matches], [peewee.fn.COUNT(peewee.SQL("*"))])
            page = peewee.Select([matches], [matches.c.id, number]).order_by(matches.c.id).limit(slots_from(count)(0))
            return page.with_cte(matches)

        shape = keyed(build, self.record_type.table, condition.key, self._order_key())
        rows = self.scope.tx.rows(shape, (*condition.values, max(limit, 1)))
        return [row[0] for row in rows], rows[0][1] if rows else 0

    def rows(self, limit: int, offset: int = 0) -> list[tuple[Any, ...]]:
        """Returns whole rows, in order."""
        if self.condition is NEVER:
            return []
        table, condition, count = self.record_type.table, self.condition, len(self.condition.values)

        def build() -> Any:
            query = table.sql.select(*table.all_columns)
            if condition is not ALWAYS:
                query = query.where(condition.build(slots_from(0)))
            at = slots_from(count)
            return query.order_by(*self._order_expressions()).limit(at(0)).offset(at(1))

        shape = keyed(build, table, condition.key, self._order_key())
        return self.scope.tx.rows(shape, (*condition.values, limit, offset))

    def ids(self, limit: int) -> list[int]:
        """Returns the first ids, in order."""
        if self.condition is NEVER:
            return []
        table, condition, count = self.record_type.table.sql, self.condition, len(self.condition.values)

        def build() -> Any:
            query = table.select(table.id).where(condition.build(slots_from(0)))
            return query.order_by(*self._order_expressions()).limit(slots_from(count)(0))

        shape = keyed(build, self.record_type.table, condition.key, self._order_key())
        return [row[0] for row in self.scope.tx.rows(shape, (*condition.values, limit))]

    def position(self, row: Sequence[Any]) -> tuple[Any, ...]:
        """Returns the position of a row in the order: its sort values and its id."""
        if not self.order:
            return (row[0],)
        keys = [each for each, _ in self._order_terms()]
        if all(isinstance(each, peewee.Column) for each in keys):
            place = self.record_type.table.position
            return tuple(row[place[each.name]] for each in keys)
        table = self.record_type.table.sql

        def build() -> Any:
            return table.select(*keys).where(table.id == slots_from(0)(0))

        keys_row = self.scope.tx.row(keyed(build, self.record_type.table, self._order_key()), (row[0],))
        assert keys_row is not None
        return tuple(keys_row)

    def after(self, position: tuple[Any, ...]) -> "CompiledSearch":
        """Returns the same search, starting after a position of the same order. Records inserted before it or deleted
        since do not matter. Raises BadQuery for a position of another order."""
        terms = self._order_terms()
        if len(position) != len(terms):
            raise BadQuery("the cursor belongs to another order", position=0)
        nulls = tuple(value is None for value in position)
        values = tuple(value for value in position if value is not None)
        places = [sum(not each for each in nulls[:number]) for number in range(len(nulls))]

        def build(at: At) -> Any:
            slots = [None if is_null else at(place) for is_null, place in zip(nulls, places, strict=True)]
            return behind(self._order_terms(), slots)

        behind_it = Condition(("behind", self._order_key(), nulls), values, build)
        return dataclasses.replace(self, condition=all_of([self.condition, behind_it]))

    def total(self) -> int:
        """Returns the number of matches, from the type's summary if that suffices."""
        condition, table = self.condition, self.record_type.table
        if condition is NEVER:
            return 0
        summary = table.summary_table if table.summary else None
        if summary is not None and condition.columns is not None and condition.columns <= set(table.summary):
            counts = stand_in(table.sql, summary.sql)
            count = self.scope.tx.value(
                lambda: _where(counts.select(peewee.fn.SUM(counts.n)), condition),
                condition.values,
            )
            return int(count or 0)
        return int(
            self.scope.tx.value(
                lambda: _where(table.sql.select(peewee.fn.COUNT(table.sql.id)), condition),
                condition.values,
            )
        )

    def _order_key(self) -> Hashable:
        return tuple((name, down, self._filter(name).sort_key(self.scope)) for name, down in self.order)

    def _filter(self, name: str) -> "Filter":
        named_filter = self.record_type.filter_named(name, self.scope)
        assert named_filter is not None
        return named_filter

    def _order_terms(self) -> list[tuple[Any, bool]]:
        """Returns (expression, whether it descends) of the order. Ties are sorted by id, in the direction of the last
        key: with `-updated`, the newest record of a second comes first."""
        terms = []
        for name, descending in self.order:
            for expression, is_reversed in self._filter(name).sort_keys(self.scope):
                terms.append((expression, descending != is_reversed))
        return [*terms, (self.record_type.column("id"), bool(self.order) and self.order[-1][1])]

    def _order_expressions(self) -> list[Any]:
        return [peewee.Desc(each) if descends else peewee.Asc(each) for each, descends in self._order_terms()]


def _where(query: Any, condition: Condition) -> Any:
    return query if condition is ALWAYS else query.where(condition.build(slots_from(0)))


def search(record_type: "RecordType", query: Query, scope: SearchScope) -> CompiledSearch:
    """Compiles a query on one type, with the caller's read condition and the requested order.

    Raises BadQuery with a position."""
    condition = all_of([scope.readable(record_type), compile_group(record_type, query.root, scope)])
    condition = begun_by_fewer(record_type, condition, scope)
    if len(condition.values) > MAX_VALUES:  # a few terms suffice, because links to all types add the read rules of all
        raise BadQuery(
            "the search involves too many other records; use fewer filters of links, comments, files and activity, or "
            "one list in place of several terms",
            position=0,
            limit=MAX_VALUES,
        )
    order = tuple((_sort_name(record_type, each, scope), each.descending) for each in query.sort)
    return CompiledSearch(record_type, condition, order, scope)


def _sort_name(record_type: "RecordType", sort: Sort, scope: SearchScope) -> str:
    sort_filter = record_type.filter_named(sort.field, scope)
    if sort_filter is None or not sort_filter.sortable:
        names = record_type.sort_names()
        raise BadQuery(
            f"{record_type.uri} cannot be sorted by '{sort.field[:80]}'{nearest(sort.field, names)}",
            position=sort.position,
            field=sort.field,
        )
    return sort_filter.name
