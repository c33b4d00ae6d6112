"""Spans of time and sizes in words, in the language of the caller."""

from server.translation import N_ngettext, _, ngettext

# Units of time in seconds, with their messages for the past and the future.
_SPANS = (
    (
        86400 * 365,
        N_ngettext("{count} year ago", "{count} years ago"),
        N_ngettext("in {count} year", "in {count} years"),
    ),
    (
        86400 * 30,
        N_ngettext("{count} month ago", "{count} months ago"),
        N_ngettext("in {count} month", "in {count} months"),
    ),
    (86400, N_ngettext("{count} day ago", "{count} days ago"), N_ngettext("in {count} day", "in {count} days")),
    (3600, N_ngettext("{count} hour ago", "{count} hours ago"), N_ngettext("in {count} hour", "in {count} hours")),
    (
        60,
        N_ngettext("{count} minute ago", "{count} minutes ago"),
        N_ngettext("in {count} minute", "in {count} minutes"),
    ),
)


def distance(seconds: int) -> str:
    """How far a time is in the past, which is negative, or in the future.

    >>> distance(-30), distance(-7200), distance(90000), distance(0)
    ('just now', '2 hours ago', 'in 1 day', 'just now')
    """
    for size, ago, ahead in _SPANS:
        count = abs(seconds) // size
        if count:
            return ngettext(*(ahead if seconds > 0 else ago), count)
    return _("in less than a minute") if seconds > 0 else _("just now")


def duration(seconds: int) -> str:
    """How long something takes.

    >>> duration(59), duration(90), duration(90000)
    ('less than a minute', '1 minute', '1 day, 1 hour')
    """
    days, hours, minutes = seconds // 86400, seconds // 3600 % 24, seconds // 60 % 60
    parts = (
        ngettext("{count} day", "{count} days", days) if days else "",
        ngettext("{count} hour", "{count} hours", hours) if hours else "",
        ngettext("{count} minute", "{count} minutes", minutes) if minutes else "",
    )
    return ", ".join(list(filter(None, parts))[:2]) or _("less than a minute")


def short_duration(seconds: int) -> str:
    """How long something takes, in the least room.

    >>> short_duration(59), short_duration(5400), short_duration(90000)
    ('< 1 min', '1 h 30 min', '1 d 1 h')
    """
    days, hours, minutes = seconds // 86400, seconds // 3600 % 24, seconds // 60 % 60
    parts = (
        _("{count} d", count=days) if days else "",
        _("{count} h", count=hours) if hours else "",
        _("{count} min", count=minutes) if minutes else "",
    )
    return " ".join(list(filter(None, parts))[:2]) or _("< 1 min")


def hours_text(seconds: int) -> str:
    """How long something takes, without days: a day of work has fewer than 24 hours.

    >>> hours_text(59), hours_text(90000), hours_text(5400)
    ('less than a minute', '25 hours', '1 hour, 30 minutes')
    """
    hours, minutes = seconds // 3600, seconds // 60 % 60
    parts = (
        ngettext("{count} hour", "{count} hours", hours) if hours else "",
        ngettext("{count} minute", "{count} minutes", minutes) if minutes else "",
    )
    return ", ".join(filter(None, parts)) or _("less than a minute")


def bytes_text(number: int) -> str:
    """A size with its unit.

    >>> bytes_text(512), bytes_text(2048), bytes_text(3 * 1024 * 1024), bytes_text(76 * 1024**3)
    ('512 bytes', '2.0 KiB', '3.0 MiB', '76.0 GiB')
    """
    if number < 1024:
        return ngettext("{count} byte", "{count} bytes", number)
    power, unit = next((power, unit) for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")) if number >= 1024**power)
    return f"{number / 1024**power:.1f} {unit}"
