"""The lines of worklist.series: numbers over the values of a field, one line per search."""

from collections.abc import Hashable
from typing import Any

from server.counting.bins import MAX_AXIS_BINS, Bin, TimeScale
from server.counting.combinations import MAX_ROWS
from server.counting.counting import count
from server.counting.dimensions.date_bins import DateDimension
from server.counting.dimensions.dimension import Dimension, Member
from server.counting.dimensions.dimension_names import Fields
from server.counting.dimensions.linked_records import RecordDimension
from server.counting.measures import Function
from server.dataclass import dataclass
from server.errors import BadDataQuery
from server.queries.data_query import DataQuery, KeyValues
from server.queries.measuring import COUNT, field_of, functions_of, measured_of, metric_of
from server.record_types.record_type import RecordType

DEFAULT_POINTS = 10  # values of a field that is not a date, if the search has no `limit:`


@dataclass(frozen=True)
class DataSeries:
    """One series with its number at each value of x. column: its type in a table. hits: the number of records at each
    value."""

    id: str
    label: str
    x: Dimension
    column: dict[str, Any]
    members: dict[Hashable, Member]
    numbers: dict[Hashable, float]
    hits: dict[Hashable, int]

    @property
    def calendar(self) -> TimeScale | None:
        """The time scale of x, None if x is not a date."""
        return self.x.calendar if isinstance(self.x, DateDimension) else None


def line(query: DataQuery, values: KeyValues, label: str) -> DataSeries:
    """Counts one `series.<id>:`. Omits records without a date if x is a date."""
    record_type = values.record_type()
    searched = values.searched(record_type)
    fields = Fields(searched.search, query.dictionaries())
    functions, metric = functions_of(values), metric_of(values, "y.metric")
    x = field_of(values, "x", fields, "x")
    measured = measured_of(values, "y", fields, functions)
    function = functions[0]
    x.default_limit = MAX_ROWS if isinstance(x, DateDimension) else searched.limit or DEFAULT_POINTS
    cells = count(searched.search, (x,), None if function is COUNT else measured, function)
    members, numbers, hits = {}, {}, {}
    for (member,), tally in cells.rows():
        if isinstance(x, DateDimension) and member.key is None:
            continue
        members[member.key] = member
        hits[member.key] = tally.hits
        number = metric(tally.value(function))
        if number is not None:
            numbers[member.key] = number
    column = {"type": "number"} if "y.metric" in values else _column(record_type, measured, function)
    return DataSeries(values.id, label, x, column, members, numbers, hits)


def _column(record_type: RecordType, measured: Dimension | None, function: Function) -> dict[str, Any]:
    """The column type; numbers of records link to the records."""
    if measured is None or measured.name == "id":
        return {"type": "context", "type_options": {"context": record_type.context, "context_id_key": "id"}}
    if isinstance(measured, RecordDimension):
        return {"type": "context", "type_options": {"context": measured.context, "context_id_key": measured.name}}
    return {"type": "number" if function.name in ("count", "distinct") else measured.measured_type}


def shared_axis(lines: list[DataSeries]) -> list[Member]:
    """Returns every value of x in any line: dates in order, others by number of records, descending."""
    members: dict[Hashable, Member] = {}
    hits: dict[Hashable, int] = {}
    for each in lines:
        for key, member in each.members.items():
            members.setdefault(key, member)
            hits[key] = hits.get(key, 0) + each.hits[key]
    if all(each.calendar is not None for each in lines):
        return sorted(members.values(), key=lambda member: member.order.start)
    return sorted(members.values(), key=lambda member: (-hits[member.key], member.label.casefold()))


def filled_axis(lines: list[DataSeries], members: list[Member]) -> list[tuple[Hashable, str]]:
    """Returns [(key, label)] of each step of a time axis, without gaps between the first and the last bin.

    Raises BadDataQuery for too many steps, and for lines with different units."""
    calendars = [(each.x, each.calendar) for each in lines]
    first, calendar = calendars[0]
    unit = calendar.unit if calendar else None
    for x, other in calendars[1:]:
        if (other.unit if other else None) is not unit:
            raise BadDataQuery(
                f"x: '{x.options.written[:80]}' and '{first.options.written[:80]}' do not share an axis; "
                "use the same unit",
                position=x.options.position,
                field="x",
            )
    if calendar is None or calendar.unit.is_cyclic or calendar.unit.atom == 1 or not members:
        return [(member.key, member.label) for member in members]
    ends: list[Bin] = [members[0].order, members[-1].order]
    bins = calendar.axis(*ends)
    if bins is None:
        raise BadDataQuery(
            f"x: the time series would have more than {MAX_AXIS_BINS} steps; use a larger unit or narrow the search",
            position=first.options.position,
            field="x",
            limit=MAX_AXIS_BINS,
        )
    return [(each.start, each.label) for each in bins]


def axis_params(lines: list[DataSeries]) -> dict[str, Any]:
    """Returns `_.format_params` of a time series; step and format are blank if x is not a date."""
    calendar = lines[0].calendar
    unit = calendar.unit if calendar else None
    return {"xaxis_key": "ts", "xaxis_step": unit.step if unit else "", "xaxis_format": unit.axis if unit else ""}
