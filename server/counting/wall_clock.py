"""Wall times of a zone, and the instants at which its clocks show a span of time: exact across clock changes."""

from datetime import datetime, tzinfo
from itertools import pairwise

STRETCH = 21_600  # seconds with one cached offset, if it is the same at both ends
FIRST, LAST = 1, 253_402_300_799  # the range of storable dates, up to the end of 9999
_EPOCH = datetime(1970, 1, 1)


class WallClock:
    """The clock of one zone. Wall times are datetimes without a zone."""

    def __init__(self, tz: tzinfo) -> None:
        self.tz = tz
        self._offsets: dict[int, int | None] = {}

    def offset(self, at: int) -> int:
        """Returns the offset from UTC in seconds at an instant."""
        try:
            offset = datetime.fromtimestamp(at, self.tz).utcoffset()
        except (OverflowError, ValueError, OSError):
            offset = None
        return int(offset.total_seconds()) if offset else 0

    def local(self, at: int) -> int:
        """Returns the wall time at an instant, in seconds since the start of 1970 on that clock."""
        stretch = at // STRETCH
        if stretch not in self._offsets:
            first = self.offset(stretch * STRETCH)
            self._offsets[stretch] = first if first == self.offset((stretch + 1) * STRETCH - 1) else None
        offset = self._offsets[stretch]
        return at + (self.offset(at) if offset is None else offset)

    def exists(self, wall: datetime) -> bool:
        """Whether clocks ever show this wall time."""
        at = self._instant(wall, 0)
        return self.local(at) == _seconds(wall)

    def pieces(self, start: datetime, last: datetime) -> list[tuple[int, int]]:
        """Returns the first and last second of each period in which clocks show `start` to `last`."""
        edges = [self._instant(start, 0), self._instant(start, 1), self._instant(last, 0), self._instant(last, 1)]
        if edges[0] == edges[1] and edges[2] == edges[3]:
            return _clamped([(edges[0], edges[3])])
        cuts = [self._change(low, high) for low, high in (edges[:2], edges[2:]) if low != high]
        bounds = [min(edges), *sorted(set(cuts)), max(edges) + 1]
        pieces: list[tuple[int, int]] = []
        for low, high in pairwise(bounds):
            first = max(low, _seconds(start) - self.offset(low))
            final = min(high - 1, _seconds(last) - self.offset(high - 1))
            if first <= final and pieces and pieces[-1][1] + 1 == first:
                pieces[-1] = (pieces[-1][0], final)
            elif first <= final:
                pieces.append((first, final))
        return _clamped(pieces)

    def _instant(self, wall: datetime, fold: int) -> int:
        offset = wall.replace(tzinfo=self.tz, fold=fold).utcoffset()
        return _seconds(wall) - int(offset.total_seconds() if offset else 0)

    def _change(self, low: int, high: int) -> int:
        """Returns the first instant of the new offset between two instants with different ones."""
        low, high = min(low, high), max(low, high)
        before = self.offset(low)
        while high - low > 1:
            middle = (low + high) // 2
            if self.offset(middle) == before:
                low = middle
            else:
                high = middle
        return high


def _seconds(wall: datetime) -> int:
    return int((wall - _EPOCH).total_seconds())


def _clamped(pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(max(first, FIRST), min(last, LAST)) for first, last in pieces]
