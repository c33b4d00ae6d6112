"""Times of day of a recurring event, such as `9am` to `17:00` or `22:00` for `8 hours`, in seconds of the wall clock.
Pure functions.

Seconds count from the midnight before the event, so that an end may be on a later day."""

from datetime import UTC

from server import times
from server.errors import Invalid
from server.translation import about_field, lazy_gettext

DAY_SECONDS = 86400
MAX_LENGTH_DAYS = 31  # days of one occurrence; longer ones must be single events
_SOME_DAY = 1795132800  # a midnight in UTC, as the reference of relative times


def seconds_between(start: str, end: str) -> tuple[int, int]:
    """Returns (first second, second after the last) of an event, counted from the midnight before it.

    A blank start is midnight, a blank end the end of the day. An end that is not later than the start is on the next
    day. Raises Invalid naming `event_start` or `event_end`.

    >>> seconds_between("10pm", "6am")
    (79200, 108000)
    """
    first = _read(start, _SOME_DAY, "event_start") if start.strip() else 0
    if not 0 <= first < DAY_SECONDS:
        raise _bad("event_start", start)
    last = _read(end, _SOME_DAY + first, "event_end") if end.strip() else DAY_SECONDS
    if last % 60 == 59:
        last += 1  # 23:59:59 means until midnight
    if last <= first:
        last += DAY_SECONDS
    if not first < last <= first + MAX_LENGTH_DAYS * DAY_SECONDS:
        raise _bad("event_end", end)
    return first, last


def _read(text: str, now: int, name: str) -> int:
    if text.strip().isdigit():
        raise _bad(name, text)
    try:
        return times.instant(text, now, UTC) - _SOME_DAY
    except Invalid:
        raise _bad(name, text) from None


def _bad(name: str, text: str) -> Invalid:
    example = "9am, 09:00 or noon" if name == "event_start" else "5pm, 17:00 or 8 hours"
    return Invalid(
        about_field(
            name,
            lazy_gettext("'{value}' is not a time of day, such as {example}", value=text[:60], example=example),
        ),
        field=name,
    )
