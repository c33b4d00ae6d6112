"""The operators of expressions, as functions of values. values.py defines what they mean for each type."""

import math
from collections.abc import Callable
from typing import Any

from server.errors import TemplateFailed
from server.template import script_patterns
from server.template.run import Rendering
from server.template.values import (
    CHARS_A_STEP,
    MAX_INT,
    at,
    compare,
    contains,
    equal,
    items,
    keyed,
    number,
    pairs,
    printed,
    truthy,
    whole,
    within,
)

MAX_EXPONENT = 1024
MAX_LETTER = 128  # a range of letters is within ASCII
Binary = Callable[[Rendering, Any, Any, int], Any]


def add(run: Rendering, left: Any, right: Any, line: int) -> Any:
    """Returns the sum; of two lists or maps their union by key, in which the left one wins."""
    if isinstance(left, (list, dict)) and isinstance(right, (list, dict)):
        run.budget.elements(len(left) + len(right))
        return keyed(_union(left, right))
    return _checked(number(left, line) + number(right, line))


def _union(left: Any, right: Any) -> list[tuple[Any, Any]]:
    own = pairs(left)
    keys = {key for key, _ in own}
    return own + [(key, value) for key, value in pairs(right) if key not in keys]


def _checked(value: int | float) -> int | float:
    return within(value) if isinstance(value, int) else value


def subtract(run: Rendering, left: Any, right: Any, line: int) -> Any:
    return _checked(number(left, line) - number(right, line))


def multiply(run: Rendering, left: Any, right: Any, line: int) -> Any:
    return _checked(number(left, line) * number(right, line))


def divide(run: Rendering, left: Any, right: Any, line: int) -> Any:
    above, below = number(left, line), number(right, line)
    if not below:
        raise TemplateFailed("a division by zero", **at(line))
    if isinstance(above, int) and isinstance(below, int) and above % below == 0:
        return _checked(above // below)
    return above / below


def floor_divide(run: Rendering, left: Any, right: Any, line: int) -> Any:
    quotient = divide(run, left, right, line)
    if isinstance(quotient, float) and not math.isfinite(quotient):
        return quotient
    return _checked(math.floor(quotient))


def remainder(run: Rendering, left: Any, right: Any, line: int) -> Any:
    """Returns the remainder of whole numbers, with the sign of the left one."""
    above, below = whole(number(left, line)), whole(number(right, line))
    if not below:
        raise TemplateFailed("a division by zero", **at(line))
    remaining = abs(above) % abs(below)
    return -remaining if above < 0 else remaining


def power(run: Rendering, left: Any, right: Any, line: int) -> Any:
    base, exponent = number(left, line), number(right, line)
    if abs(exponent) >= MAX_EXPONENT:
        raise TemplateFailed(f"an exponent must be below {MAX_EXPONENT}", **at(line))
    try:
        if isinstance(base, int) and isinstance(exponent, int) and exponent >= 0:
            return _checked(base**exponent)
        result = float(base) ** exponent
        return result if isinstance(result, float) else math.nan  # a root of a negative number
    except ZeroDivisionError:
        raise TemplateFailed("a division by zero", **at(line)) from None
    except OverflowError:
        return math.inf


def join(run: Rendering, left: Any, right: Any, line: int) -> str:
    one, other = printed(left), printed(right)
    run.budget.text(len(one) + len(other), one if not one.isascii() else other)
    return one + other


def span(run: Rendering, left: Any, right: Any, line: int) -> list[Any]:
    """Returns every whole number, or letter, from one to the other, both included."""
    return stepped(run, left, right, 1)


def stepped(run: Rendering, left: Any, right: Any, step: Any) -> list[Any]:
    """Returns every `step`th element of span()."""
    width: int | float = abs(number(step)) or 1
    if _is_letter(left) and _is_letter(right):
        low, high = ord(left), ord(right)
        letters = max(1, int(min(width, MAX_LETTER)))
        codes = range(low, high + 1, letters) if low <= high else range(low, high - 1, -letters)
        return [chr(code) for code in codes]
    low_number, high_number = number(left), number(right)
    if isinstance(low_number, float) and low_number.is_integer():
        low_number = int(low_number)
    if isinstance(width, float) and width.is_integer():
        width = int(width)
    if any(isinstance(each, float) and not math.isfinite(each) for each in (low_number, high_number, width)):
        raise TemplateFailed("a range needs an end")
    steps = abs(high_number - low_number) / width
    count = MAX_INT if steps > MAX_INT else int(steps) + 1
    run.budget.elements(count)
    towards = width if low_number <= high_number else -width
    return [low_number + place * towards for place in range(count)]


def _is_letter(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 1 and value.isascii() and not value.isdigit()


def matches(run: Rendering, left: Any, right: Any, line: int) -> int:
    pattern = script_patterns.compiled(printed(right), line)
    return int(script_patterns.search(run.budget, pattern, printed(left)) is not None)


def starts_with(run: Rendering, left: Any, right: Any, line: int) -> bool:
    return _both_texts(run, left, right) and left.startswith(right)


def ends_with(run: Rendering, left: Any, right: Any, line: int) -> bool:
    return _both_texts(run, left, right) and left.endswith(right)


def _both_texts(run: Rendering, left: Any, right: Any) -> bool:
    run.budget.step(1 + (len(right) // CHARS_A_STEP if isinstance(right, str) else 0))
    return isinstance(left, str) and isinstance(right, str)


def has_some(run: Rendering, left: Any, right: Any, line: int) -> bool:
    return any(truthy(right(each)) for each in items(left))


def has_every(run: Rendering, left: Any, right: Any, line: int) -> bool:
    return all(truthy(right(each)) for each in items(left))


def _bits(operation: Callable[[int, int], int]) -> Binary:
    return lambda run, left, right, line: operation(whole(left), whole(right))


# (level, meaning). The lazy operators (and, or, ??) and the tests (is) are in expression_parser.py.
BINARY: dict[str, tuple[int, Binary]] = {
    "b-or": (16, _bits(lambda left, right: left | right)),
    "b-xor": (17, _bits(lambda left, right: left ^ right)),
    "b-and": (18, _bits(lambda left, right: left & right)),
    "==": (20, lambda run, left, right, line: equal(left, right, run.budget.step)),
    "!=": (20, lambda run, left, right, line: not equal(left, right, run.budget.step)),
    "<": (20, lambda run, left, right, line: compare(left, right, run.budget.step) < 0),
    ">": (20, lambda run, left, right, line: compare(left, right, run.budget.step) > 0),
    "<=": (20, lambda run, left, right, line: compare(left, right, run.budget.step) <= 0),
    ">=": (20, lambda run, left, right, line: compare(left, right, run.budget.step) >= 0),
    "<=>": (20, lambda run, left, right, line: compare(left, right, run.budget.step)),
    "in": (20, lambda run, left, right, line: contains(left, right, run.budget.step)),
    "not in": (20, lambda run, left, right, line: not contains(left, right, run.budget.step)),
    "matches": (20, matches),
    "starts with": (20, starts_with),
    "ends with": (20, ends_with),
    "has some": (20, has_some),
    "has every": (20, has_every),
    "..": (25, span),
    "+": (30, add),
    "-": (30, subtract),
    "~": (40, join),
    "*": (60, multiply),
    "/": (60, divide),
    "//": (60, floor_divide),
    "%": (60, remainder),
    "**": (200, power),
}
