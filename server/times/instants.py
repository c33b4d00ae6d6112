"""Reads a text as an instant. spans.py reads ranges, durations.py lengths of time."""

import re
from datetime import tzinfo

from server.errors import Invalid
from server.times.grammar import read
from server.times.limits import MAX_SECOND, MAX_TEXT, excerpt
from server.times.time_parts import TimeParts, resolve

NO_DATE = ("", "0", "never")
EXAMPLES = "write for example 'tomorrow 8am', '+2 hours', '2026-12-25 10:30' or Unix seconds"

# A fraction requires five digits: '2026.359' is a day of the year.
_UNIX = re.compile(r"@?([0-9]+)|@([0-9]+)\.[0-9]+|([0-9]{5,12})\.[0-9]+")

_WEEKDAY = re.compile(r"\s*(?:mon|tue|wed|thu|fri|sat|sun)", re.IGNORECASE)
_HOUR = re.compile(r"\s*([a-z]+)\s+([01]?[0-9]|2[0-3])\s*", re.IGNORECASE)  # mon 9
_CLOCK = re.compile(r"[0-9]{1,2}(?:[:.][0-9]{2})?\s*(?:am|pm)?", re.IGNORECASE)


def instant(text: str, now: int, tz: tzinfo) -> int:
    """Returns the Unix second that `text` means at `now` in the zone `tz`; 0 for '', '0' and 'never'.

    Digits, with or without '@', are Unix seconds. Raises Invalid if the text is unreadable, longer than 255 characters,
    or means an instant before 1970 or after 9999.

    >>> from datetime import timezone
    >>> instant("tomorrow 8am", 1795187045, timezone.utc)
    1795248000
    """
    if len(text) > MAX_TEXT:
        raise unreadable(text)
    seconds = exact(text)
    if seconds is not None:
        return seconds
    text = text.strip()
    if text.lower() in NO_DATE:
        return 0
    seconds = reading_of(text, now, tz)[1]
    if not 0 <= seconds <= MAX_SECOND:
        raise out_of_range(text)
    return seconds


def after(text: str, now: int, tz: tzinfo) -> int:
    """Returns the Unix second that `text` means, which must be later than `now`: '1 hour', '3 months', '2027-01-31'.

    For expiry and delays. Raises Invalid if it is unreadable or not later."""
    seconds = instant(text, now, tz)
    if seconds <= now:
        message = f"'{excerpt(text)}' is not later than now; write for example '1 hour' or '30 days'"
        raise Invalid(message, value=excerpt(text))
    return seconds


def ahead(text: str, now: int, tz: tzinfo) -> int:
    """Returns the next instant that `text` means: on a Monday evening `mon 9am` is in a week, at noon `9am` is
    tomorrow. An hour may stand alone after a day: `mon 9`, `tomorrow 14`.

    For plans. Raises Invalid if the instant has passed nevertheless.

    >>> from datetime import timezone
    >>> ahead("9am", 1795187045, timezone.utc) - ahead("9pm", 1795187045, timezone.utc)
    43200
    >>> ahead("mon 9", 1795187045, timezone.utc) == ahead("mon 9am", 1795187045, timezone.utc)
    True
    """
    hour = _HOUR.fullmatch(text)
    if hour and (_WEEKDAY.match(text) or hour[1].lower() in ("today", "tomorrow")):
        text = f"{hour[1]} {hour[2]}:00"
    seconds = instant(text, now, tz)
    if not seconds or seconds > now:
        return seconds
    step = "+1 week" if _WEEKDAY.match(text) else "+1 day" if _CLOCK.fullmatch(text.strip()) else ""
    later = instant(f"{text} {step}", now, tz) if step else seconds
    if later <= now:
        raise Invalid(
            f"'{excerpt(text)}' has passed; write for example 'tomorrow 8am' or '+2 hours'", value=excerpt(text)
        )
    return later


def exact(text: str) -> int | None:
    """Returns the Unix second if `text` consists of digits, perhaps with '@' or a fraction; None for any other text.

    Raises Invalid above the year 9999."""
    match = _UNIX.fullmatch(text.strip())
    if match is None:
        return None
    seconds = int(match[1] or match[2] or match[3])
    if seconds > MAX_SECOND:
        raise out_of_range(text)
    return seconds


def reading_of(text: str, now: int, tz: tzinfo) -> tuple[TimeParts, int]:
    """Returns the parts of `text` and its instant, which may be negative. Raises Invalid if it is unreadable."""
    if len(text) > MAX_TEXT:
        raise unreadable(text)
    try:
        reading = read(text)
        return reading, resolve(reading, now, tz)
    except (ValueError, OverflowError):
        raise unreadable(text) from None


def unreadable(text: str) -> Invalid:
    """Returns the error for a text that is not a time."""
    return Invalid(f"'{excerpt(text)}' is not a time; {EXAMPLES}", value=excerpt(text))


def out_of_range(text: str) -> Invalid:
    """Returns the error for a time that cannot be stored."""
    message = f"'{excerpt(text)}' is out of range; times are between 1970 and the end of the year 9999"
    return Invalid(message, value=excerpt(text))
