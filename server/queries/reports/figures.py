"""Counts and response times of searches, by the values of a field. Each names the search that finds its records."""

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import peewee

from server import times
from server.counting.bins import UNIT_BY_NAME, Bin, TimeScale
from server.counting.counting import count
from server.counting.dimensions.bin_options import MAX_BINS, Options
from server.counting.dimensions.dimension import Dimension, Member, Raw
from server.counting.dimensions.dimension_names import Fields
from server.counting.measures import FUNCTIONS
from server.dataclass import dataclass
from server.errors import BadDataQuery
from server.queries.reports.ranges import DayRange
from server.records.dictionary import Dictionaries
from server.records.reading import RecordReader
from server.search.compile import SearchScope
from server.search.conditions import ALWAYS, NEVER, all_of, between, slots_from
from server.search.query_parser import parse
from server.search.select import CompiledSearch, search
from server.store.expressions import by_place
from server.store.statement_shapes import keyed
from server.store.statements import slot
from server.translation import Words

MAX_COMBINATIONS = 200_000  # values with their seconds, of one figure
# Times are counted by steps of a minute, of five minutes after an hour, and of an hour after a day: as exact as they
# are shown, and few enough to be read.
STEPS = ((3_600, 60), (86_400, 300), (None, 3_600))
SHARES = (0.5, 0.9)
COUNT = FUNCTIONS["count"]
# {key of a value: the value, the number of records, the figures}.
Parts = dict[Hashable, tuple[Member | None, int, tuple[int | None, ...]]]


@dataclass(frozen=True)
class Measure:
    """What is counted: the records of a search. q: the search, with {span} for the range. seconds: the filter of a
    time, of which the median and the time that 90 % do not exceed are computed. of_tickets: counts the tickets of the
    messages that the search finds. good: the part of the records, as a further term, whose share is computed."""

    key: str
    label: Words
    q: str
    uri: str = "ticket"
    seconds: str = ""
    of_tickets: bool = False
    good: str = ""


@dataclass(frozen=True)
class Figure:
    """A measure of the records with one value of a field. values: the count; or the median and the 90 %; or the share
    in percent, None without records. uri, query: the search that finds the records."""

    member: Member | None
    hits: int
    values: tuple[int | None, ...]
    uri: str
    query: str


class Figures:
    """The figures of one caller in one snapshot. terms: restrict the tickets. scope: in the zone of the report."""

    def __init__(self, reader: RecordReader, scope: SearchScope, terms: str) -> None:
        self.scope = scope
        self.terms = terms
        self.builder = Dictionaries(reader.ctx, reader.tx)
        self._zone = "" if str(scope.tz) == str(reader.ctx.tz) else f"set.timezone:{scope.tz}"

    def measured(self, measure: Measure, shown: DayRange, by: str = "", among: str = "") -> dict[Hashable, Figure]:
        """Returns the figures by the key of each value of a field; by None without a field. among: a term that limits
        the values."""
        link = measure.q.replace("{span}", shown.span)
        q = f"{link} {among}"
        parts: Parts
        if measure.good:
            every, good = self._counts(measure, q, by), self._counts(measure, f"{q} {measure.good}", by)
            parts = {key: (member, hits, (self._share(good, key, hits),)) for key, (member, hits) in every.items()}
        elif measure.seconds:
            parts = self._times(measure, q, by)
        else:
            parts = {key: (member, hits, (hits,)) for key, (member, hits) in self._counts(measure, q, by).items()}
        uri = "ticket" if measure.of_tickets else measure.uri
        return {
            key: Figure(member, hits, values, uri, self._link(measure, link, member))
            for key, (member, hits, values) in parts.items()
        }

    def counted(self, uri: str, q: str, by: str, limit: int = MAX_BINS) -> list[tuple[Member, int, str]]:
        """Returns the values of a field, such as the days of a date: (value, hits, the search for its records)."""
        compiled = self._compiled(uri, self.query(uri, q))
        dimension = self._dimension(compiled, by, limit)
        cells = count(compiled, (dimension,), None, COUNT).rows()
        return [(member, tally.hits, self.link(f"{member.term} {self.query(uri, q)}")) for (member,), tally in cells]

    def counted_by_step(self, measure: Measure, shown: DayRange) -> list[tuple[Bin, int, str]]:
        """Returns the steps of the time axis: (step, records, the search for them). A range of the index for each step
        is counted in a fifth of the time of sorting all records into steps."""
        field, _, more = measure.q.partition(":{span}")
        query = self.query(measure.uri, more.strip())
        compiled = self._compiled(measure.uri, query)
        date_filter = compiled.record_type.filter_named(field, self.scope)
        assert date_filter is not None
        column = compiled.record_type.column(date_filter.column_name)
        whole = times.span(shown.span.strip('"'), self.scope.now, self.scope.tz)
        calendar = TimeScale(UNIT_BY_NAME[shown.step], self.scope.tz, self.scope.now)
        ends = calendar.fold((whole.start, whole.end), 1) or {}
        steps = []
        for each in calendar.axis(ends[whole.start], ends[whole.end]) or ():
            parts = [(max(first, whole.start), min(last, whole.end)) for first, last in each.pieces]
            conditions = [all_of([compiled.condition, between(column, *part)]) for part in parts]
            hits = sum(replace(compiled, condition=condition).total() for condition in conditions)
            steps.append((each, hits, self.link(f"{each.term(field)} {field}:{shown.span} {query}".rstrip())))
        return steps

    def query(self, uri: str, q: str) -> str:
        """Returns a search among the tickets of the report, or their messages."""
        if not self.terms:
            return q
        return f"{q} {self.terms}" if uri == "ticket" else f"{q} ticket:({self.terms})"

    def link(self, query: str) -> str:
        """Returns a search that finds the same in the zone of the caller."""
        return f"{query} {self._zone}".rstrip()

    # -- statements -------------------------------------------------------------------------------------------------

    def _counts(self, measure: Measure, q: str, by: str) -> dict[Hashable, tuple[Member | None, int]]:
        rows, dimension = self._rows(measure, q, by)
        if dimension is None:
            return {None: (None, rows[0][0] if rows else 0)}
        hits = {row[: dimension.width]: row[-1] for row in rows}
        counts: dict[Hashable, tuple[Member | None, int]] = {}
        for raw, member in (dimension.members(hits) or {}).items():
            if member is not None:
                counts[member.key] = (member, counts.get(member.key, (None, 0))[1] + hits[raw])
        return counts

    def _times(self, measure: Measure, q: str, by: str) -> Parts:
        rows, dimension = self._rows(measure, q, by)
        width = dimension.width if dimension is not None else 0
        hits: dict[Raw, int] = defaultdict(int)
        for row in rows:
            hits[row[:width]] += row[-1]
        members = (dimension.members(hits) or {}) if dimension is not None else dict.fromkeys(hits)
        steps: dict[Hashable, list[tuple[int, int]]] = defaultdict(list)
        named: dict[Hashable, Member | None] = {}
        for row in rows:
            member = members[row[:width]]
            if member is not None or dimension is None:
                key = member.key if member is not None else None
                named[key] = member
                steps[key].append(row[width:])
        return {
            key: (named[key], sum(number for _, number in each), tuple(_quantile(sorted(each), s) for s in SHARES))
            for key, each in steps.items()
        }

    def _rows(self, measure: Measure, q: str, by: str) -> tuple[list[tuple[Any, ...]], Dimension | None]:
        """Returns the values of the field, the step of the time if one is measured, and the number of records."""
        record_type = self.builder.type(measure.uri)
        query = self.query(measure.uri, q)
        compiled = self._compiled(measure.uri, f"{query} {measure.seconds}:>0" if measure.seconds else query)
        condition, table, of_tickets = compiled.condition, record_type.table, measure.of_tickets
        dimension = self._dimension(compiled, by) if by else None
        if condition is NEVER:
            return [], dimension
        of_time = record_type.filter_named(measure.seconds, self.scope) if measure.seconds else None
        seconds = record_type.column(of_time.column_name) if of_time is not None else None
        values = (*dimension.source.values, *dimension.values) if dimension is not None else ()

        def build() -> Any:
            grouped = list(dimension.expressions(slots_from(0))) if dimension is not None else []
            if seconds is not None:
                grouped.append(_step(seconds))
            hits: Any = peewee.fn.COUNT(record_type.column("ticket_id").distinct() if of_tickets else peewee.SQL("*"))
            statement: Any = peewee.Select([table.sql], [*grouped, hits])
            if dimension is not None:
                statement = dimension.source.join(statement, slots_from(0))
            if condition is not ALWAYS:
                statement = statement.where(condition.build(slots_from(len(values))))
            if grouped:
                statement = statement.group_by(*by_place(len(grouped)))
            return statement.limit(slot(len(values) + len(condition.values)))

        shape = keyed(build, table, dimension.key if dimension else None, condition.key, measure.seconds, of_tickets)
        rows = self.scope.tx.rows(shape, (*values, *condition.values, MAX_COMBINATIONS + 1))
        if len(rows) > MAX_COMBINATIONS:
            message = f"there are more than {MAX_COMBINATIONS} values to count by {by}"
            raise BadDataQuery(message, limit=MAX_COMBINATIONS)
        return rows, dimension

    def _dimension(self, compiled: CompiledSearch, by: str, limit: int = MAX_BINS) -> Dimension:
        name, _, unit = by.partition("@")
        named_filter = compiled.record_type.filter_named(name, self.scope)
        assert named_filter is not None, f"reports count by {by}, and nothing searches for it"
        dimension = Fields(compiled, self.builder).filter_dimension(
            Options(by, name, unit, limit, 0), named_filter, "by"
        )
        assert dimension is not None, f"reports count by {by}, and nothing counts it"
        return dimension

    def _compiled(self, uri: str, q: str) -> CompiledSearch:
        return search(self.builder.type(uri), parse(q), self.scope)

    def _link(self, measure: Measure, q: str, member: Member | None) -> str:
        own = f"{q} {member.term}" if member is not None else q
        if measure.of_tickets:
            return self.link(self.query("ticket", f"messages:({own})"))
        time = f" {measure.seconds}:>0 sort:{measure.seconds}" if measure.seconds else ""
        return self.link(self.query(measure.uri, f"{own}{time}"))

    @staticmethod
    def _share(good: dict[Hashable, tuple[Member | None, int]], key: Hashable, hits: int) -> int | None:
        return round(100 * good[key][1] / hits) if hits and key in good else 0 if hits else None


def _step(seconds: Any) -> peewee.Node:
    """Returns the beginning of the step that contains a time."""

    def floor(size: int) -> peewee.Node:
        literal = peewee.SQL(str(size))
        return peewee.Expression(peewee.Expression(seconds, "/", literal), "*", literal)

    bounds = [(peewee.Expression(seconds, "<", peewee.SQL(str(end))), floor(size)) for end, size in STEPS if end]
    return peewee.Case(None, bounds, floor(STEPS[-1][1]))


def _quantile(steps: list[tuple[int, int]], share: float) -> int | None:
    """Returns the time that this share of the records does not exceed. steps: (seconds, records), in order."""
    rank = max(1, round(share * sum(number for _, number in steps)))
    for seconds, number in steps:
        rank -= number
        if rank <= 0:
            return seconds
    return None
