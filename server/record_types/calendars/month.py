"""A month as calendars show it: whole weeks, with days of the adjacent months. Pure functions."""

import calendar
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any

from server.dataclass import dataclass
from server.times.time_parts import unix

MONDAY, SUNDAY = 0, 6  # numbers of the standard module `calendar`


@dataclass(frozen=True, slots=True)
class Month:
    """The month of an instant. start, end: Unix seconds from the first shown day until before the day after the last.
    weeks: days as (midnight, day of the month, whether it belongs to another month)."""

    year: int
    month: int
    today: int
    start: int
    end: int
    weeks: tuple[tuple[tuple[int, int, bool], ...], ...]

    def scope(self, tz: tzinfo) -> dict[str, Any]:
        """The value of the key `scope`."""
        before, after = _step(self.year, self.month, -1), _step(self.year, self.month, 1)
        return {
            "year": self.year,
            "month": self.month,
            "today": self.today,
            "timezone": str(tz),
            "date_range_from": self.start,
            "date_range_to": self.end - 1,
            "prev_year": before[0],
            "prev_month": before[1],
            "next_year": after[0],
            "next_month": after[1],
        }

    def shown_weeks(self, events: dict[str, list[dict[str, Any]]] | None = None) -> list[list[dict[str, Any]]]:
        """The value of the key `weeks`. events: of each day, by midnight."""
        return [[self._day(day, events) for day in week] for week in self.weeks]

    def _day(self, day: tuple[int, int, bool], events: dict[str, list[dict[str, Any]]] | None) -> dict[str, Any]:
        timestamp, dom, is_padding = day
        dictionary: dict[str, Any] = {"timestamp": timestamp, "dom": dom, "is_padding": is_padding}
        return dictionary if events is None else {**dictionary, "events": events.get(str(timestamp), [])}


def month_of(instant: int, tz: tzinfo, begins_monday: bool = False) -> Month:
    """The month of an instant, in weeks that begin on Sunday or Monday."""
    local = datetime.fromtimestamp(instant, tz)
    weeks = calendar.Calendar(MONDAY if begins_monday else SUNDAY).monthdatescalendar(local.year, local.month)
    last = weeks[-1][-1]
    return Month(
        local.year,
        local.month,
        _midnight(local.date(), tz),
        _midnight(weeks[0][0], tz),
        _midnight(last + timedelta(days=1), tz),
        tuple(tuple((_midnight(day, tz), day.day, day.month != local.month) for day in week) for week in weeks),
    )


def _midnight(day: date, tz: tzinfo) -> int:
    return unix(datetime.combine(day, time()), tz, first=True)


def _step(year: int, month: int, by: int) -> tuple[int, int]:
    years, place = divmod(month - 1 + by, 12)
    return year + years, place + 1
