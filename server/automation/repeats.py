"""Schedules as people choose them: how often, at which time, and on which day; as the fields of a timer."""

import re
from collections.abc import Mapping
from typing import Any

from server.errors import Invalid, Required
from server.translation import N_, _

ONCE, OWN = "once", "own"
REPEATS = [
    (ONCE, N_("Once")),
    ("hourly", N_("Every hour")),
    ("daily", N_("Every day")),
    ("weekdays", N_("Monday to Friday")),
    ("weekly", N_("Every week")),
    ("monthly", N_("On the first day of every month")),
    (OWN, N_("Custom schedule")),
]
DAYS = [
    ("mon", N_("Monday")),
    ("tue", N_("Tuesday")),
    ("wed", N_("Wednesday")),
    ("thu", N_("Thursday")),
    ("fri", N_("Friday")),
    ("sat", N_("Saturday")),
    ("sun", N_("Sunday")),
]
# Recurrence patterns: {0} is the minute and the hour, {1} the day of the week.
_PATTERNS = {
    "daily": "{0} * * *",
    "weekdays": "{0} * * mon-fri",
    "weekly": "{0} * * {1}",
    "monthly": "{0} 1 * *",
}
_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")


def schedule(choices: Mapping[str, str]) -> dict[str, Any]:
    """Returns the fields that say when a timer runs. choices: `repeat` is one of REPEATS, `time` a time in words for
    once, else a time of day, `day` one of DAYS, recurring_patterns a schedule of one's own, recurring_timezone its time
    zone.

    Raises Required, Invalid with the name of the choice.

    >>> schedule({"repeat": "weekly", "time": "08:05", "day": "fri"})["recurring_patterns"]
    '5 8 * * fri'
    """
    time = choices.get("time", "").strip()
    if choices.get("repeat") == ONCE:
        if not time:
            raise Required(_("time: enter when it runs, such as tomorrow 8:00"), field="time")
        return {"is_recurring": "0", "recurring_patterns": "", "next_run_at": time}
    zone = {"recurring_timezone": choices.get("recurring_timezone", "").strip() or "UTC"}
    return {"is_recurring": "1", "recurring_patterns": _patterns(choices, time)} | zone


def _patterns(choices: Mapping[str, str], time: str) -> str:
    repeat, day, own = (choices.get(name, "") for name in ("repeat", "day", "recurring_patterns"))
    if repeat == OWN:
        if not own.strip():
            raise Required(
                _("recurring_patterns: enter when it runs, such as 0 8 * * mon-fri"), field="recurring_patterns"
            )
        return own.replace("\r\n", "\n")
    if repeat == "hourly":
        return "@hourly"
    clock = _CLOCK.fullmatch(time)
    if clock is None:
        raise Invalid(_("time: enter a time of day, such as 08:30"), field="time")
    if repeat not in _PATTERNS:
        raise Invalid(_("repeat: choose how often it runs"), field="repeat")
    if repeat == "weekly" and day not in dict(DAYS):
        raise Invalid(_("day: choose the day of the week"), field="day")
    return _PATTERNS[repeat].format(f"{int(clock[2])} {int(clock[1])}", day)
