"""Functions over values: count, distinct, avg, sum, min, max; with partial results that can be merged."""

from typing import Any

from server.dataclass import dataclass
from server.errors import BadDataQuery, nearest

AVERAGE_DECIMALS = 4


@dataclass(frozen=True)
class Function:
    """label: the start of the label of a column, before the name of the field."""

    name: str
    label: str
    needs_numbers: bool = True

    def __str__(self) -> str:
        return self.name


FUNCTIONS = {
    each.name: each
    for each in (
        Function("count", "Number of", needs_numbers=False),
        Function("distinct", "Distinct", needs_numbers=False),
        Function("avg", "Average"),
        Function("sum", "Total"),
        Function("min", "Minimum"),
        Function("max", "Maximum"),
    )
}
_NAMES = FUNCTIONS | {"average": FUNCTIONS["avg"]}


def function_named(name: str, position: int, field: str = "function") -> Function:
    """Returns a function by name. Raises BadDataQuery at the position."""
    function = _NAMES.get(name)
    if function is None:
        raise BadDataQuery(
            f"'{name[:80]}' is not a function; there are {', '.join(FUNCTIONS)}{nearest(name, _NAMES)}",
            position=position,
            field=field,
        )
    return function


class Tally:
    """The aggregates of one cell; tallies of two cells can be merged.

    hits: records. numbers, total, low, high: of the records with a number. seen: the distinct values."""

    __slots__ = ("high", "hits", "low", "numbers", "seen", "total")

    def __init__(self) -> None:
        self.hits = 0
        self.numbers = 0
        self.total: float = 0
        self.low: float | None = None
        self.high: float | None = None
        self.seen: set[Any] = set()

    def add(self, hits: int, numbers: int = 0, total: float = 0, low: Any = None, high: Any = None) -> None:
        """Adds aggregates of some records from the database."""
        self.hits += hits or 0  # SUM of no rows is NULL
        self.numbers += numbers
        self.total += total or 0
        if low is not None and (self.low is None or low < self.low):
            self.low = low
        if high is not None and (self.high is None or high > self.high):
            self.high = high

    def put(self, number: float) -> None:
        """Adds one number."""
        self.add(1, 1, number, number, number)
        self.seen.add(number)

    def merge(self, other: "Tally") -> None:
        """Adds another cell."""
        self.add(other.hits, other.numbers, other.total, other.low, other.high)
        self.seen |= other.seen

    def value(self, function: Function) -> float | None:
        """Returns the result of the function, not rounded because a formula may follow. Without values: 0 for count and
        sum, None for average, minimum and maximum."""
        if function.name == "count":
            return self.hits
        if function.name == "distinct":
            return len(self.seen)
        if function.name == "sum":
            return self.total
        if function.name == "avg":
            return self.total / self.numbers if self.numbers else None
        return self.low if function.name == "min" else self.high


def plain(number: float) -> float:
    """Returns a number for display: whole if possible, else with at most four decimals.

    >>> plain(2.0), plain(2808.19123)
    (2, 2808.1912)
    """
    if isinstance(number, int):
        return number
    rounded = round(number, AVERAGE_DECIMALS)
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2**53 else rounded
