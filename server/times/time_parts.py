"""Converts the parts of a time text to an instant.

Knows calendars and clock changes, but no words (grammar.py)."""

import calendar
from datetime import date, datetime, time, timedelta, tzinfo

from server.dataclass import dataclass

DAY_SECONDS = 86_400
LAST_SECOND = DAY_SECONDS - 1


@dataclass(slots=True)
class TimeParts:
    """The parts of one text, filled by the grammar and constant afterwards. None: not in the text."""

    year: int | None = None
    month: int | None = None  # 1 to 12
    day: int | None = None
    clock: int | None = None  # second of the day; 24:00 is 86400
    starts_day: bool = False  # names a day, so the default clock time is 00:00 instead of the current one
    is_timed: bool = False  # contains a clock time, 'now', or an amount of hours, minutes or seconds
    months: int = 0  # signed amounts; a year is 12 months
    days: int = 0
    weekdays: int = 0  # Monday to Friday
    seconds: int = 0
    has_amount: bool = False
    weekday: int | None = None  # 0 is Monday
    weekday_step: int = 0  # 0 today or later, 1 after today, -1 before today
    weekday_count: int = 0  # '+2 sat' is 2, '1 sat ago' is -1
    in_week: bool = False  # the weekday belongs to a week that begins on Monday
    edge: int = 0  # 1 first day of the month, -1 last day
    nth: int = 0  # 1 first such weekday of the month, -1 last
    zone: tzinfo | None = None

    def add(self, kind: str, count: int) -> None:
        """Adds an amount: `kind` is 'seconds', 'days', 'months' or 'weekdays'."""
        setattr(self, kind, getattr(self, kind) + count)
        self.has_amount = True
        self.is_timed = self.is_timed or kind == "seconds"

    def negate(self) -> None:
        """Reverses the sign of all amounts."""
        self.months, self.days, self.weekdays, self.seconds = -self.months, -self.days, -self.weekdays, -self.seconds
        self.weekday_count = -self.weekday_count


def resolve(reading: TimeParts, now: int, zone: tzinfo, clock: int | None = None) -> int:
    """Returns the Unix second of the parts at `now` in `zone`; a zone in the text takes precedence. May be negative.

    clock: the second of the day for texts about whole days. Raises ValueError or OverflowError for dates that do not
    exist."""
    zone = reading.zone or zone
    here = datetime.fromtimestamp(now, zone).replace(tzinfo=None)
    chosen = None if reading.is_timed else clock
    wall = datetime.combine(_day(reading, here.date()), time())
    wall += timedelta(seconds=_clock(reading, here) if chosen is None else chosen)
    if wall == here and chosen is None and reading.clock is None:
        return now + reading.seconds  # within a repeated hour the wall clock is ambiguous
    # If the clock is set back over midnight, a day begins with the first of the two midnights.
    return unix(wall, zone, first=chosen == 0) + reading.seconds


def unix(wall: datetime, zone: tzinfo, first: bool = False) -> int:
    """Returns the Unix second at which the clocks of `zone` show `wall` (without a zone).

    A skipped time is moved one hour ahead; a repeated one is the later of the two, or the earlier with `first`."""
    early = wall.replace(tzinfo=zone, fold=0).timestamp()
    late = wall.replace(tzinfo=zone, fold=1).timestamp()
    return int(early if first else max(early, late))


def _clock(reading: TimeParts, here: datetime) -> int:
    if reading.clock is not None:
        return reading.clock
    return 0 if reading.starts_day else here.hour * 3600 + here.minute * 60 + here.second


def _day(reading: TimeParts, today: date) -> date:
    year = today.year if reading.year is None else reading.year
    month = today.month if reading.month is None else reading.month
    if reading.edge or reading.nth:
        day = _day_in_month(reading, _add_months(date(year, month, 1), reading.months))
    else:
        if reading.day is None:
            start = _add_months(date(year, month, 1), 0, today.day)
        else:
            start = date(year, month, reading.day)
        day = _add_months(_to_weekday(reading, start), reading.months)
    return _add_weekdays(day + timedelta(days=reading.days), reading.weekdays)


def _add_months(start: date, months: int, day: int | None = None) -> date:
    """Adds months to a date. Missing days roll over: 31 January + 1 month = 3 March."""
    years, month = divmod(start.month - 1 + months, 12)
    return date(start.year + years, month + 1, 1) + timedelta(days=(day or start.day) - 1)


def _day_in_month(reading: TimeParts, first: date) -> date:
    last = first.replace(day=calendar.monthrange(first.year, first.month)[1])
    if reading.weekday is None or not reading.nth:
        return first if reading.edge > 0 else last
    if reading.nth < 0:
        return last - timedelta(days=(last.weekday() - reading.weekday) % 7)
    return first + timedelta(days=(reading.weekday - first.weekday()) % 7 + 7 * (reading.nth - 1))


def _to_weekday(reading: TimeParts, start: date) -> date:
    if reading.in_week:
        return start + timedelta(days=(reading.weekday or 0) - start.weekday())
    if reading.weekday is None:
        return start
    ahead = (reading.weekday - start.weekday()) % 7
    if reading.weekday_step > 0:
        ahead = ahead or 7
    if reading.weekday_step < 0:
        ahead -= 7
    count = reading.weekday_count
    return start + timedelta(days=ahead + 7 * (count - 1 if count > 0 else count))


def _add_weekdays(start: date, count: int) -> date:
    if not count:
        return start
    # Whole weeks in one step, so that the time does not depend on the count.
    weeks, rest = divmod(abs(count) - 1, 5)
    step = timedelta(days=1 if count > 0 else -1)
    day = start + step * 7 * weeks
    for _ in range(rest + 1):
        day += step
        while day.weekday() > 4:
            day += step
    return day
