"""Filters on numbers: equal, compared, in a range, in a list; also sizes, durations and scaled decimals."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from server import times
from server.digits import is_whole
from server.errors import Invalid
from server.search.ast import Items, SearchValue, Term
from server.search.conditions import NEVER, Condition, between, compared, equals, one_of
from server.search.filters.filter import Filter, is_null
from server.search.values import MAX_INTEGER, integer, size_bytes, split_comparison, split_range

if TYPE_CHECKING:
    from server.search.compile import SearchScope


class NumberFilter(Filter):
    """Whole numbers."""

    type = "number"
    splits_commas = True

    def meaning(self, term: Term, scope: "SearchScope") -> Condition:
        value = term.value
        if isinstance(value, Items) and all(is_whole(item.value) for item in value.items):
            return one_of(self.column, [self.number(item.value) for item in value.items])
        return super().meaning(term, scope)

    def one(self, text: SearchValue, scope: "SearchScope") -> Condition:
        return self.number_condition(self.column, text)

    def number_condition(self, column: Any, text: SearchValue) -> Condition:
        """Returns the comparison of `column` with one value."""
        if is_null(text):
            return self.unset(column)
        limits = split_range(text.value)
        if limits:
            return between(column, self.number(limits[0]), self.number(limits[1]))
        operator, rest = split_comparison(text.value)
        return compared(column, operator or "=", self.number(rest))

    def number(self, text: str) -> int | float:
        """Parses one number of a value. Raises Invalid."""
        return integer(text.strip())

    def unset(self, column: Any) -> Condition:
        """Returns the condition of `null`: these columns always have a value, including 0."""
        return NEVER


class ChooserFilter(NumberFilter):
    """The id of another record; `null` matches no record."""

    type = "chooser"

    def unset(self, column: Any) -> Condition:
        return equals(column, 0)


class BytesFilter(NumberFilter):
    """A size with units such as kB and MiB."""

    type = "bytes"

    def number(self, text: str) -> int:
        return size_bytes(text.strip())


class DurationFilter(NumberFilter):
    """Seconds, or a time text such as `1 hour`."""

    type = "duration"

    def number(self, text: str) -> int:
        return times.duration(text.strip())


class DecimalFilter(NumberFilter):
    """A decimal number. scale: the stored value is the written one times this factor."""

    type = "decimal"

    def __init__(self, name: str, note: str, column: str = "", scale: float = 1, **options: Any) -> None:
        super().__init__(name, note, column, **options)
        self.scale = scale

    def number(self, text: str) -> int | float:
        value = decimal(text.strip())
        if self.scale == 1:
            return value
        scaled = Decimal(text.strip()) * Decimal(self.scale)  # exact: 1.15 * 100 as floats is less than 115
        is_whole = abs(scaled) <= MAX_INTEGER and scaled == scaled.to_integral_value()
        return int(scaled) if is_whole else float(scaled)


def decimal(text: str) -> float:
    """Parses a decimal number. Raises Invalid.

    >>> decimal("0.9")
    0.9
    """
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value != value or value in (float("inf"), float("-inf")) or "_" in text or not text.isascii():
        raise Invalid(f"'{text[:50]}' is not a number, such as 12 or 0.5")
    return value
