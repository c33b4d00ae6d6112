"""Recurrence patterns in words: `0 9 * * mon-fri` is `at 09:00, Mon to Fri`. automation/recurrence.py defines them."""

from server import locales
from server.automation.recurrence import ALIASES, FIELDS
from server.translation import N_, _, listed, ngettext, shown

WEEKDAYS = (locales.WEEKDAYS[-1], *locales.WEEKDAYS[:-1])  # in the order of patterns: Sunday first
ORDINALS = ("", N_("first"), N_("second"), N_("third"), N_("fourth"), N_("fifth"))
MAX_TIMES = 6  # times of a day that are listed; more are summarized
_MINUTE, _HOUR, _DAY, _MONTH, _WEEKDAY = FIELDS


def in_words(text: str) -> str:
    """All patterns of a text in words, without comments. The text has passed recurrence.check.

    >>> in_words("0 9 * * mon-fri"), in_words("*/15 8-17 * * *"), in_words("@monthly")
    ('at 09:00, Mon to Fri', 'every 15 minutes from 08:00 to 17:59', 'at 00:00, on day 1 of the month')
    >>> in_words("30 6,18 l * *"), in_words("5 * * 1,7 fri#2")
    ('at 06:30 and 18:30, on the last day of the month', '5 minutes past every hour, on the second Fri, in Jan and Jul')
    >>> in_words("* * 15w * sunl"), in_words("0 */2 * * *")
    ('every minute, on the working day nearest to 15, on the last Sun', 'every 2 hours from 00:00')
    """
    patterns = [line.strip().lower() for line in text.splitlines()]
    return "; ".join(_schedule_text(ALIASES.get(each, each).split()) for each in patterns if each and each[0] != "#")


def _schedule_text(words: list[str]) -> str:
    minute, hour, day, month, weekday = words
    parts = [_clock(minute, hour)]
    if day != "*":
        parts.append(_("on {days}", days=listed([_of_month(part) for part in day.split(",")])))
    if weekday != "*":
        parts.append(listed([_of_week(part) for part in weekday.split(",")]))
    if month != "*":
        months = listed([_span(_MONTH.numbers(part), locales.MONTHS, 1) for part in month.split(",")])
        parts.append(_("in {months}", months=months))
    return ", ".join(parts)


def _clock(minute: str, hour: str) -> str:
    """The times of a day."""
    minutes = sorted({each for part in minute.split(",") for each in _MINUTE.numbers(part)})
    hours = sorted({each for part in hour.split(",") for each in _HOUR.numbers(part)})
    if hour != "*" and len(minutes) * len(hours) <= MAX_TIMES:
        return _("at {times}", times=listed([f"{one:02}:{other:02}" for one in hours for other in minutes]))
    step = minutes[1] - minutes[0] if len(minutes) > 1 else 0
    apart = hours[1] - hours[0] if len(hours) > 1 else 1
    if minutes == [0] and apart > 1 and hours == list(range(0, 24, apart)):
        return _("every {count} hours from 00:00", count=apart)
    if minutes == [0]:
        often = _("every hour")
    elif len(minutes) == 1:
        often = ngettext("{count} minute past every hour", "{count} minutes past every hour", minutes[0])
    elif minutes == list(range(0, 60, step)):
        often = ngettext("every minute", "every {count} minutes", step)
    else:
        often = _("at minutes {minutes} of every hour", minutes=listed(list(map(str, minutes))))
    if hour == "*":
        return often
    if hours == list(range(hours[0], hours[-1] + 1)):
        return _("{often} from {start} to {end}", often=often, start=f"{hours[0]:02}:00", end=f"{hours[-1]:02}:59")
    return _("{often} during the hours {hours}", often=often, hours=listed([f"{each:02}" for each in hours]))


def _of_month(part: str) -> str:
    if part == "l":
        return _("the last day of the month")
    if part == "lw":
        return _("the last working day of the month")
    if part.endswith("w"):
        return _("the working day nearest to {day}", day=part[:-1])
    numbers = _DAY.numbers(part)
    return ngettext("day {days} of the month", "days {days} of the month", len(numbers), days=_span(numbers, (), 0))


def _of_week(part: str) -> str:
    name, hash, number = part.partition("#")
    if hash:
        return _(
            "on the {first} {weekday}",
            first=shown(ORDINALS[int(number)]),
            weekday=shown(WEEKDAYS[_WEEKDAY.number(name)]),
        )
    if part.endswith("l"):
        return _("on the last {weekday}", weekday=shown(WEEKDAYS[_WEEKDAY.number(part[:-1])]))
    return _span(_WEEKDAY.numbers(part), WEEKDAYS, 0)


def _span(numbers: range, names: tuple[str, ...], first: int) -> str:
    """The numbers of a part, by their names where they have some."""
    named = [shown(names[each - first]) if names else str(each) for each in numbers]
    is_range = numbers.step == 1 and len(named) > 2
    return _("{first} to {last}", first=named[0], last=named[-1]) if is_range else listed(named)
