"""Bins of dates: the days, weeks, months and hours of a zone that contain an instant, with labels and search terms.

The database groups by whole numbers of seconds; this module maps its buckets to bins."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cached_property
from typing import Any

from server import times
from server.counting.wall_clock import LAST, WallClock
from server.dataclass import dataclass

DAY, HOUR, MINUTE = 86_400, 3_600, 60
EPOCH = datetime(1970, 1, 1)
LAST_WALL = datetime(9999, 12, 31, 23, 59, 59)
MAX_AXIS_BINS = 20_000  # bins of a time axis without gaps
# Cached pairs of unit and zone, and days of each: 27 years. The days of a year take 10 milliseconds to compute.
MAX_CACHED_SCALES, MAX_CACHED_DAYS = 16, 10_000
MAX_CACHED_TEXTS = 4_096  # cached texts of bins; computing twelve months takes a millisecond
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
Wall = datetime  # a wall time, without a zone


@dataclass(frozen=True)
class Unit:
    """One unit of `@`. atom: seconds of wall time that always belong to one bin.

    start: the wall time at which the bin of an atom begins; for cyclic units, a representative of all equal ones.
    after: the start of the next bin, None for cyclic units. part: a cyclic bin as a part of a date filter. axis: the
    format of the label for charts. key: the end of the name in dictionaries."""

    name: str
    atom: int
    start: Callable[[Wall], Wall]
    label: Callable[[Wall], str]
    after: Callable[[Wall], Wall] | None = None
    part: Callable[[Wall], str] | None = None
    axis: str = ""
    key: str = ""

    @property
    def is_cyclic(self) -> bool:
        return self.after is None

    @property
    def is_long(self) -> bool:
        """Whether a bin contains consecutive days, so that most UTC days lie within one."""
        return self.atom == DAY and self.start(datetime(2023, 1, 3)) == self.start(datetime(2023, 1, 4))

    @property
    def suffix(self) -> str:
        """The suffix of names in dictionaries: `day` in `created_day`."""
        return self.key or self.name

    @property
    def step(self) -> str:
        """The name of its length: `minute` even for five minutes."""
        return self.suffix.partition("/")[0]


def _day(wall: Wall) -> Wall:
    return wall.replace(hour=0, minute=0, second=0, microsecond=0)


def _monday(wall: Wall) -> Wall:
    return _day(wall) - timedelta(days=wall.weekday())


def _sunday(wall: Wall) -> Wall:
    return _day(wall) - timedelta(days=wall.isoweekday() % 7)


def _month(wall: Wall) -> Wall:
    return _day(wall).replace(day=1)


def _quarter(wall: Wall) -> Wall:
    return _month(wall).replace(month=(wall.month - 1) // 3 * 3 + 1)


def _year(wall: Wall) -> Wall:
    return _month(wall).replace(month=1)


def _months_later(months: int) -> Callable[[Wall], Wall]:
    def later(wall: Wall) -> Wall:
        years, month = divmod(wall.month - 1 + months, 12)
        return wall.replace(year=wall.year + years, month=month + 1)

    return later


def _later(**length: int) -> Callable[[Wall], Wall]:
    delta = timedelta(**length)
    return lambda wall: wall + delta


def _weekday(wall: Wall) -> str:
    return WEEKDAYS[wall.isoweekday() % 7]


def _hours(wall: Wall) -> str:
    return f'times:"{wall.hour:02}:00-{wall.hour:02}:59:59"'


def _same(wall: Wall) -> Wall:
    return wall


# Wall times that represent cyclic bins lie in 2023, a year that begins on a Sunday, so that weeks are whole.
def _in_week(wall: Wall) -> Wall:
    return datetime(2023, 1, 1 + wall.isoweekday() % 7)


def _week_of_year(wall: Wall) -> Wall:
    return datetime(2023, 1, 1) + timedelta(weeks=int(wall.strftime("%U")))


_DATE, _TIME = "%Y-%m-%d", "%Y-%m-%d %H:%M"


def _minutes(count: int) -> Unit:
    name = f"minute/{count}" if count > 1 else "minute"
    return Unit(name, count * MINUTE, _same, lambda wall: wall.strftime(_TIME), _later(minutes=count), axis=_TIME)


UNITS: tuple[Unit, ...] = (
    _minutes(1),
    _minutes(5),
    _minutes(15),
    _minutes(30),
    Unit("hour", HOUR, _same, lambda wall: wall.strftime("%Y-%m-%d %H:00"), _later(hours=1), axis="%Y-%m-%d %H:00"),
    Unit("day", DAY, _same, lambda wall: wall.strftime(_DATE), _later(days=1), axis=_DATE),
    Unit("week", DAY, _monday, lambda wall: wall.strftime(_DATE), _later(days=7), axis=_DATE),
    Unit("week-sun", DAY, _sunday, lambda wall: wall.strftime(_DATE), _later(days=7), axis=_DATE, key="week"),
    Unit("month", DAY, _month, lambda wall: wall.strftime("%Y-%m"), _months_later(1), axis="%Y-%m"),
    Unit("quarter", DAY, _quarter, lambda wall: f"{wall.year}-Q{(wall.month + 2) // 3}", _months_later(3),
         axis="%Y-Q%q"),
    Unit("year", DAY, _year, lambda wall: wall.strftime("%Y"), _months_later(12), axis="%Y"),
    Unit("hourofday", HOUR, lambda wall: datetime(2023, 1, 1, wall.hour), lambda wall: f"{wall.hour:02}:00",
         part=_hours),
    Unit("hourofdayofweek", HOUR, lambda wall: _in_week(wall).replace(hour=wall.hour),
         lambda wall: f"{_weekday(wall)} {wall.hour:02}:00", part=lambda wall: f"days:{_weekday(wall)} {_hours(wall)}"),
    Unit("dayofmonth", DAY, lambda wall: datetime(2023, 1, wall.day), lambda wall: f"{wall.day:02}",
         part=lambda wall: f"dom:{wall.day}"),
    Unit("dayofweek", DAY, _in_week, _weekday, part=lambda wall: f"days:{_weekday(wall)}"),
    Unit("weekofyear", DAY, _week_of_year, lambda wall: f"{_week(wall):02}", part=lambda wall: f"weeks:{_week(wall)}"),
    Unit("monthofyear", DAY, lambda wall: datetime(2023, wall.month, 1), lambda wall: MONTHS[wall.month - 1],
         part=lambda wall: f"months:{MONTHS[wall.month - 1]}"),
    Unit("quarterofyear", DAY, lambda wall: datetime(2023, (wall.month - 1) // 3 * 3 + 1, 1),
         lambda wall: f"Q{(wall.month + 2) // 3}",
         part=lambda wall: "months:" + ",".join(name[:3] for name in MONTHS[wall.month - 1 : wall.month + 2])),
    Unit("unix", 1, _same, lambda wall: str(int((wall - EPOCH).total_seconds())), key="seconds"),
)  # fmt: skip
_ALIASES = {
    "week-mon": "week",
    "week-monday": "week",
    "week-sunday": "week-sun",
    "minutes": "minute",
    "minutes/5": "minute/5",
    "minutes/15": "minute/15",
    "minutes/30": "minute/30",
    "ts": "unix",
    "timestamp": "unix",
    "secs": "unix",
    "seconds": "unix",
}
UNIT_BY_NAME: dict[str, Unit] = {unit.name: unit for unit in UNITS}
UNIT_BY_NAME |= {alias: UNIT_BY_NAME[name] for alias, name in _ALIASES.items()}


def _week(start: Wall) -> int:
    """Returns the number of a week of the year from its representative wall time."""
    return (start - datetime(2023, 1, 1)).days // 7


class Bin:
    """One bin with its label and its place on a chart. start: a wall time."""

    def __init__(self, calendar: "TimeScale", start: Wall) -> None:
        self.calendar = calendar
        self.start = start
        self.label = calendar.unit.label(start)

    @property
    def value(self) -> int | str:
        """Its value in results."""
        return int(self.label) if self.calendar.unit.name == "unix" else self.label

    @cached_property
    def pieces(self) -> list[tuple[int, int]]:
        """The first and last second of a bin that is not cyclic; two pieces if clocks go back in it."""
        last = self.calendar.last(self.start)
        pieces = self.calendar.clock.pieces(self.start, last)
        return pieces if last < LAST_WALL else [*pieces[:-1], (pieces[-1][0], LAST)]

    @property
    def texts(self) -> list[str]:
        """The date texts that cover its pieces: readable if their span is exact, else in seconds."""
        key = (self.calendar.unit.name, self.calendar.tz, self.start)
        texts = _TEXTS.get(key)
        if texts is None:
            if len(_TEXTS) >= MAX_CACHED_TEXTS:
                _TEXTS.clear()
            texts = _TEXTS[key] = self._compute_texts()
        return texts

    def _compute_texts(self) -> list[str]:
        calendar = self.calendar
        end = calendar.last(self.start)
        start = self.start.strftime("%Y-%m-%d %H:%M:%S" if calendar.unit.atom < DAY else "%Y-%m-%d")
        words = f"{start} to {end:%Y-%m-%d %H:%M:%S}"
        span = times.span(words, calendar.now, calendar.tz)
        if self.pieces == [(span.start, span.end)]:
            return [words]
        return [f"{first} to {last}" for first, last in self.pieces]

    def term(self, field: str) -> str:
        """Returns a search term that matches exactly the records in the bin."""
        unit = self.calendar.unit
        if unit.name == "unix":
            return f'{field}:"{self.label} to {self.label}"'
        if unit.part is not None:
            return f"{field}:({unit.part(self.start)})"
        ranges = [f'{field}:"{text}"' for text in self.texts]
        return ranges[0] if len(ranges) == 1 else f"({' OR '.join(ranges)})"


class TimeScale:
    """The bins of one unit in one zone at the time `now`."""

    def __init__(self, unit: Unit, tz: tzinfo, now: int) -> None:
        self.unit = unit
        self.tz = tz
        self.now = now
        self.clock = WallClock(UTC if unit.name == "unix" else tz)
        self._bins: dict[Wall, Bin] = {}
        self._by_atom: dict[int, Wall] = {}

    @property
    def sizes(self) -> list[int]:
        """Bucket sizes in seconds for the database, largest first. Only buckets without a clock change or the start of
        a bin are exact: see `placed`."""
        unit = self.unit
        if unit.atom == 1:
            return [1]
        sizes = [size for size in (DAY, HOUR, 1800, 900, 300, MINUTE, 1) if size <= unit.atom]
        is_whole = unit.is_long or self.clock.offset(self.now) % DAY == 0
        return sizes if is_whole or len(sizes) == 1 else [size for size in sizes if size != DAY]

    def placed(self, starts: Iterable[int], size: int) -> tuple[dict[int, Bin], list[int]]:
        """Returns {first second of a bucket of `size` seconds: its bin}, and the buckets that overlap two bins."""
        walls = _cached_days(self.unit, self.clock.tz) if size == DAY else {}
        bins, bin_of, torn = self._bins, {}, []
        for start in starts:
            wall = walls.get(start, _UNKNOWN)
            if wall is _UNKNOWN:
                wall = self._wall(start, size)
                if len(walls) < MAX_CACHED_DAYS:
                    walls[start] = wall
            if wall is None:
                torn.append(start)
            else:
                bin_of[start] = bins.get(wall) or self._at(wall)
        return bin_of, torn

    def _wall(self, start: int, size: int) -> Wall | None:
        """Returns the start of a bucket's bin; None if it overlaps two bins or a clock change."""
        atom, clock = self.unit.atom, self.clock
        first, last = clock.local(start), clock.local(start + size - 1)
        if last - first != size - 1:
            return None
        wall = self._of_atom(first // atom)
        is_one = last // atom == first // atom or wall == self._of_atom(last // atom)
        return wall if is_one else None

    def fold(self, buckets: Iterable[int], size: int) -> dict[int, Bin] | None:
        """Returns the bin of each bucket, numbered in units of `size` seconds; None if one overlaps two bins."""
        bin_of, torn = self.placed([bucket * size for bucket in buckets], size)
        return None if torn else {start // size: entry for start, entry in bin_of.items()}

    def axis(self, first: Bin, last: Bin) -> list[Bin] | None:
        """Returns every bin from the first to the last, including empty ones; None for more than MAX_AXIS_BINS."""
        after = self.unit.after
        if after is None:
            return [first] if first is last else [first, last]
        bins, wall, is_short = [], first.start, self.unit.atom < DAY
        while wall < last.start:
            if not is_short or self.clock.exists(wall):
                bins.append(self._at(wall))
            wall = after(wall)
            if len(bins) >= MAX_AXIS_BINS:
                return None
        return [*bins, last]

    def last(self, start: Wall) -> Wall:
        """Returns the last second of the bin that begins with `start`."""
        assert self.unit.after is not None
        try:
            return self.unit.after(start) - timedelta(seconds=1)
        except (OverflowError, ValueError):
            return LAST_WALL

    def _of_atom(self, atom: int) -> Wall:
        """Returns the start of the bin that contains an atom."""
        start = self._by_atom.get(atom)
        if start is not None:
            return start
        length = self.unit.atom
        try:
            wall = EPOCH + timedelta(seconds=atom * length)
        except OverflowError:  # east of Greenwich the last storable instants are in the year 10000
            wall = EPOCH + timedelta(seconds=(LAST_WALL - EPOCH).total_seconds() // length * length)
        start = self._by_atom[atom] = self.unit.start(wall)
        return start

    def _at(self, start: Wall) -> Bin:
        entry = self._bins.get(start)
        if entry is None:
            entry = self._bins[start] = Bin(self, start)
        return entry


_UNKNOWN: Any = object()
_TEXTS: dict[tuple[str, tzinfo, Wall], list[str]] = {}
_DAYS: dict[tuple[str, tzinfo], dict[int, Wall | None]] = {}


def _cached_days(unit: Unit, tz: tzinfo) -> dict[int, Wall | None]:
    """Returns the cached starts of the bins of UTC days, because reports over years need the same ones each time."""
    days = _DAYS.get((unit.name, tz))
    if days is None:
        if len(_DAYS) >= MAX_CACHED_SCALES:
            _DAYS.clear()
        days = _DAYS[unit.name, tz] = {}
    return days
