"""Counts records by dimensions: one statement groups, its rows fold into cells, and each dimension keeps its limit.

Not for the shapes of answers. Source: Data queries, worklist.subtotals."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import peewee

from server.counting.dimensions.base import Dimension, Member, Raw
from server.counting.measures import Function, Tally
from server.dataclass import dataclass
from server.errors import BadDataQuery
from server.search.conditions import ALWAYS, NEVER, slots_from
from server.search.select import CompiledSearch
from server.store.expressions import by_place
from server.store.peewee_parts import stand_in
from server.store.shapes import keyed

MAX_ROWS = 200_000  # combinations of values that the database may come up with for one count

Members = tuple[Member, ...]


@dataclass
class Cells:
    """What was counted: {members, one of each dimension: tally}."""

    dimensions: tuple[Dimension, ...]
    function: Function
    tallies: dict[tuple[Hashable, ...], Tally]
    members: dict[tuple[Hashable, ...], Members]

    def tally(self, found: list[Member | None]) -> Tally | None:
        """The tally of a combination of members, a new one when it is the first time; None where one is not shown."""
        if None in found:
            return None
        members: list[Any] = found
        key = tuple(each.key for each in members)
        tally = self.tallies.get(key)
        if tally is None:
            tally = self.tallies[key] = Tally()
            self.members[key] = tuple(members)
        return tally

    def rows(self) -> list[tuple[Members, Tally]]:
        """The cells, in no order."""
        return [(self.members[key], tally) for key, tally in self.tallies.items()]


def count(
    search: CompiledSearch,
    dimensions: Sequence[Dimension],
    measured: Dimension | None,
    function: Function,
    most: int | None = None,
) -> Cells:
    """Group the records of a search by the values of `dimensions`, and apply the function to those of `measured`.

    most: only so many combinations are looked at, those with most hits. Without it, raises BadDataQuery when there are
    more than MAX_ROWS."""
    listed = tuple(dimensions)
    if search.condition is NEVER:
        return Cells(listed, function, {} if listed else {(): Tally()}, {(): ()})
    folding = listed if measured is None or function.name != "distinct" else (*listed, measured)
    while True:
        rows = _rows(search, folding, measured, function, most)
        raws = _split(rows, folding)
        hits = [_hits(each, rows) for each in raws]
        members = [dimension.members(each) for dimension, each in zip(listed, hits, strict=False)]
        seen = folding[-1].identities(hits[-1]) if len(folding) > len(listed) else {}
        if seen is not None and None not in members:
            break
        for dimension, found in zip(folding, [*members, seen], strict=False):
            if found is None:
                dimension.finer()
    known = [each for each in members if each is not None]
    for place, dimension in enumerate(listed):
        _limit(dimension, known[place], hits[place])
    cells = Cells(listed, function, {}, {})
    scale = (measured.scale or 1) if measured is not None else 1
    for place, (_, sums) in enumerate(rows):
        tally = cells.tally([each[raw[place]] for each, raw in zip(known, raws, strict=False)])
        if tally is not None and (sums[0] or not listed):
            tally.add(*_scaled(sums, scale))
            if seen and seen[raws[-1][place]] is not None:
                tally.seen.add(seen[raws[-1][place]])
    return cells


def _rows(
    search: CompiledSearch,
    dimensions: tuple[Dimension, ...],
    measured: Dimension | None,
    function: Function,
    most: int | None,
) -> list[tuple[Raw, list[Any]]]:
    """[(the raw values, hits and what else is added up)] of each combination."""
    table, condition = search.record_type.table, search.condition
    adds_up = measured is not None and function.needs_numbers
    sources = [*dimensions, measured] if adds_up and measured is not None else list(dimensions)
    counts = None if adds_up else _summary(search, dimensions)
    values: list[Any] = []
    places = []
    for each in sources:
        places.append(len(values))
        values += [*each.source.values, *each.values]
    where = len(values)

    def build() -> Any:
        origin = table.sql if counts is None else counts
        expressions: list[Any] = []
        for each, place in zip(sources, places, strict=True):
            if each is not measured or not adds_up:
                expressions += each.expressions(slots_from(place))
        width = len(expressions)
        hits: Any = peewee.fn.COUNT(peewee.SQL("*")) if counts is None else peewee.fn.SUM(counts.n)
        expressions.append(hits)
        if adds_up and measured is not None:
            number = measured.number(slots_from(places[-1]))
            expressions += [function(number) for function in _SUMS]
        query = origin.select(*expressions)
        for each, place in zip(sources, places, strict=True):
            query = each.source.join(query, slots_from(place))
        if condition is not ALWAYS:
            query = query.where(condition.build(slots_from(where)))
        if width:
            query = query.group_by(*by_place(width))
        return query.limit(MAX_ROWS + 1) if most is None else query.order_by(hits.desc()).limit(most)

    shape = keyed(build, table, tuple(each.key for each in sources), adds_up, counts is None, condition.key, most)
    found = search.scope.tx.rows(shape, (*values, *condition.values))
    if len(found) > MAX_ROWS:
        raise BadDataQuery(
            f"there are more than {MAX_ROWS} combinations of values to count; narrow the search or use larger units",
            position=dimensions[0].asked.position if dimensions else 0,
            limit=MAX_ROWS,
        )
    split = sum(_width(each) for each in dimensions)
    return [(row[:split], list(row[split:])) for row in found]


_SUMS = (peewee.fn.COUNT, peewee.fn.SUM, peewee.fn.MIN, peewee.fn.MAX)


def _summary(search: CompiledSearch, dimensions: tuple[Dimension, ...]) -> Any:
    """The table of kept counts, when it holds every column that the search and the dimensions look at."""
    table, known = search.record_type.table, search.condition.columns
    if not table.summary or known is None or any(each.values for each in dimensions):
        return None
    for each in dimensions:
        if each.source.columns is None:
            return None
        known = known | each.source.columns
    return stand_in(table.sql, table.summary_table.sql) if known <= set(table.summary) else None


def _width(dimension: Dimension) -> int:
    return len(dimension.expressions(slots_from(0)))


def _split(rows: list[tuple[Raw, list[Any]]], dimensions: tuple[Dimension, ...]) -> list[list[Raw]]:
    """For each dimension its raw values, row by row."""
    found, start = [], 0
    for each in dimensions:
        end = start + _width(each)
        found.append([raw[start:end] for raw, _ in rows])
        start = end
    return found


def _hits(raws: list[Raw], rows: list[tuple[Raw, list[Any]]]) -> Counter[Raw]:
    """How many records have each raw value of one dimension."""
    hits: Counter[Raw] = Counter()
    for raw, (_, sums) in zip(raws, rows, strict=True):
        hits[raw] += sums[0]
    return hits


def _scaled(sums: list[Any], scale: float) -> list[Any]:
    if scale == 1 or len(sums) == 1:
        return sums
    hits, numbers, *amounts = sums
    return [hits, numbers, *(None if amount is None else amount / scale for amount in amounts)]


def _limit(dimension: Dimension, members: dict[Raw, Member | None], hits: Counter[Raw]) -> None:
    """Keep the most frequent values of a dimension, or the rarest."""
    totals: Counter[Hashable] = Counter()
    labels: dict[Hashable, str] = {}
    for raw, member in members.items():
        if member is not None:
            totals[member.key] += hits[raw]
            labels[member.key] = member.label
    limit = dimension.limit
    if len(totals) <= abs(limit):
        return
    sign = 1 if limit < 0 else -1
    kept = set(sorted(totals, key=lambda key: (sign * totals[key], labels[key].casefold()))[: abs(limit)])
    for raw, member in members.items():
        if member is not None and member.key not in kept:
            members[raw] = None
