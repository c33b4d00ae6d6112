"""Numbers: rounded, formatted for people, in other bases, and statistics."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

from server.errors import TemplateFailed, nearest
from server.template.registry import filter
from server.template.run import Rendering
from server.template.shared.rounding import MAX_PLACES, METHODS, fixed, rounded_number
from server.template.shared.text_values import read
from server.template.values import is_numeric, items, number, number_or, printed, whole, within

MAX_BASE_DIGITS = 1000  # limits the work of base_convert
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
BYTES = ((10**15, "PB"), (10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "KB"))
SECONDS = (
    (364 * 86_400, "year"),
    (365 * 86_400 // 12, "month"),
    (7 * 86_400, "week"),
    (86_400, "day"),
    (3600, "hour"),
    (60, "min"),
    (1, "sec"),
)


@filter("abs")
def abs_(run: Rendering, value: Any) -> int | float:
    """The number without its sign. Raises TemplateFailed if the value is not a number."""
    magnitude = abs(number(value))
    return within(magnitude) if isinstance(magnitude, int) else magnitude


@filter("round")
def round_(run: Rendering, value: Any, precision: Any = 0, method: Any = "common") -> int | float:
    """The number rounded to `precision` digits after the point, or before it if negative. method: common (halves away
    from zero), ceil or floor. Raises TemplateFailed for another method."""
    way = printed(method)
    if way not in METHODS:
        raise TemplateFailed(f"'round' has the methods common, ceil and floor, not '{way[:50]}'{nearest(way, METHODS)}")
    return rounded_number(number_or(value), whole(precision), way)


@filter("number_format")
def number_format(run: Rendering, value: Any, decimals: Any = 0, point: Any = ".", thousands: Any = ",") -> str:
    """The number with `decimals` digits after the point and a mark between thousands. A value that is not a number
    counts as 0."""
    text = fixed(number_or(value), max(0, min(whole(decimals), MAX_PLACES)))
    marks = {".": printed(point), ",": printed(thousands)}
    run.budget.text(len(text) * (1 + max(map(len, marks.values()))))
    return "".join(marks.get(char, char) for char in text)


@filter("base_convert")
def base_convert(run: Rendering, value: Any, from_: Any, to: Any) -> str:
    """A whole number in another base, 2 to 36; characters that are not digits of its base are ignored. Raises
    TemplateFailed for other bases and above MAX_BASE_DIGITS digits."""
    old, new = whole(from_), whole(to)
    for base in (old, new):
        if not 2 <= base <= 36:
            raise TemplateFailed(f"'base_convert' knows the bases 2 to 36, not {base}")
    text = read(run, value).lower()
    if len(text) > MAX_BASE_DIGITS:
        raise TemplateFailed(f"'base_convert' reads at most {MAX_BASE_DIGITS:,} digits")
    rest = int("".join(char for char in text if char in DIGITS[:old]) or "0", old)
    digits = ""
    while rest:
        rest, digit = divmod(rest, new)
        digits = DIGITS[digit] + digits
    return digits or "0"


@filter("bytes_pretty")
def bytes_pretty(run: Rendering, value: Any, precision: Any = 0) -> str:
    """A number of bytes in a readable unit: '999 bytes', '1.5 KB'. Empty if the value is not a number."""
    if not is_numeric(value):
        return ""
    size = whole(value)
    if size < 0:
        return str(size)
    for unit, name in BYTES:
        if size >= unit:
            return f"{number_format(run, size / unit, precision)} {name}"
    return f"{size} bytes"


@filter("secs_pretty")
def secs_pretty(run: Rendering, value: Any, precision: Any = 0) -> str:
    """A number of seconds in readable units: '1 hour, 1 min'. precision: the maximum number of units, 0 for all. Empty
    if the value is not a number."""
    if not is_numeric(value):
        return ""
    return ", ".join(parts_of_time(whole(value), whole(precision))) or "0 secs"


def parts_of_time(seconds: int, most: int = 0) -> list[str]:
    """Returns ['1 hour', '2 mins'] for a number of seconds, the largest units first, at most `most` of them.

    Below 0 only the first part is negative, as the division rounds down."""
    parts = []
    for unit, name in SECONDS:
        count, seconds = divmod(seconds, unit)
        if count:
            parts.append(f"{count} {name}{'' if count == 1 else 's'}")
    return parts[:most] if most > 0 else parts


# -- stat -------------------------------------------------------------------------------------------------------------


@filter("stat")
def stat(run: Rendering, value: Any, measure: Any, decimals: Any = 2) -> Any:
    """A statistic of a list of numbers, rounded: count max mean median min mode stdevp stdevs sum varp vars. Null for
    an unknown one, and for an empty list except for count and sum."""
    values = items(value)
    numbers = [number_or(each) for each in values]
    name = printed(measure)
    if name in ("count", "sum"):
        result: int | float = len(numbers) if name == "count" else _sum(numbers)
    elif name in MEASURES and numbers:
        result = MEASURES[name](numbers)
    else:
        return None
    return rounded_number(result, whole(decimals))


def _sum(numbers: list[Any]) -> int | float:
    if all(isinstance(each, int) for each in numbers):
        return within(sum(numbers))
    try:
        return math.fsum(numbers)
    except (OverflowError, ValueError):  # beyond the range of a float, or infinities that cancel out
        return sum(map(float, numbers))


def _mean(numbers: list[Any]) -> float:
    return _sum(numbers) / len(numbers)


def _median(numbers: list[Any]) -> int | float:
    ordered, middle = sorted(numbers), len(numbers) // 2
    return ordered[middle] if len(ordered) % 2 else _mean(ordered[middle - 1 : middle + 1])


def _spread(numbers: list[Any], fewer: int) -> float:
    """Returns the sum of squared distances from the mean, divided by the count less `fewer`; 0 for a single number."""
    mean = _mean(numbers)
    distances = [float(each - mean) for each in numbers]
    return _sum([each * each for each in distances]) / max(len(numbers) - fewer, 1)


MEASURES: dict[str, Callable[[list[Any]], int | float]] = {
    "max": max,
    "mean": _mean,
    "median": _median,
    "min": min,
    "mode": lambda numbers: Counter(numbers).most_common(1)[0][0],
    "stdevp": lambda numbers: math.sqrt(_spread(numbers, 0)),
    "stdevs": lambda numbers: math.sqrt(_spread(numbers, 1)),
    "varp": lambda numbers: _spread(numbers, 0),
    "vars": lambda numbers: _spread(numbers, 1),
}
