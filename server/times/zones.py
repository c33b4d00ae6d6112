"""Time zones by name and by offset. Their rules come from the system or from the tzdata package."""

import zoneinfo
from datetime import timedelta, timezone, tzinfo
from functools import cache
from importlib import resources

from server.errors import Invalid, nearest
from server.times.vocabulary import ZONE_HOURS

CONTINENTS = frozenset(
    ("Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific")
)
MAX_NAME = 64  # characters; the longest existing name has 32


def zone(name: str) -> tzinfo:
    """Returns the time zone of an IANA name such as 'Europe/Berlin', in any letter case.

    Raises Invalid with the nearest known name if it is unknown."""
    folded = name.strip().lower()
    full_name = _shipped().get(folded) or _names().get(folded)
    if full_name is None:
        excerpt = name[:MAX_NAME]
        guess = nearest(excerpt, _names().values())
        raise Invalid(f"'{excerpt}' is not a time zone such as 'Europe/Berlin' or 'UTC'{guess}", value=excerpt)
    return zoneinfo.ZoneInfo(full_name)


@cache
def _shipped() -> dict[str, str]:
    """Returns the zones in the list of the tzdata package."""
    text = (resources.files("tzdata") / "zones").read_text("utf-8")
    return {name.lower(): name for name in text.split()}


@cache
def _names() -> dict[str, str]:
    """Returns the zones including those of the system. Slow: the system has a file for each, and all are opened."""
    return {name.lower(): name for name in zoneinfo.available_timezones()}


@cache
def zones() -> tuple[str, ...]:
    """Returns the names for choosers: places, by continent, and UTC."""
    return ("UTC", *sorted(name for name in zoneinfo.available_timezones() if name.partition("/")[0] in CONTINENTS))


def abbreviated(word: str) -> tzinfo | None:
    """Returns the zone of an abbreviation in lower case, such as 'est' or 'z'; None if it is unknown."""
    hours = ZONE_HOURS.get(word)
    return None if hours is None else timezone(timedelta(hours=hours))


def offset(sign: str, hours: str, minutes: str | None) -> tzinfo:
    """Returns the zone of '+02:00', given as its three parts. Raises ValueError for a day or more, or for 60
    minutes."""
    if int(minutes or 0) > 59:
        raise ValueError(minutes)
    distance = timedelta(hours=int(hours), minutes=int(minutes or 0))
    return timezone(-distance if sign == "-" else distance)
