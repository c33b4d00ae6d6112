"""Dates: formatted, moved, and relative to now."""

from typing import Any

from server.template.filters.number_filters import parts_of_time
from server.template.registry import filter
from server.template.run import Rendering
from server.template.shared import date_letters
from server.template.shared.moments import moment, moment_in_zone, moved, now
from server.template.values import Moment, is_numeric, printed, truthy, whole

DEFAULT_FORMAT = "F j, Y H:i"


@filter("date")
def date(run: Rendering, value: Any, format: Any = DEFAULT_FORMAT, tz: Any = None) -> str:
    """A date in a format such as `Y-m-d H:i`. The value is Unix seconds, a date as text, or null or "" for now. tz: the
    name of a time zone, or false for the zone of the date. Raises TemplateFailed for an invalid date."""
    letters = DEFAULT_FORMAT if format is None else printed(format)
    return date_letters.written(run, moment_in_zone(run, value, tz).at, letters)


@filter("date_modify")
def date_modify(run: Rendering, value: Any, change: Any) -> Moment:
    """The date moved by a text such as `+1 month`. Raises TemplateFailed for an invalid change."""
    return moved(moment(run, value), printed(change))


@filter("date_pretty")
def date_pretty(run: Rendering, value: Any, is_delta: Any = False) -> str:
    """The distance of Unix seconds from now in the largest unit: '1 hour ago', or '3 days' for a time in the future.
    is_delta: the value is a duration in seconds, '+3 days'. Empty for 0 and if the value is not a number."""
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
