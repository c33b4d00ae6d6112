"""Which instant a value of a script means, and in which zone it is seen. Writing one is in date_letters.py."""

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
    """Unix seconds."""
    return clock.now() if run.around.now is None else run.around.now


def home(run: Rendering) -> tzinfo:
    """The zone of whoever the template is rendered for."""
    return zone(run.around.zone)


def zone(name: str) -> tzinfo:
    """The zone of a name such as 'Europe/Berlin', or of an offset such as '+02:00'. Raises TemplateFailed."""
    found = _OFFSET.match(name.strip())
    try:
        return offset(found[1], found[2], found[3]) if found else times.zone(name)
    except (Invalid, ValueError) as error:
        reason = error.message if isinstance(error, Invalid) else f"'{name[:60]}' is not a time zone"
        raise TemplateFailed(reason) from None


def moment(run: Rendering, value: Any) -> Moment:
    """The instant of a date, of Unix seconds, of a date text; now for null and "". Texts without a zone are read at
    home, and an instant stays in the zone of its text. Raises TemplateFailed."""
    if isinstance(value, Moment):
        return value
    if value is None or value is False or value == "":  # 0 is an instant
        return at(now(run), home(run))
    if isinstance(value, (list, dict)):
        raise TemplateFailed(f"a {kind(value)} is not a date")
    if isinstance(value, float):
        return at(value, home(run))
    return read(printed(value), now(run), home(run))


def seen(run: Rendering, value: Any, zone_name: Any) -> Moment:
    """The instant of a value in the zone of this name: home for null, the one it has for false."""
    found = moment(run, value)
    if zone_name is False:
        return found
    return at(found.at.timestamp(), home(run) if zone_name is None else zone(printed(zone_name)))


def moved(start: Moment, change: str) -> Moment:
    """The instant that a text such as `+1 month` means at another one, in its zone. Raises TemplateFailed."""
    where = start.at.tzinfo
    assert where is not None  # every instant has a zone
    return read(change, int(start.at.timestamp()), where)


def at(seconds: float, where: tzinfo) -> Moment:
    """The instant of Unix seconds. Raises TemplateFailed outside of the years 1 to 9999."""
    try:
        return Moment((datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=int(seconds))).astimezone(where))
    except (ValueError, OverflowError):
        raise TemplateFailed(f"{seconds} is no date; the years are 1 to 9999") from None


def read(text: str, base: int, where: tzinfo) -> Moment:
    """The instant that a text means at `base`. Raises TemplateFailed for an unreadable one."""
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
    """A text in which days that the month does not have are those of the next month: 2024-02-30 is 1 March."""
    found = _ROLLING.match(text)
    if found is None:
        return text
    year, month, day = int(found[1]), int(found[2]), int(found[3])
    if not (year and 1 <= month <= 12 and day <= 31) or day <= calendar.monthrange(year, month)[1]:
        return text
    rolled = date(year, month, 1) + timedelta(days=day - 1)
    return f"{rolled.isoformat()}{text[found.end() :]}"
