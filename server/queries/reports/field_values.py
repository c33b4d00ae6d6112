"""Counts the records of a range by fields whose values are in tables of their own, such as tags and custom fields.

The records are listed once for all fields, and the values once for all ranges; a join would read both each time."""

import json
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

import peewee

from server.counting.dimensions.sources import ValueRows
from server.dataclass import dataclass
from server.queries.reports.range_count import MINUTE, RangeCount, Row
from server.store.statement_shapes import keyed
from server.store.statements import SQLITE, slot
from server.store.tables import table_named
from server.store.transaction import Transaction

CHUNK_BITS = 14  # ids whose values are read at once
SPARSE = 4  # ids for each record of a range, above which a join reads less


@dataclass(frozen=True)
class ListedRange:
    """The records of a range. steps: of each by its id. hits: the number of records by their step. first, last: ids."""

    steps: dict[int, int]
    hits: Counter[int]
    first: int
    last: int


@dataclass(frozen=True)
class ValueChunk:
    """The values of records with near ids. ids: of records; values: one of each. owners: the ids without repetitions,
    None if no record has several values."""

    ids: list[int]
    values: list[Any]
    owners: list[int] | None


class FieldValues:
    """The records and values that the tables of one report share, in one snapshot."""

    def __init__(self, tx: Transaction) -> None:
        self.tx = tx
        self._ranges: dict[Hashable, ListedRange | None] = {}
        self._rows: ValueRows | None = None
        self._chunks: dict[int, ValueChunk] = {}  # values of self._rows, by chunk

    def rows(self, counting: RangeCount, start: int, end: int) -> list[Row] | None:
        """Returns the rows of a range count; None if it has to read them itself."""
        values = counting.listed_values
        if values is None or self.tx.store.dialect != SQLITE:  # PostgreSQL joins and groups faster than it sends ids
            return None
        listed = self._range(counting, start, end)
        if listed is None:
            return []
        chunks = range(listed.first >> CHUNK_BITS, (listed.last >> CHUNK_BITS) + 1)
        if len(chunks) << CHUNK_BITS > SPARSE * len(listed.steps) + (2 << CHUNK_BITS):
            return None
        return _counted(listed, [self._chunk(values, each) for each in chunks], values, counting.time is not None)

    def _range(self, counting: RangeCount, start: int, end: int) -> ListedRange | None:
        """Returns the records of a range, None if there are none."""
        condition, columns = counting.condition, (counting.date, counting.time)
        names = tuple(each.name if each is not None else "" for each in columns)
        key = (counting.table.name, condition.key, condition.values, *names, start, end)
        if key not in self._ranges:
            steps = counting.steps_by_id(self.tx, start, end)
            listed = ListedRange(steps, Counter(steps.values()), min(steps), max(steps)) if steps else None
            self._ranges[key] = listed
        return self._ranges[key]

    def _chunk(self, values: ValueRows, chunk: int) -> ValueChunk:
        if values != self._rows:
            self._rows, self._chunks = values, {}
        if chunk not in self._chunks:
            ids, listed = _read(self.tx, values, chunk)
            if values.is_folded:
                ids, listed = _once(ids, listed)
            self._chunks[chunk] = ValueChunk(ids, listed, list(dict.fromkeys(ids)) if values.is_multi else None)
        return self._chunks[chunk]


def _read(tx: Transaction, values: ValueRows, chunk: int) -> tuple[list[int], list[Any]]:
    """Returns the values of the records of a chunk, in order of their ids."""
    table = table_named(values.table)
    own, value = getattr(table.c, values.own), getattr(table.c, values.value)
    count = len(values.only)

    def build() -> Any:
        rows = table.select(own.alias("own"), value.alias("value"))
        for place, (name, _value) in enumerate(values.only):
            rows = rows.where(getattr(table.c, name) == slot(place))
        rows = rows.where(own >= slot(count), own < slot(count + 1)).order_by(own).alias("listed")
        listed = (peewee.fn.json_group_array(getattr(rows.c, name)) for name in ("own", "value"))
        return peewee.Select([rows], list(listed))

    names = (values.table, values.own, values.value, *(name for name, _value in values.only))
    only = tuple(value for _name, value in values.only)
    first = chunk << CHUNK_BITS
    [row] = tx.rows(keyed(build, *names), (*only, first, first + (1 << CHUNK_BITS)))
    return json.loads(row[0]), json.loads(row[1])


def _once(ids: list[int], texts: list[str]) -> tuple[list[int], list[str]]:
    """Returns each value of a record once, also if it has it in several spellings."""
    pairs = dict.fromkeys(zip(ids, texts, strict=True))
    spellings = set(texts)
    if len({text.casefold() for text in spellings}) < len(spellings):
        first = {(id, text.casefold()): (id, text) for id, text in reversed(pairs)}
        pairs = dict.fromkeys(first.values())
    if len(pairs) == len(ids):
        return ids, texts
    return [id for id, _text in pairs], [text for _id, text in pairs]


def _counted(listed: ListedRange, chunks: Iterable[ValueChunk], values: ValueRows, has_time: bool) -> list[Row]:
    """Returns the rows that a join would return: the value, the step if there is a time, and the number of records."""
    step_of = listed.steps.get
    counts: Counter[tuple[int | None, Any]] = Counter()
    with_value: Counter[int | None] = Counter()
    for each in chunks:
        counts.update(zip(map(step_of, each.ids), each.values, strict=True))
        if each.owners is not None and values.keeps_others:
            with_value.update(map(step_of, each.owners))
    rows = [(value, step, hits) for (step, value), hits in counts.items() if step is not None]
    if values.keeps_others:
        if not values.is_multi:
            for _value, step, hits in rows:
                with_value[step] += hits
        rows += [(None, step, hits - with_value[step]) for step, hits in listed.hits.items() if hits > with_value[step]]
    return [(value, step * MINUTE, hits) if has_time else (value, hits) for value, step, hits in rows]
