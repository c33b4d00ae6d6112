"""The counts ready for display: sorted rows, each with its value and the search for its records."""

from collections.abc import Callable, Hashable, Sequence

from server.counting.counting import Cells, Members
from server.counting.dimensions.dimension import Dimension, Member
from server.counting.measures import Function, Tally
from server.dataclass import dataclass
from server.record_types.record_type import RecordType

Number = float | None
Metric = Callable[[Number], Number]


@dataclass(frozen=True)
class SubtotalsRow:
    """One cell: one member per dimension, and its value."""

    members: Members
    value: Number
    tally: Tally


@dataclass(frozen=True)
class SubtotalsResult:
    """dimensions: of the rows. measured: the field of a function other than count. source: the search of the query, in
    parentheses. zone: its name."""

    record_type: RecordType
    dimensions: tuple[Dimension, ...]
    measured: Dimension | None
    function: Function
    metric: Metric
    rows: tuple[SubtotalsRow, ...]
    source: str
    zone: str

    @property
    def counts(self) -> bool:
        """Whether values are numbers of records."""
        return self.measured is None

    @property
    def title(self) -> str:
        """The label of the values."""
        return "Count" if self.measured is None else f"{self.function.label} {self.measured.label.lower()}"

    def query(self, members: Sequence[Member]) -> str:
        """Returns a search for the records with these members."""
        terms = [self.source, *(member.term for member in members), f"set.timezone:{self.zone}"]
        return " ".join(term for term in terms if term)

    def value(self, tally: Tally) -> Number:
        """Returns the displayed value of a tally."""
        return self.metric(tally.value(self.function))


def result(
    record_type: RecordType, cells: Cells, measured: Dimension | None, metric: Metric, source: str, zone: str
) -> SubtotalsResult:
    """Sorts the cells by value, descending, then by labels."""
    rows = []
    for members, tally in cells.rows():
        rows.append(SubtotalsRow(members, metric(tally.value(cells.function)), tally))
    rows.sort(key=order)
    return SubtotalsResult(record_type, cells.dimensions, measured, cells.function, metric, tuple(rows), source, zone)


def order(row: SubtotalsRow) -> tuple[bool, float, list[str]]:
    """Returns the sort key of a row; rows without a value come last."""
    return row.value is None, -(row.value or 0), [member.label.casefold() for member in row.members]


def regrouped(cells: Cells, dimensions: Sequence[Dimension], function: Function) -> Cells:
    """`group:`: combines the values of cells by some of their dimensions."""
    places = [cells.dimensions.index(each) for each in dimensions]
    tallies: dict[tuple[Hashable, ...], Tally] = {}
    members: dict[tuple[Hashable, ...], Members] = {}
    for cell_members, tally in cells.rows():
        value = tally.value(cells.function)
        group_members = tuple(cell_members[place] for place in places)
        key = tuple(member.key for member in group_members)
        into = tallies.setdefault(key, Tally())
        members[key] = group_members
        if value is not None:
            into.put(value)
    return Cells(tuple(dimensions), function, tallies, members)
