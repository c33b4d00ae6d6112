"""The days that a report covers, and those that it is compared with."""

from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta

from server.dataclass import dataclass
from server.errors import Invalid
from server.translation import N_, Words, _

DAY = timedelta(days=1)
MAX_DAYS = 20 * 366  # days of a report
# The longest ranges, in days, that are shown by days, weeks and months; longer ones by years.
STEPS = (("day", 62), ("week", 371), ("month", 5 * 366))
CUSTOM, DEFAULT = "custom", "30-days"


@dataclass(frozen=True)
class DayRange:
    """The days from first to last."""

    first: date
    last: date

    @property
    def days(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def span(self) -> str:
        """The range as a date of a search."""
        return f'"{self.first.isoformat()} to {self.last.isoformat()} 23:59:59"'

    @property
    def step(self) -> str:
        """The unit of the time axis."""
        return next((unit for unit, most in STEPS if self.days <= most), "year")

    @property
    def preceding(self) -> "DayRange":
        """The same number of days, immediately before."""
        return DayRange(self.first - self.days * DAY, self.first - DAY)


@dataclass(frozen=True)
class Preset:
    """A range that is relative to today. before: the range that it is compared with."""

    label: Words
    range: Callable[[date], DayRange]
    before: Callable[[DayRange], DayRange]


def _preceding(shown: DayRange) -> DayRange:
    return shown.preceding


def _last(days: int) -> Callable[[date], DayRange]:
    return lambda today: DayRange(today - (days - 1) * DAY, today)


def _week_before(shown: DayRange) -> DayRange:
    return DayRange(shown.first - 7 * DAY, shown.last - 7 * DAY)


def _months(length: int, back: int) -> Callable[[date], DayRange]:
    """Returns the range of the calendar month, quarter or year of this many months. back: 0 for the present one until
    today, 1 for the one before."""

    def range_at(today: date) -> DayRange:
        first = today.replace(day=1, month=(today.month - 1) // length * length + 1)
        return DayRange(months_earlier(first, length), first - DAY) if back else DayRange(first, today)

    return range_at


def _months_before(length: int, back: int) -> Callable[[DayRange], DayRange]:
    def before(shown: DayRange) -> DayRange:
        first = months_earlier(shown.first, length)
        return DayRange(first, shown.first - DAY if back else months_earlier(shown.last, length))

    return before


def months_earlier(day: date, months: int) -> date:
    """Returns the same day some months earlier, or the last one of a shorter month.

    >>> months_earlier(date(2026, 3, 31), 1)
    datetime.date(2026, 2, 28)
    """
    years, month = divmod(day.year * 12 + day.month - 1 - months, 12)
    return date(years, month + 1, min(day.day, monthrange(years, month + 1)[1]))


def _calendar(label: Words, length: int, back: int) -> Preset:
    return Preset(label, _months(length, back), _months_before(length, back))


PRESETS: dict[str, Preset] = {
    "today": Preset(N_("Today"), _last(1), _preceding),
    "yesterday": Preset(N_("Yesterday"), lambda today: DayRange(today - DAY, today - DAY), _preceding),
    "7-days": Preset(N_("Last 7 days"), _last(7), _preceding),
    DEFAULT: Preset(N_("Last 30 days"), _last(30), _preceding),
    "90-days": Preset(N_("Last 90 days"), _last(90), _preceding),
    "this-week": Preset(N_("This week"), lambda today: DayRange(today - today.weekday() * DAY, today), _week_before),
    "last-week": Preset(
        N_("Last week"),
        lambda today: DayRange(today - (today.weekday() + 7) * DAY, today - (today.weekday() + 1) * DAY),
        _week_before,
    ),
    "this-month": _calendar(N_("This month"), 1, 0),
    "last-month": _calendar(N_("Last month"), 1, 1),
    "this-quarter": _calendar(N_("This quarter"), 3, 0),
    "last-quarter": _calendar(N_("Last quarter"), 3, 1),
    "this-year": _calendar(N_("This year"), 12, 0),
    "last-year": _calendar(N_("Last year"), 12, 1),
    "12-months": Preset(N_("Last 12 months"), _last(365), _preceding),
}


def find_range(today: date, name: str, first: str = "", last: str = "") -> tuple[DayRange, DayRange]:
    """Returns the range of a preset, or the one from `first` to `last` (2026-03-01), and the range before.

    Raises Invalid for an unknown preset, an invalid day, and for a range that is reversed or too long."""
    if name in PRESETS:
        preset = PRESETS[name]
        shown = preset.range(today)
        return shown, preset.before(shown)
    if name != CUSTOM:
        raise Invalid(_("choose one of {names}", names=", ".join((*PRESETS, CUSTOM))), field="range")
    shown = DayRange(_day(first, "from"), _day(last, "to"))
    if not 1 <= shown.days <= MAX_DAYS:
        raise Invalid(_("must not be before the first day, or more than 20 years after it"), field="to")
    if shown.first.year < 1971:
        raise Invalid(_("must be after 1970"), field="from")
    return shown, shown.preceding


def _day(text: str, field: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise Invalid(_("write a day as 2026-03-01"), field=field) from None
