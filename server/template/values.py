"""The values of scripts: truth, printing, comparison and conversion to numbers.

A value is text, a whole number, a float, a boolean, null, a list, a map with text keys, or a Moment. A list is a map
with the keys 0, 1, 2..., so functions that preserve keys may turn one into the other."""

import math
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from server.dataclass import dataclass
from server.errors import TemplateFailed
from server.late_pattern import late_pattern

MAX_INT, MIN_INT = 2**63 - 1, -(2**63)
MAX_DIGITS = 400  # digits of a number as text
MAX_NUMBER_CHARS = 1000  # a longer text does not count as a number
CHARS_A_STEP = 1024  # of compared texts
_NUMERIC = late_pattern(r"[ \t\n\r\v\f]*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t\n\r\v\f]*\Z")
_PREFIX = late_pattern(r"[ \t\n\r\v\f]*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_INDEX = late_pattern(r"(0|-?[1-9][0-9]{0,17})\Z")
Step = Callable[[int], None]


@dataclass(frozen=True)
class Moment:
    """An instant in a time zone; it can only be compared and formatted."""

    at: datetime


class Markup(str):
    """Text of a value that has more than its text, such as an XML node."""

    __slots__ = ()


def truthy(value: Any) -> bool:
    """Whether a value is true; null, false, 0, "", "0" and an empty list or map are false."""
    if isinstance(value, str):
        return value not in ("", "0")
    return bool(value)


def printed(value: Any) -> str:
    """Returns the text of a value in a template. Raises TemplateFailed for an instant."""
    if isinstance(value, str):
        return value
    if value is None or value is False:
        return ""
    if value is True:
        return "1"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return printed_float(value)
    if isinstance(value, (list, dict)):
        return "Array"
    if isinstance(value, Moment):
        raise TemplateFailed("a date cannot be printed as it is; format it with |date")
    return str(value)


def printed_float(number: float, digits: int = 14) -> str:
    """Formats a float with at most 14 significant digits."""
    if math.isnan(number):
        return "NAN"
    if math.isinf(number):
        return "INF" if number > 0 else "-INF"
    text = f"{number:.{digits}G}"
    mantissa, mark, exponent = text.partition("E")
    if not mark:
        return "0" if text == "-0" else text
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}E{int(exponent):+d}"


def is_numeric(value: Any) -> bool:
    """Whether a value is a number, or a text that is one."""
    if isinstance(value, bool):
        return False
    if isinstance(value, str):
        return len(value) <= MAX_NUMBER_CHARS and bool(_NUMERIC.match(value))
    return isinstance(value, (int, float))


def within(number: int) -> int | float:
    """Returns a whole number as it is, or as a float beyond 64 bits."""
    return number if MIN_INT <= number <= MAX_INT else float(number)


def read_number(text: str) -> int | float:
    """Returns the number of a numeric text."""
    text = text.strip()
    if text.lstrip("+-").isdigit():
        return within(int(text)) if len(text) <= MAX_DIGITS else math.inf
    return float(text)


def number(value: Any, line: int = 0) -> int | float:
    """Returns the number for arithmetic. Raises TemplateFailed if the value is not a number."""
    if isinstance(value, bool) or value is None:
        return int(bool(value))
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, str):
        match = _PREFIX.match(value[:MAX_NUMBER_CHARS])
        if match:
            return read_number(match[1])
        raise TemplateFailed(f"'{value[:50]}' is not a number", **at(line))
    raise TemplateFailed(f"a {kind(value)} cannot be counted with", **at(line))


def number_or(value: Any, otherwise: int | float = 0) -> int | float:
    """Returns the number of a value, or `otherwise` if it is not one."""
    try:
        return number(value)
    except TemplateFailed:
        return otherwise


def whole(value: Any, otherwise: int = 0) -> int:
    """Returns a whole number: truncated, within 64 bits. otherwise: for values that are not numbers."""
    result = number_or(value, otherwise)
    if isinstance(result, float):
        if math.isnan(result):
            return 0
        result = MAX_INT if result >= MAX_INT else MIN_INT if result <= MIN_INT else int(result)
    return result


def kind(value: Any) -> str:
    """Returns the name of a value's type as users know it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "text"
    return {"list": "list", "dict": "map", "Moment": "date"}.get(type(value).__name__, "value")


def at(line: int) -> dict[str, object]:
    """Returns the details of an error on a line, 0 for an unknown one."""
    return {"line": line} if line else {}


# -- lists and maps ---------------------------------------------------------------------------------------------------


def pairs(value: Any) -> list[tuple[Any, Any]]:
    """Returns [(key, value)] of a list or a map, [] for anything else. Numeric keys are whole numbers."""
    if isinstance(value, list):
        return list(enumerate(value))
    if isinstance(value, dict):
        return [(int(key) if _INDEX.match(key) else key, each) for key, each in value.items()]
    return []


def items(value: Any) -> list[Any]:
    """Returns the values of a list or a map, [] for anything else."""
    return value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []


def looped(value: Any) -> Any:
    """Returns the sequence for a loop: a list or a map itself, or the nodes of an XML node."""
    nodes = getattr(value, "listed", None)
    return value if nodes is None else nodes()


def keyed(entries: Iterable[tuple[Any, Any]]) -> Any:
    """Returns a list if the keys are 0, 1, 2... in this order, else a map. The last of two equal keys wins."""
    entries_by_key = {key if isinstance(key, str) else str(key): each for key, each in entries}
    if all(key == str(place) for place, key in enumerate(entries_by_key)):
        return list(entries_by_key.values())
    return entries_by_key


def has_child(value: Any, key: Any) -> bool:
    """Whether a list or map has an entry under a key; its value may be null."""
    return (
        child(value, key) is not None
        or (isinstance(value, dict) and key_text(key) in value)
        or (isinstance(value, list) and is_numeric(key) and 0 <= whole(key) < len(value))
    )


def child(value: Any, key: Any) -> Any:
    """Returns the entry under a key, null if it is missing. Positions count from 0 and are never negative. Raises
    TemplateFailed for an instant, which has no entries."""
    if isinstance(value, dict):
        name = key if isinstance(key, str) else key_text(key)
        try:
            return value[name]
        except KeyError:
            return None
    if isinstance(value, list):
        place = key if isinstance(key, int) else whole(key, -1) if is_numeric(key) else -1
        return value[place] if 0 <= place < len(value) else None
    if isinstance(value, Moment):
        raise TemplateFailed("a date has no entries; format it with |date")
    below = getattr(value, "child", None)
    return below(key) if below is not None else None


def key_text(key: Any) -> str:
    """Returns a value as the key of a map."""
    if isinstance(key, bool):
        return str(int(key))
    if isinstance(key, float):
        return str(whole(key))
    return printed(key)


# -- comparing --------------------------------------------------------------------------------------------------------


def equal(left: Any, right: Any, step: Step) -> bool:
    """Whether two values are loosely equal, as for ==."""
    if isinstance(left, str) and isinstance(right, str):
        step(min(len(left), len(right)) // CHARS_A_STEP)
        if left == right:
            return True
        return is_numeric(left) and is_numeric(right) and read_number(left) == read_number(right)
    if isinstance(left, (list, dict)) and isinstance(right, (list, dict)):
        if len(left) != len(right):
            return False
        step(len(left))
        others = {str(key): each for key, each in pairs(right)}
        return all(str(key) in others and equal(each, others[str(key)], step) for key, each in pairs(left))
    return compare(left, right, step) == 0


def compare(left: Any, right: Any, step: Step) -> int:
    """Returns -1, 0 or 1, as < and > compare."""
    if isinstance(left, bool) or isinstance(right, bool):
        return sign(truthy(left), truthy(right))
    if left is None or right is None:
        if isinstance(left, str) or isinstance(right, str):
            return sign(left or "", right or "")
        return sign(truthy(left), truthy(right))
    if isinstance(left, Moment) and isinstance(right, Moment):
        return sign(left.at, right.at)
    if isinstance(left, (list, dict)) or isinstance(right, (list, dict)):
        return _compare_lists(left, right, step)
    if is_numeric(left) and is_numeric(right):
        return sign(number(left), number(right))
    one, other = printed(left), printed(right)
    step(min(len(one), len(other)) // CHARS_A_STEP)
    return sign(one, other)  # the order of code points is the order of their bytes in UTF-8


def _compare_lists(left: Any, right: Any, step: Step) -> int:
    if not isinstance(right, (list, dict)):
        return 1  # a list is greater than any other type
    if not isinstance(left, (list, dict)):
        return -1
    if len(left) != len(right):
        return sign(len(left), len(right))
    step(len(left))
    others = {str(key): each for key, each in pairs(right)}
    for key, each in pairs(left):
        if str(key) not in others:
            return 1
        order = compare(each, others[str(key)], step)
        if order:
            return order
    return 0


def sign(left: Any, right: Any) -> int:
    return (left > right) - (left < right)


def same(left: Any, right: Any, step: Step) -> bool:
    """Whether type and value are the same."""
    if isinstance(left, (list, dict)) and isinstance(right, (list, dict)):
        if len(left) != len(right):
            return False
        step(len(left))
        return all(
            str(one) == str(other) and same(a, b, step)
            for (one, a), (other, b) in zip(pairs(left), pairs(right), strict=True)
        )
    return kind(left) == kind(right) and isinstance(left, float) == isinstance(right, float) and bool(left == right)


def contains(needle: Any, where: Any, step: Step) -> bool:
    """Whether a text contains `needle`, or a list or map has a loosely equal value; the operator `in`."""
    if isinstance(where, str):
        step(len(where) // CHARS_A_STEP)
        return not isinstance(needle, (list, dict)) and printed(needle) in where
    elements = items(where)
    step(len(elements))
    return any(equal(needle, each, step) for each in elements)
