"""Counts and response times of searches, by the values of a field. Each names the search that finds its records."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from server import times
from server.counting.bins import UNIT_BY_NAME, Bin, TimeScale
from server.counting.counting import count
from server.counting.dimensions.bin_options import MAX_BINS, Options
from server.counting.dimensions.dimension import Dimension, Member, Raw
from server.counting.dimensions.dimension_names import Fields
from server.counting.measures import FUNCTIONS
from server.dataclass import dataclass
from server.queries.reports.field_values import FieldValues
from server.queries.reports.range_count import NO_TIME, RangeCount
from server.queries.reports.ranges import DayRange
from server.records.dictionary import Dictionaries
from server.records.reading import RecordReader
from server.search.compile import SearchScope, compile_group
from server.search.query_parser import parse
from server.search.select import CompiledSearch, search
from server.translation import Words

SHARES = (0.5, 0.9)
COUNT = FUNCTIONS["count"]
# {key of a value: the value, the number of records, the figures}.
Parts = dict[Hashable, tuple[Member | None, int, tuple[int | None, ...]]]


@dataclass(frozen=True)
class Measure:
    """What is counted: the records of a search. q: the search, with {span} for the range; measures with the same one
    are read together. narrow: further terms of this measure. seconds: the filter of a time, of which the median and the
    time that 90 % do not exceed are computed. of_tickets: counts the tickets of the messages that the search finds.
    good: the part of the records, as a further term, whose share is computed. tone: `ok` or `err` if the records are
    good or bad, for the colour of charts."""

    key: str
    label: Words
    q: str
    uri: str = "ticket"
    narrow: str = ""
    seconds: str = ""
    of_tickets: bool = False
    good: str = ""
    tone: str = ""


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
        self._values = FieldValues(scope.tx)
        self._zone = "" if str(scope.tz) == str(reader.ctx.tz) else f"set.timezone:{scope.tz}"

    def measured(
        self, measures: Sequence[Measure], shown: DayRange, by: Mapping[str, str], among: str = ""
    ) -> list[dict[Hashable, Figure]]:
        """Returns the figures of each measure by the key of each value of a field; by None without a field. by: {record
        type: its field}. among: a term that limits the values."""
        figures: dict[Measure, dict[Hashable, Figure]] = {}
        for alike in _read_together(measures):
            field = by.get(alike[0].uri, "")
            for measure, parts in self._parts(alike, shown, field, among).items():
                uri = "ticket" if measure.of_tickets else measure.uri
                figures[measure] = {
                    key: Figure(member, hits, values, uri, self._link(measure, shown, member))
                    for key, (member, hits, values) in parts.items()
                }
        return [figures[each] for each in measures]

    def counted(self, uri: str, q: str, by: str, limit: int = MAX_BINS) -> list[tuple[Member, int, str]]:
        """Returns the values of a field, such as the days of a date: (value, hits, the search for its records)."""
        compiled = self._compiled(uri, self.query(uri, q))
        dimension = self._dimension(compiled, by, limit)
        cells = count(compiled, (dimension,), None, COUNT).rows()
        return [(member, tally.hits, self.link(f"{member.term} {self.query(uri, q)}")) for (member,), tally in cells]

    def counted_by_step(self, measure: Measure, shown: DayRange) -> list[tuple[Bin, int, str]]:
        """Returns the steps of the time axis: (step, records, the search for them). A range of the index for each step
        takes a fifth of the time of sorting all records into steps, if the index suffices."""
        field, _, more = measure.q.partition(":{span}")
        query = self.query(measure.uri, more.strip())
        compiled, date = self._of_range(measure)
        counting = RangeCount(compiled.record_type.table, compiled.condition, date)
        by_start: dict[Any, int] = {}
        if not counting.is_split_quickly:
            counted = self.counted(measure.uri, measure.q.replace("{span}", shown.span), f"{field}@{shown.step}")
            by_start = {member.order.start: hits for member, hits, _ in counted}
        whole = self._instants(shown)
        calendar = TimeScale(UNIT_BY_NAME[shown.step], self.scope.tz, self.scope.now)
        ends = calendar.fold((whole.start, whole.end), 1) or {}
        steps = []
        for each in calendar.axis(ends[whole.start], ends[whole.end]) or ():
            hits = by_start.get(each.start, 0)
            if counting.is_split_quickly:
                parts = [(max(first, whole.start), min(last, whole.end)) for first, last in each.pieces]
                hits = sum(row[0] for part in parts for row in counting.rows(self.scope.tx, *part))
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

    def _parts(self, measures: Sequence[Measure], shown: DayRange, by: str, among: str) -> dict[Measure, Parts]:
        """Returns the figures of measures of the same records."""
        rows, dimension, columns = self._rows(measures, shown, by, among)
        width = dimension.width if dimension is not None else 0
        if dimension is None:
            named: dict[Raw, Member | None] = {(): None}
        else:
            hits: dict[Raw, int] = defaultdict(int)
            for row in rows:
                hits[row[:width]] += row[columns[""]]
            named = {raw: each for raw, each in (dimension.members(hits) or {}).items() if each is not None}
        by_key: dict[Hashable, list[tuple[Any, ...]]] = defaultdict(list)
        members: dict[Hashable, Member | None] = {}
        for row in rows:
            if row[:width] in named:
                member = named[row[:width]]
                key = member.key if member is not None else None
                members[key] = member
                by_key[key].append(row)
        if dimension is None:  # counts nothing rather than being left out
            members.setdefault(None, None)
        parts: dict[Measure, Parts] = {}
        for measure in measures:
            parts[measure] = {}
            for key, member in members.items():
                number, values = _values(measure, by_key[key], width, columns)
                if number or (dimension is None and not measure.seconds):
                    parts[measure][key] = (member, number, values)
        return parts

    def _rows(
        self, measures: Sequence[Measure], shown: DayRange, by: str, among: str
    ) -> tuple[list[tuple[Any, ...]], Dimension | None, dict[str, int]]:
        """Returns the rows of a range count, the dimension of the field, and the column of the number of each term, ""
        for all records."""
        first = measures[0]
        record_type = self.builder.type(first.uri)
        compiled, date = self._of_range(first, among)
        dimension = self._dimension(compiled, by) if by else None
        seconds = {each.seconds for each in measures} - {""}
        assert len(seconds) <= 1, f"records are read for one time at once, not for {seconds}"
        of_time = record_type.filter_named(next(iter(seconds)), self.scope) if seconds else None
        terms = list(dict.fromkeys(term for each in measures for term in _terms(each) if term))
        counting = RangeCount(
            record_type.table,
            compiled.condition,
            date,
            [compile_group(record_type, parse(each).root, self.scope) for each in terms],
            dimension,
            record_type.column(of_time.column_name) if of_time is not None else None,
            record_type.column("ticket_id") if first.of_tickets else None,
        )
        whole = self._instants(shown)
        start = (dimension.width if dimension is not None else 0) + bool(seconds)
        rows = self._values.rows(counting, whole.start, whole.end)
        return (
            counting.rows(self.scope.tx, whole.start, whole.end) if rows is None else rows,
            dimension,
            {term: start + place for place, term in enumerate(["", *terms])},
        )

    def _of_range(self, measure: Measure, among: str = "") -> tuple[CompiledSearch, Any]:
        """Returns the search of a measure without its range, and the column of the range."""
        field, _, more = measure.q.partition(":{span}")
        compiled = self._compiled(measure.uri, self.query(measure.uri, f"{more.strip()} {among}".strip()))
        date_filter = compiled.record_type.filter_named(field, self.scope)
        assert date_filter is not None, f"reports count a range of {field}, and nothing searches for it"
        return compiled, compiled.record_type.column(date_filter.column_name)

    def _instants(self, shown: DayRange) -> Any:
        return times.span(shown.span.strip('"'), self.scope.now, self.scope.tz)

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

    def _link(self, measure: Measure, shown: DayRange, member: Member | None) -> str:
        own = " ".join(filter(None, (measure.q.replace("{span}", shown.span), measure.narrow)))
        own = f"{own} {member.term}" if member is not None else own
        if measure.of_tickets:
            return self.link(self.query("ticket", f"messages:({own})"))
        time = f" {measure.seconds}:>0 sort:{measure.seconds}" if measure.seconds else ""
        return self.link(self.query(measure.uri, f"{own}{time}"))


def _read_together(measures: Sequence[Measure]) -> Iterable[list[Measure]]:
    """Groups measures of the same records."""
    groups: dict[Hashable, list[Measure]] = defaultdict(list)
    for each in measures:
        groups[each.uri, each.q, each.of_tickets].append(each)
    return groups.values()


def _terms(measure: Measure) -> tuple[str, str]:
    """Returns the search terms of the records of a measure, and of those that count as good."""
    return measure.narrow, f"{measure.narrow} {measure.good}" if measure.good else measure.narrow


def _values(
    measure: Measure, rows: Sequence[tuple[Any, ...]], step: int, columns: dict[str, int]
) -> tuple[int, tuple[int | None, ...]]:
    """Returns the number of records and the figures of a measure. step: the column of the time, if one is measured.
    columns: those of the numbers, by their terms."""
    of_all, of_good = (columns[each] for each in _terms(measure))
    if measure.seconds:
        steps = [(row[step], row[of_all]) for row in rows if row[step] != NO_TIME and row[of_all]]
        return sum(number for _, number in steps), tuple(_quantile(sorted(steps), share) for share in SHARES)
    number = sum(row[of_all] or 0 for row in rows)
    if measure.good:
        good = sum(row[of_good] or 0 for row in rows)
        return number, (round(100 * good / number) if number else None,)
    return number, (number,)


def _quantile(steps: list[tuple[int, int]], share: float) -> int | None:
    """Returns the time that this share of the records does not exceed. steps: (seconds, records), in order."""
    rank = max(1, round(share * sum(number for _, number in steps)))
    for seconds, number in steps:
        rank -= number
        if rank <= 0:
            return seconds
    return None
