"""The combinations of values in a count, as the database groups them.

A count by days that needs only the columns in `days` of a table is read from stored counts (store/tables.py). Buckets
that overlap two bins, such as the first day of a month in a zone, are counted again with smaller ones."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import peewee

from server.counting.dimensions.date_bins import DateDimension
from server.counting.dimensions.dimension import Dimension, Raw
from server.dataclass import dataclass
from server.errors import BadDataQuery
from server.search.conditions import ALWAYS, At, slots_from
from server.search.select import CompiledSearch
from server.store.expressions import by_place, listed_values
from server.store.peewee_parts import stand_in
from server.store.statement_shapes import KeyedBuilder, keyed
from server.store.statements import in_list
from server.store.tables import DAY, Table

MAX_ROWS = 200_000  # combinations of values in one count
MAX_QUICK_ROWS = 300  # combinations that may be folded on the event loop
MOST_TORN = 0.5  # share of torn buckets above which all are counted by smaller ones

Row = tuple[Raw, list[Any]]  # raw values of a combination; its hits and sums
GroupedRow = tuple[Any, ...]  # the same, as a row of the database


@dataclass(frozen=True)
class _Torn:
    """Buckets to count again. place: the index of their date among the dimensions. size: in seconds."""

    starts: tuple[int, ...]
    place: int
    size: int


class Combinations:
    """Groups the records of a search. measured: the dimension whose numbers are summed, None to count only. most: limit
    to the combinations with the most hits."""

    def __init__(
        self, search: CompiledSearch, dimensions: Sequence[Dimension], measured: Dimension | None, most: int | None
    ) -> None:
        self.search = search
        self.table: Table = search.record_type.table
        self.dimensions = tuple(dimensions)
        self.measured = measured
        self.most = most

    def rows(self) -> list[Row]:
        """Returns the combinations. Raises BadDataQuery for more than MAX_ROWS.

        If many buckets overlap two bins, or several dates have such buckets, they stay in the result; the caller has to
        call `finer` and repeat."""
        rows = self._grouped_rows(None)
        dates = [(place, each) for place, each in enumerate(self.dimensions) if isinstance(each, DateDimension)]
        torn = [(place, each) for place, each in dates if each.torn(self._starts(rows, place))]
        if len(torn) == 1 and self.most is None:
            whole = self._mended(rows, *torn[0])
            if whole is None:
                return self._split(rows)
            rows = whole
        elif torn:
            return self._split(rows)
        return self._split(self._merged(rows, dates))

    def _mended(self, rows: list[GroupedRow], place: int, date: DateDimension) -> list[GroupedRow] | None:
        """Replaces torn buckets by smaller ones until none is torn; returns None if too many are."""
        at, exact = self._column(place), []
        starts = self._starts(rows, place)
        torn = set(date.torn(starts))
        if len(torn) > MOST_TORN * len(starts):
            return None
        while torn:
            exact += [row for row in rows if row[at] not in torn]
            size = date.size
            date.finer()
            rows = self._grouped_rows(_Torn(tuple(sorted(torn)), place, size))
            torn = set(date.torn(self._starts(rows, place)))
        return exact + rows

    def _merged(self, rows: list[GroupedRow], dates: list[tuple[int, DateDimension]]) -> list[GroupedRow]:
        """Merges the buckets of one bin early, because every row costs time in the later steps."""
        if self.measured is not None or not dates or len(rows) <= MAX_QUICK_ROWS:
            return rows
        for place, date in dates:
            at = self._column(place)
            alike = date.alike(self._starts(rows, place))
            folded: dict[GroupedRow, int] = {}
            for row in rows:
                key = (*row[:at], alike[row[at]], *row[at + 1 : -1])
                folded[key] = folded.get(key, 0) + row[-1]
            rows = [(*key, hits) for key, hits in folded.items()]
        return rows

    def _split(self, rows: list[GroupedRow]) -> list[Row]:
        split = self._column(len(self.dimensions))
        return [(row[:split], list(row[split:])) for row in rows]

    def _starts(self, rows: list[GroupedRow], place: int) -> set[int | None]:
        at = self._column(place)
        return {row[at] for row in rows}

    def _column(self, place: int) -> int:
        """Returns the index in a row at which the values of a dimension start."""
        return sum(each.width for each in self.dimensions[:place])

    def _grouped_rows(self, torn: _Torn | None) -> list[GroupedRow]:
        """Runs the grouping statement. torn: restricts it to these buckets."""
        sources = list(self.dimensions) if self.measured is None else [*self.dimensions, self.measured]
        condition, measured, most, table = self.search.condition, self.measured, self.most, self.table
        counts = self._counts() if torn is None else None
        is_near = torn is not None and torn.starts[0] > 0 and self._fits(table.days, self._is_of_days)
        values: list[Any] = []
        places = []
        for each in sources:
            places.append(len(values))
            values += [*each.source.values, *each.values]
        where = len(values)
        values += condition.values
        last = slots_from(len(values))
        if torn is not None:
            values += [json.dumps(torn.starts), torn.size]

        def build() -> Any:
            origin = table.sql
            if counts is not None:
                origin = stand_in(table.sql, counts.sql)
            elif is_near:
                origin = stand_in(table.sql, _near(table, last))
            expressions: list[Any] = []
            for each, place in zip(sources, places, strict=True):
                if each is not measured:
                    expressions += each.expressions(slots_from(place))
            width = len(expressions)
            hits: Any = peewee.fn.COUNT(peewee.SQL("*")) if counts is None else peewee.fn.SUM(origin.n)
            expressions.append(hits)
            if measured is not None:
                number = measured.number(slots_from(places[-1]))
                expressions += [function(number) for function in _SUMS]
            query: Any = peewee.Select([origin], expressions)
            for each, place in zip(sources, places, strict=True):
                query = each.source.join(query, slots_from(place))
            if torn is not None and not is_near:
                query = query.where(_within(sources[torn.place], slots_from(places[torn.place]), last))
            if condition is not ALWAYS:
                query = query.where(condition.build(slots_from(where)))
            if width:
                query = query.group_by(*by_place(width))
            return query.limit(MAX_ROWS + 1) if most is None else query.order_by(hits.desc()).limit(most)

        origin = counts.name if counts is not None else is_near
        among = None if torn is None else torn.place
        keys = tuple(each.key for each in sources)
        shape = keyed(build, table, keys, measured is not None, origin, among, condition.key, most)
        return self._run(shape, values, is_quick=counts is not None)

    def _run(self, shape: KeyedBuilder, values: list[Any], *, is_quick: bool) -> list[GroupedRow]:
        tx = self.search.scope.tx
        if not is_quick:
            tx.store.require_thread()  # the statement scans every record
        rows = tx.rows(shape, values)
        if len(rows) > MAX_QUICK_ROWS:
            tx.store.require_thread()
        if len(rows) > MAX_ROWS:
            raise BadDataQuery(
                f"there are more than {MAX_ROWS} combinations of values to count; narrow the search or use larger "
                "units",
                position=self.dimensions[0].options.position if self.dimensions else 0,
                limit=MAX_ROWS,
            )
        return rows

    def _counts(self) -> Table | None:
        """Returns the table of stored counts that covers the search and the dimensions, or None."""
        table = self.table
        if self.measured is not None:
            return None
        if self._fits(table.summary, lambda each: False):
            return table.summary_table
        if self._fits(table.days, lambda each: self._is_of_days(each) and each.size == DAY):
            return table.days_table
        return None

    def _fits(self, columns: tuple[str, ...], counts_days: Any) -> bool:
        """Whether these columns suffice. counts_days: whether a date can be counted by the first column, which nothing
        else may use then."""
        condition, dates = self.search.condition, [each for each in self.dimensions if counts_days(each)]
        available = set(columns[1:] if dates else columns)
        others = [each for each in (*self.dimensions, self.measured) if each is not None and each not in dates]
        if not columns or condition.columns is None or any(each.values for each in others):
            return False
        looked_at: Iterable[frozenset[str] | None] = [condition.columns, *(each.source.columns for each in others)]
        return all(each is not None and each <= available for each in looked_at)

    def _is_of_days(self, each: Dimension) -> bool:
        return isinstance(each, DateDimension) and each.source.columns == frozenset(self.table.days[:1])


_SUMS = (peewee.fn.COUNT, peewee.fn.SUM, peewee.fn.MIN, peewee.fn.MAX)
_ALL = 2**60


def _near(table: Table, at: At) -> Any:
    """Selects the columns of `days` for the rows in some buckets, one index range each. The limit keeps SQLite from
    flattening the subquery and using an index of the condition."""
    buckets = listed_values(at(0), "INTEGER", "bucket")
    day = getattr(table.sql, table.days[0])
    rows = peewee.Select([buckets], [getattr(table.sql, name) for name in table.days])
    is_in = day.between(buckets.each, buckets.each + at(1) - 1)
    return rows.join(table.sql, peewee.JOIN.CROSS).where(is_in).limit(_ALL)


def _within(date: Dimension, at: At, last: At) -> Any:
    """Returns the condition that a date lies in one of some buckets."""
    bucket = peewee.Expression(peewee.Expression(date.number(at), "/", last(1)), "*", last(1))
    return in_list(bucket, last(0))
