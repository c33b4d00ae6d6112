"""Dates: written by a format, moved, and how long ago they are."""

from typing import Any

from server.template.filters.numbers import parts_of_time
from server.template.registry import filter
from server.template.run import Rendering
from server.template.shared import date_letters
from server.template.shared.moments import moment, moved, now, seen
from server.template.values import Moment, is_numeric, printed, truthy, whole

DEFAULT_FORMAT = "F j, Y H:i"


@filter("date")
def date(run: Rendering, value: Any, format: Any = DEFAULT_FORMAT, tz: Any = None) -> str:
    """A date in letters, `Y-m-d H:i`: of Unix seconds, of a date text, of now for null and "". tz: the name of a time
    zone, or false for the one that the date has. Raises TemplateFailed for an unreadable one."""
    wanted = DEFAULT_FORMAT if format is None else printed(format)
    return date_letters.written(run, seen(run, value, tz).at, wanted)


@filter("date_modify")
def date_modify(run: Rendering, value: Any, change: Any) -> Moment:
    """The date moved by a text such as `+1 month`. Raises TemplateFailed for an unreadable one."""
    return moved(moment(run, value), printed(change))


@filter("date_pretty")
def date_pretty(run: Rendering, value: Any, is_delta: Any = False) -> str:
    """How long ago Unix seconds are, in the largest unit: '1 hour ago', '3 days' when they are ahead. is_delta: the
    value is a length in seconds, '+3 days'. Nothing for 0 and for what is no number."""
    if isinstance(value, Moment):
        value = int(value.at.timestamp())
    seconds = whole(value) if is_numeric(value) else 0
    if not seconds:
        return ""
    ahead = seconds if truthy(is_delta) else seconds - now(run)
    length = next(iter(parts_of_time(abs(ahead), 1)), "")
    if truthy(is_delta):
        return f"{'+' if ahead > 0 else '-'}{length}"
    return f"{length} ago" if ahead < 0 else length or "just now"
