"""Functions of dates: an instant to compare, and the instants of a range."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from server import times
from server.errors import Invalid, TemplateFailed, nearest
from server.template.budget import MAX_ELEMENTS
from server.template.registry import function
from server.template.run import Rendering
from server.template.shared import moments
from server.template.values import Moment, printed, whole

MAX_INSTANTS = 10_000  # instants of a range, if no limit is passed
SECONDS = {"minute": 60, "hour": 3600}
DAYS = {"day": 1, "week": 7}
MONTHS = {"month": 1, "year": 12}
UNITS = (*SECONDS, *DAYS, *MONTHS)


@function("date")
def date(run: Rendering, value: Any = "now", timezone: Any = None) -> Moment:
    """The instant of a date, for comparing or formatting. Raises TemplateFailed for an invalid date."""
    return moments.moment_in_zone(run, value, timezone)


@function("date_lerp")
def date_lerp(run: Rendering, range_: Any, unit: Any, step: Any = 1, limit: Any = MAX_INSTANTS) -> list[int]:
    """Unix seconds from the start of a range of dates to its end, every `step` units, at most `limit`. Days and longer
    units keep the time of day. Raises TemplateFailed for an invalid range or an unknown unit."""
    home = moments.home(run)
    name = printed(unit).lower()
    if name not in UNITS:
        raise TemplateFailed(f"'{name[:50]}' is not a unit of time{nearest(name, UNITS)}; there are {', '.join(UNITS)}")
    try:
        span = times.span(printed(range_), moments.now(run), home)
    except Invalid as error:
        raise TemplateFailed(error.message) from None
    instants: list[int] = []
    most = whole(limit, MAX_INSTANTS)
    for at in _instants(datetime.fromtimestamp(span.start, home), name, max(1, whole(step, 1))):
        if at > span.end or len(instants) >= most:
            break
        run.budget.entries(1)
        instants.append(at)
        if len(instants) > MAX_ELEMENTS:
            run.budget.elements(len(instants))
    return instants


def _instants(start: datetime, unit: str, width: int) -> Iterator[int]:
    """Yields Unix seconds from a start on, up to the year 9999."""
    seconds, place = int(start.timestamp()), 0
    try:
        while True:
            if unit in SECONDS:
                yield seconds + place * SECONDS[unit] * width
            else:
                yield int(_later(start, unit, place * width).timestamp())
            place += 1
    except (ValueError, OverflowError):
        return


def _later(start: datetime, unit: str, count: int) -> datetime:
    """Returns the date `count` units later by the calendar. Days missing in a month count into the next one."""
    if unit in DAYS:
        return start + timedelta(days=count * DAYS[unit])
    years, month = divmod(start.month - 1 + count * MONTHS[unit], 12)
    return start.replace(year=start.year + years, month=month + 1, day=1) + timedelta(days=start.day - 1)
