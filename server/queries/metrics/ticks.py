"""The axis of a time series of metrics: its ticks, and the size of the stored bins summed into them."""

from server.counting.bins import UNIT_BY_NAME, Bin, TimeScale
from server.dataclass import dataclass
from server.queries.data_query import DataQuery
from server.queries.query_dates import span
from server.record_types.metrics.metric_samples import DAY, FIVE_MINUTES, HOUR, KEPT

MAX_TICKS = 1000
PERIODS = {
    "minute": "minute/5",
    "hour": "hour",
    "day": "day",
    "week": "week",
    "week-sun": "week-sun",
    "month": "month",
    "year": "year",
}


@dataclass(frozen=True)
class Ticks:
    """bins: the ticks in order. seconds: the size of stored bins. start, end: first and last second of the axis."""

    calendar: TimeScale
    bins: list[Bin]
    seconds: int
    start: int
    end: int

    def places(self, starts: set[int]) -> dict[int, int]:
        """Returns {start of a stored bin: index of its tick}; a bin that overlaps two ticks belongs to the one with its
        middle."""
        middle = self.seconds // 2
        index_of = {each.start: place for place, each in enumerate(self.bins)}
        bin_of = self.calendar.fold([start + middle for start in starts], 1) or {}
        return {at - middle: index_of[each.start] for at, each in bin_of.items() if each.start in index_of}


def ticks(query: DataQuery, default: str) -> Ticks:
    """Returns the whole ticks of `period:` that `range:` touches. Raises BadDataQuery for too many."""
    values, tz = query.values, query.scope.tz
    period = values.text("period", "day")
    calendar, within = TimeScale(UNIT_BY_NAME[PERIODS[period]], tz, query.ctx.now), span(query, "range", default)
    ends = calendar.fold([within.start, within.end], 1) or {}
    axis = calendar.axis(ends[within.start], ends[within.end])
    if axis is None or len(axis) > MAX_TICKS:
        raise values.bad("range", f"more than {MAX_TICKS} ticks; choose a longer period: or a shorter range:")
    start, end = axis[0].pieces[0][0], axis[-1].pieces[-1][1]
    return Ticks(calendar, axis, _size(period, start, query.ctx.now), start, end)


def _size(period: str, start: int, now: int) -> int:
    """Returns the finest bin size retained for the whole range: hours fit the days of every zone, stored days only
    UTC."""
    if period in ("minute", "hour"):
        return FIVE_MINUTES if period == "minute" else HOUR
    return HOUR if start >= now - KEPT[HOUR] else DAY
