"""What SQLite lacks and our statements use: functions added to each connection. Another database would have its own."""

import datetime
import zoneinfo

import apsw

from server.store.collation import sort_text


def add_functions(connection: apsw.Connection) -> None:
    """Make `fold`, `sort_text` and `date_part` known to this connection."""
    connection.create_scalar_function("fold", fold, 1, deterministic=True)  # type: ignore[arg-type]
    connection.create_scalar_function("sort_text", sort_text, 2, deterministic=True)  # type: ignore[arg-type]
    connection.create_scalar_function("date_part", date_part, 3, deterministic=True)  # type: ignore[arg-type]


def fold(text: str | None) -> str | None:
    """Text by Unicode's full case folding; SQLite's own LIKE folds ASCII only."""
    return text.casefold() if isinstance(text, str) else text


def date_part(at: int | None, zone: str, part: str) -> int | None:
    """A part of the local date and time at an instant, Unix seconds: weekday (Sunday 0), month, day, week (from Sunday,
    days before the first Sunday are week 0), hour, minute (of the day). None where there is no date."""
    if not at:
        return None
    try:
        local = datetime.datetime.fromtimestamp(at, zoneinfo.ZoneInfo(zone))
    except (OverflowError, ValueError, OSError):
        return None
    if part == "weekday":
        return local.isoweekday() % 7
    if part == "month":
        return local.month
    if part == "day":
        return local.day
    if part == "week":
        return int(local.strftime("%U"))
    if part == "hour":
        return local.hour
    return local.hour * 60 + local.minute
