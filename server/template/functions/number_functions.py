"""Functions of numbers: bounds, ranges, validation."""

import math
from typing import Any

from server.errors import TemplateFailed
from server.template.operators import stepped
from server.template.registry import function
from server.template.run import Rendering
from server.template.values import MAX_INT, MIN_INT, is_numeric, number, number_or, whole


@function("clamp_int")
def clamp_int(run: Rendering, value: Any, min: Any = MIN_INT, max: Any = MAX_INT) -> int | bool:
    """The number truncated to a whole one and limited to two bounds; false if the value is not a number."""
    if not is_numeric(value):
        return False
    return _bounded(whole(value), whole(min), whole(max))


@function("clamp_float")
def clamp_float(run: Rendering, value: Any, min: Any = -math.inf, max: Any = math.inf) -> float | bool:
    """The number limited to two bounds; false if the value is not a number. Without a minimum it has no lower bound."""
    if not is_numeric(value):
        return False
    return _bounded(float(number(value)), float(number_or(min)), float(number_or(max)))


def _bounded(value: Any, least: Any, most: Any) -> Any:
    return least if value < least else most if value > most else value


@function("range")
def range_(run: Rendering, low: Any, high: Any, step: Any = 1) -> list[Any]:
    """Every `step`th number or letter from one to the other, both included. Raises TemplateFailed if the step is larger
    than the range, BudgetSpent for too many elements."""
    numbers = stepped(run, low, high, step)
    if len(numbers) == 1 and low != high:
        raise TemplateFailed("the step of a range is larger than the range")
    return numbers


@function("validate_number")
def validate_number(run: Rendering, value: Any) -> bool:
    """Whether this is a number, or a text that is one."""
    return is_numeric(value)
