"""Counts records by dimensions: folds the grouped rows of the database into cells and applies the limit of each
dimension.

Formatting of results is in the queries."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

from server.counting.combinations import Combinations, Row
from server.counting.dimensions.dimension import Dimension, Member, Raw
from server.counting.measures import Function, Tally
from server.dataclass import dataclass
from server.search.conditions import NEVER
from server.search.select import CompiledSearch

Members = tuple[Member, ...]


@dataclass
class Cells:
    """The result of a count: {keys of members, one per dimension: tally}."""

    dimensions: tuple[Dimension, ...]
    function: Function
    tallies: dict[tuple[Hashable, ...], Tally]
    members: dict[tuple[Hashable, ...], Members]

    def tally(self, combination: list[Member | None]) -> Tally | None:
        """Returns the tally of a combination of members, created on first use; None if a member is hidden."""
        if None in combination:
            return None
        members: list[Any] = combination
        key = tuple(each.key for each in members)
        tally = self.tallies.get(key)
        if tally is None:
            tally = self.tallies[key] = Tally()
            self.members[key] = tuple(members)
        return tally

    def rows(self) -> list[tuple[Members, Tally]]:
        """Returns the cells, unordered."""
        return [(self.members[key], tally) for key, tally in self.tallies.items()]


def count(
    search: CompiledSearch,
    dimensions: Sequence[Dimension],
    measured: Dimension | None,
    function: Function,
    most: int | None = None,
) -> Cells:
    """Groups the records of a search by the values of `dimensions`, and applies the function to those of `measured`.

    most: limits the number of combinations, to those with the most hits. Without it, raises BadDataQuery for more than
    MAX_ROWS."""
    shown_dimensions = tuple(dimensions)
    if search.condition is NEVER:
        return Cells(shown_dimensions, function, {} if shown_dimensions else {(): Tally()}, {(): ()})
    folding = shown_dimensions if measured is None or function.name != "distinct" else (*shown_dimensions, measured)
    combinations = Combinations(search, folding, measured if function.needs_numbers else None, most)
    while True:
        rows = combinations.rows()
        raws = _split(rows, folding)
        hits = [_hits(each, rows) for each in raws]
        members = [dimension.members(each) for dimension, each in zip(shown_dimensions, hits, strict=False)]
        identities = folding[-1].identities(hits[-1]) if len(folding) > len(shown_dimensions) else {}
        if identities is not None and None not in members:
            break
        for dimension, values in zip(folding, [*members, identities], strict=False):
            if values is None:
                dimension.finer()
    member_maps = [each for each in members if each is not None]
    for place, dimension in enumerate(shown_dimensions):
        _limit(dimension, member_maps[place], hits[place])
    cells = Cells(shown_dimensions, function, {}, {})
    scale = (measured.scale or 1) if measured is not None else 1
    for place, (_, sums) in enumerate(rows):
        tally = cells.tally([each[raw[place]] for each, raw in zip(member_maps, raws, strict=False)])
        if tally is not None and (sums[0] or not shown_dimensions):
            tally.add(*_scaled(sums, scale))
            if identities and identities[raws[-1][place]] is not None:
                tally.seen.add(identities[raws[-1][place]])
    return cells


def _split(rows: list[Row], dimensions: tuple[Dimension, ...]) -> list[list[Raw]]:
    """Returns the raw values of each dimension, row by row."""
    columns, start = [], 0
    for each in dimensions:
        end = start + each.width
        columns.append([raw[start:end] for raw, _ in rows])
        start = end
    return columns


def _hits(raws: list[Raw], rows: list[Row]) -> Counter[Raw]:
    """Returns the number of records per raw value of one dimension."""
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
    """Hides all but the most frequent or the rarest values of a dimension."""
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
    visible = set(sorted(totals, key=lambda key: (sign * totals[key], labels[key].casefold()))[: abs(limit)])
    for raw, member in members.items():
        if member is not None and member.key not in visible:
            members[raw] = None
