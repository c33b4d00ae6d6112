"""Converts values of scripts to instants in a time zone. date_letters.py formats them."""

import calendar
import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

from server import clock, times
from server.errors import Invalid, TemplateFailed
from server.template.run import Rendering
from server.template.values import Moment, kind, printed
from server.times.instants import exact, reading_of
from server.times.limits import MAX_TEXT
from server.times.zones import offset

_SECONDS = re.compile(r"-?[0-9]{1,15}\Z")
_ROLLING = re.compile(r"\s*([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?![0-9])")
_OFFSET = re.compile(r"([+-])([0-9]{1,2}):?([0-9]{2})?\Z")


def now(run: Rendering) -> int:
    """Returns Unix seconds."""
    return clock.now() if run.around.now is None else run.around.now


def home(run: Rendering) -> tzinfo:
    """Returns the time zone that the template is rendered in."""
    return zone(run.around.zone)


def zone(name: str) -> tzinfo:
    """Returns the zone of a name such as 'Europe/Berlin', or of an offset such as '+02:00'. Raises TemplateFailed."""
    match = _OFFSET.match(name.strip())
    try:
        return offset(match[1], match[2], match[3]) if match else times.zone(name)
    except (Invalid, ValueError) as error:
        reason = error.message if isinstance(error, Invalid) else f"'{name[:60]}' is not a time zone"
        raise TemplateFailed(reason) from None


def moment(run: Rendering, value: Any) -> Moment:
    """Returns the instant of a date, of Unix seconds or of a date as text; now for null and "". A text without a zone
    is in the zone of the rendering; an instant has the zone of its text. Raises TemplateFailed."""
    if isinstance(value, Moment):
        return value
    if value is None or value is False or value == "":  # 0 is an instant
        return at(now(run), home(run))
    if isinstance(value, (list, dict)):
        raise TemplateFailed(f"a {kind(value)} is not a date")
    if isinstance(value, float):
        return at(value, home(run))
    return read(printed(value), now(run), home(run))


def moment_in_zone(run: Rendering, value: Any, zone_name: Any) -> Moment:
    """Returns the instant of a value in the zone of this name: that of the rendering for null, its own for false."""
    instant = moment(run, value)
    if zone_name is False:
        return instant
    return at(instant.at.timestamp(), home(run) if zone_name is None else zone(printed(zone_name)))


def moved(start: Moment, change: str) -> Moment:
    """Returns an instant moved by a text such as `+1 month`, in its zone. Raises TemplateFailed."""
    where = start.at.tzinfo
    assert where is not None  # every instant has a zone
    return read(change, int(start.at.timestamp()), where)


def at(seconds: float, where: tzinfo) -> Moment:
    """Returns the instant of Unix seconds. Raises TemplateFailed outside of the years 1 to 9999."""
    try:
        return Moment((datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(seconds))).astimezone(where))
    except (ValueError, OverflowError):
        raise TemplateFailed(f"{seconds} is not a date; the years are 1 to 9999") from None


def read(text: str, base: int, where: tzinfo) -> Moment:
    """Returns the instant of a text, relative to `base`. Raises TemplateFailed for an invalid one."""
    if len(text) > MAX_TEXT:
        raise TemplateFailed(f"a date has at most {MAX_TEXT} characters, not {len(text):,}")
    if _SECONDS.match(text.strip()):
        return at(int(text), where)
    text = _rolled(text)
    try:
        seconds = exact(text)
        if seconds is not None:
            return at(seconds, where)
        reading, seconds = reading_of(text, base, where)
    except Invalid as error:
        raise TemplateFailed(error.message) from None
    return at(seconds, reading.zone or where)


def _rolled(text: str) -> str:
    """Moves days that a month does not have into the next month: 2024-02-30 becomes 1 March."""
    match = _ROLLING.match(text)
    if match is None:
        return text
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    if not (year and 1 <= month <= 12 and day <= 31) or day <= calendar.monthrange(year, month)[1]:
        return text
    rolled = date(year, month, 1) + timedelta(days=day - 1)
    return f"{rolled.isoformat()}{text[match.end() :]}"
