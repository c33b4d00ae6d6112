"""Time zones by name and by offset. The rules themselves come from the system or from the tzdata package."""

import zoneinfo
from datetime import timedelta, timezone, tzinfo
from functools import cache, lru_cache
from importlib import resources

from server.errors import Invalid, nearest
from server.times.words import ZONE_HOURS

CONTINENTS = frozenset(
    ("Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific")
)
MAX_NAME = 64  # the longest name that exists has 32 characters


@lru_cache(maxsize=256)
def zone(name: str) -> tzinfo:
    """The time zone of an IANA name such as 'Europe/Berlin', in any letter case.

    Raises Invalid, naming the nearest known one, when there is none.
    """
    folded = name.strip().lower()
    known = _shipped().get(folded) or _names().get(folded)
    if known is None:
        shown = name[:MAX_NAME]
        guess = nearest(shown, _names().values())
        raise Invalid(f"'{shown}' is not a time zone such as 'Europe/Berlin' or 'UTC'{guess}", value=shown)
    return zoneinfo.ZoneInfo(known)


@cache
def _shipped() -> dict[str, str]:
    """The zones of the tzdata package, from its list of them."""
    text = (resources.files("tzdata") / "zones").read_text("utf-8")
    return {name.lower(): name for name in text.split()}


@cache
def _names() -> dict[str, str]:
    """Those of the system, too: it has a file for each, and all of them are opened."""
    return {name.lower(): name for name in zoneinfo.available_timezones()}


@cache
def zones() -> tuple[str, ...]:
    """The names to choose from: places, by continent, and UTC."""
    return ("UTC", *sorted(name for name in zoneinfo.available_timezones() if name.partition("/")[0] in CONTINENTS))


def abbreviated(word: str) -> tzinfo | None:
    """The zone of an abbreviation in lower case, 'est' or 'z'; None when it is not one."""
    hours = ZONE_HOURS.get(word)
    return None if hours is None else timezone(timedelta(hours=hours))


def offset(sign: str, hours: str, minutes: str | None) -> tzinfo:
    """The zone of '+02:00', given in its three parts. Raises ValueError when it is a day or more, or has 60 minutes."""
    if int(minutes or 0) > 59:
        raise ValueError(minutes)
    distance = timedelta(hours=int(hours), minutes=int(minutes or 0))
    return timezone(-distance if sign == "-" else distance)
