"""Reads the records of a range of time once. Counts them, those that meet each of several conditions, and those in each
step of a time, by the values of a field."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import peewee

from server.counting.dimensions.dimension import Dimension
from server.counting.dimensions.linked_records import RecordDimension
from server.counting.dimensions.plain import TextDimension
from server.counting.dimensions.sources import ValueRows
from server.dataclass import dataclass
from server.errors import BadDataQuery
from server.search.conditions import NEVER, Condition, all_of, between, slots_from
from server.store.expressions import by_place, one_if, read_by
from server.store.peewee_parts import stand_in
from server.store.statement_shapes import keyed
from server.store.statements import SQLITE, slot
from server.store.tables import Index, Table
from server.store.transaction import Transaction

MAX_COMBINATIONS = 200_000  # values with their steps
# Times are counted by steps of a minute, of five minutes after an hour, and of an hour after a day: as exact as they
# are shown, and few enough to be read.
STEPS = ((3_600, 60), (86_400, 300), (None, 3_600))
MINUTE = 60
NO_TIME = -MINUTE  # the step of records without a time
LISTED_SECONDS = 15 * 86_400  # range of the records that are listed at once: milliseconds of work
STEP_BITS, PART_BITS = 27, 8  # of a listed number, whose other bits are an id; steps in minutes
NO_ID = -1
GROUPED, LISTED, IDS = "grouped", "listed", "ids"  # forms of statements
_ZERO = peewee.SQL("0")

Row = tuple[Any, ...]


@dataclass(frozen=True)
class RangeCount:
    """What is read of a table. condition: of all records. date: the column of the range. parts: the conditions whose
    records are counted. time: the column whose steps are counted. distinct: the column whose values are counted instead
    of the records."""

    table: Table
    condition: Condition
    date: Any
    parts: Sequence[Condition] = ()
    dimension: Dimension | None = None
    time: Any = None
    distinct: Any = None

    def rows(self, tx: Transaction, start: int, end: int) -> list[Row]:
        """Returns the values of the field, the step if there is a time, the number of records and those of `parts`.

        Raises BadDataQuery for more than MAX_COMBINATIONS."""
        if self.condition is NEVER:
            return []
        rows = self._listed(tx, start, end) if self._is_listable(tx) else self._grouped(tx, start, end)
        if len(rows) > MAX_COMBINATIONS:
            of = f" by {self.dimension.name}" if self.dimension is not None else ""
            message = f"there are more than {MAX_COMBINATIONS} values to count{of}"
            raise BadDataQuery(message, limit=MAX_COMBINATIONS)
        return rows

    @property
    def listed_values(self) -> ValueRows | None:
        """Returns where the values of the field are, if its rows can be counted without a join: see field_values.py."""
        is_alone = self.dimension is not None and self.distinct is None and not self.parts
        return self.dimension.source.rows if is_alone and self.dimension is not None else None

    def steps_by_id(self, tx: Transaction, start: int, end: int) -> dict[int, int]:
        """Returns the step of each record by its id, NO_TIME without a time; only in SQLite."""

        def columns(grouped: list[Any], parts: list[Any]) -> list[Any]:
            ids = peewee.fn.json_group_array(self.table.sql.id)
            return [ids, peewee.fn.json_group_array(_over(grouped[0], MINUTE))] if grouped else [ids]

        records, steps = replace(self, dimension=None), dict[int, int]()
        seconds = LISTED_SECONDS if self.is_split_quickly else end + 1 - start
        for first in range(start, end + 1, seconds):
            [row] = records._run(tx, first, min(first + seconds - 1, end), columns, IDS)
            ids = json.loads(row[0])
            minutes = json.loads(row[1]) if self.time is not None else None
            steps.update(zip(ids, minutes, strict=True) if minutes is not None else dict.fromkeys(ids, 0))
        return steps

    def _grouped(self, tx: Transaction, start: int, end: int) -> list[Row]:
        def columns(grouped: list[Any], parts: list[Any]) -> list[Any]:
            distinct = self.distinct.distinct() if self.distinct is not None else peewee.SQL("*")
            return [*grouped, peewee.fn.COUNT(distinct), *(peewee.fn.SUM(one_if(each)) for each in parts)]

        rows = self._run(tx, start, end, columns, GROUPED)
        return [tuple(0 if each is None else each for each in row) for row in rows] if not self._width else rows

    # SQLite sorts records to group them, which takes twice as long, of texts four times, as listing a number for each
    # and counting those. The number consists of the id, the step, and a bit for each of `parts`; a text follows it.

    def _is_listable(self, tx: Transaction) -> bool:
        is_one_value = self.dimension is None or (
            isinstance(self.dimension, (RecordDimension, TextDimension)) and not self.dimension.source.is_grouped
        )
        is_few = len(self.parts) <= PART_BITS
        is_possible = is_one_value and is_few and self.is_split_quickly and self.distinct is None
        return tx.store.dialect == SQLITE and self._width > 0 and is_possible

    def _listed(self, tx: Transaction, start: int, end: int) -> list[Row]:
        def columns(grouped: list[Any], parts: list[Any]) -> list[Any]:
            number: Any = _plus(_over(grouped.pop(), MINUTE), 1) if self.time is not None else _ZERO
            if self._has_ids:
                id = _plus(peewee.fn.COALESCE(grouped[0], peewee.SQL(str(NO_ID))), 1)
                number = _plus(_times(id, 1 << STEP_BITS), number)
            for each in parts:
                number = _plus(_times(number, 2), one_if(each))
            if grouped and not self._has_ids:
                text = peewee.Expression(peewee.Expression(number, "||", peewee.SQL("' '")), "||", grouped[0])
                number = peewee.fn.COALESCE(text, number)
            return [peewee.fn.json_group_array(number)]

        listed: Counter[int | str] = Counter()
        for first in range(start, end + 1, LISTED_SECONDS):
            last = min(first + LISTED_SECONDS - 1, end)
            [[some]] = self._run(tx, first, last, columns, LISTED)
            listed.update(json.loads(some))
        return self._unlisted(listed)

    def _unlisted(self, listed: Counter[int | str]) -> list[Row]:
        """Returns the rows that `_grouped` would return."""
        count = len(self.parts)
        rows: dict[Row, list[int]] = {}
        for each, hits in listed.items():
            digits, space, text = str(each).partition(" ")
            number = int(digits)
            id, step = divmod(number >> count, 1 << STEP_BITS)
            key: Row = ()
            if self._has_ids:
                key = (id - 1 if id else None,)
            elif self.dimension is not None:
                key = (text if space else None,)
            if self.time is not None:
                key += ((step - 1) * MINUTE,)
            totals = rows.setdefault(key, [0] * (count + 1))
            totals[0] += hits
            for place in range(count):
                totals[place + 1] += hits * (number >> (count - 1 - place) & 1)
        return [(*key, *totals) for key, totals in rows.items()]

    @property
    def _has_ids(self) -> bool:
        return isinstance(self.dimension, RecordDimension)

    @property
    def is_split_quickly(self) -> bool:
        """Whether short ranges are read by the index of the date alone, in the time of a long one."""
        return self._index is not None and self.condition.columns is not None

    @property
    def _index(self) -> Index | None:
        """Returns the index of the date, unless other columns of the table have to be read. Without statistics, SQLite
        would choose the index of any column that has to equal a value."""
        index = next((each for each in self.table.indexes if each.columns[0] == self.date.name), None)
        is_enough = index is not None and (self.condition.columns or frozenset()) <= {"id", *index.columns}
        return index if is_enough else None

    @property
    def _width(self) -> int:
        """The number of grouping columns."""
        return (self.dimension.width if self.dimension is not None else 0) + (self.time is not None)

    def _run(self, tx: Transaction, start: int, end: int, columns: Any, form: str) -> list[Row]:
        table, dimension, parts, time, width = self.table, self.dimension, self.parts, self.time, self._width
        condition = all_of([self.condition, between(self.date, start, end)])
        index = self._index
        values: list[Any] = [*dimension.source.values, *dimension.values] if dimension is not None else []
        places = []
        for each in (*parts, condition):
            places.append(len(values))
            values += each.values

        def build() -> Any:
            grouped = list(dimension.expressions(slots_from(0))) if dimension is not None else []
            if time is not None:
                grouped.append(_step(time))
            counted = [part.build(slots_from(place)) for part, place in zip(parts, places, strict=False)]
            origin = stand_in(table.sql, read_by(table, index)) if index is not None else table.sql
            statement: Any = peewee.Select([origin], columns(grouped, counted))
            if dimension is not None:
                statement = dimension.source.join(statement, slots_from(0))
            statement = statement.where(condition.build(slots_from(places[-1])))
            if form == GROUPED and width:
                statement = statement.group_by(*by_place(width))
            return statement.limit(slot(len(values)))

        distinct, seconds = (each.name if each is not None else "" for each in (self.distinct, time))
        keys = (dimension.key if dimension is not None else None, condition.key, *(each.key for each in parts))
        shape = keyed(build, table, *keys, seconds, distinct, form)
        return tx.rows(shape, (*values, MAX_COMBINATIONS + 1))


def _step(seconds: Any) -> peewee.Node:
    """Returns the beginning of the step that contains a time, NO_TIME for none."""
    none = (peewee.Expression(seconds, "<=", _ZERO), peewee.SQL(str(NO_TIME)))
    bounds = [
        (peewee.Expression(seconds, "<", peewee.SQL(str(end))), _times(_over(seconds, size), size))
        for end, size in STEPS
        if end
    ]
    last = STEPS[-1][1]
    return peewee.Case(None, [none, *bounds], _times(_over(seconds, last), last))


def _plus(one: Any, number: Any) -> peewee.Node:
    return peewee.Expression(one, "+", peewee.SQL(str(number)) if isinstance(number, int) else number)


def _times(one: Any, number: int) -> peewee.Node:
    return peewee.Expression(one, "*", peewee.SQL(str(number)))


def _over(one: Any, number: int) -> peewee.Node:
    return peewee.Expression(one, "/", peewee.SQL(str(number)))
