"""Reports of usage: by item as a table, and by month as a chart.

Takes counted uses as (item, instant, number)."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from server.counting.bins import UNIT_BY_NAME, TimeScale
from server.dataclass import dataclass
from server.queries.data_query import DataQuery
from server.queries.query_type import QueryResult
from server.times.time_parts import unix

MONTHS = 13  # including the current one
MAX_ITEMS = 1000  # rows in a table, the most used items
MAX_SERIES = 50  # series in a chart, the most used items
MAX_USES = 200_000  # rows by item and time that are summed for a chart

Uses = Iterable[tuple[int, int, float]]  # (item, instant, number)


@dataclass(frozen=True)
class Months:
    """The last months in the caller's zone. since: their first second."""

    calendar: TimeScale
    since: int

    def chart(self, uses: Uses, names: Mapping[int, str]) -> QueryResult:
        """Returns the format `timeseries`: {ts: months, name of an item: numbers}, the most used first. Omits items
        without a name; duplicate names get their ids."""
        calendar, named_uses = self.calendar, [each for each in uses if each[0] in names]
        bins = calendar.fold({self.since, calendar.now, *(at for _, at, _ in named_uses)}, 1) or {}
        axis = calendar.axis(bins[self.since], bins[calendar.now]) or []
        place = {each.start: index for index, each in enumerate(axis)}
        rows: dict[int, list[float]] = {}
        for item, at, number in named_uses:
            if bins[at].start in place:
                rows.setdefault(item, [0] * len(axis))[place[bins[at].start]] += number
        most = sorted(rows, key=lambda item: (-sum(rows[item]), names[item].casefold(), item))[:MAX_SERIES]
        data: dict[str, list[Any]] = {"ts": [each.label for each in axis]}
        for item in most:
            name = names[item] if names[item] not in data else f"{names[item]} ({item})"
            data[name] = [_whole(each) for each in rows[item]]
        params = {"xaxis_key": "ts", "xaxis_step": calendar.unit.step, "xaxis_format": calendar.unit.axis}
        return QueryResult(data, {"format_params": params})


def months(query: DataQuery) -> Months:
    """Returns the last MONTHS months."""
    tz, now = query.scope.tz, query.ctx.now
    local = datetime.fromtimestamp(now, tz)
    years, place = divmod(local.month - MONTHS, 12)
    first = datetime(local.year + years, place + 1, 1)
    return Months(TimeScale(UNIT_BY_NAME["month"], tz, now), unix(first, tz, first=True))


def table(columns: dict[str, dict[str, Any]], rows: list[dict[str, Any]]) -> QueryResult:
    """Returns the format `table`: {columns, rows}."""
    return QueryResult({"columns": columns, "rows": rows})


def _whole(number: float) -> float:
    return int(number) if float(number).is_integer() else number
