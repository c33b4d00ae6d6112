"""Counts of what requests did: kept on the event loop as plain numbers, since every request pays for them. How they are
told is metrics.py."""

from bisect import bisect_left
from collections.abc import Callable

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds that end the buckets
KNOWN_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
OTHER = "other"  # for methods that a client made up, of which there is no end

Key = tuple[str, str, int]  # method, route, first digit of the status


class RequestTally:
    """The requests of one method, route and class of status. buckets: how many took at most BOUNDS[place] and longer
    than the bound before; the last one has no bound. seconds: of all together."""

    __slots__ = ("buckets", "seconds")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0


class Meter:
    """tallies: by method, route and class of status. stalls: how often the event loop was held, stalled_seconds for
    how long. events_sent: to streams. streams_cut: those of clients that did not read. gauges: {name: (meaning, what it
    is now)}."""

    def __init__(self) -> None:
        self.tallies: dict[Key, RequestTally] = {}
        self.stalls = 0
        self.stalled_seconds = 0.0
        self.events_sent = 0
        self.streams_cut = 0
        self.gauges: dict[str, tuple[str, Callable[[], float]]] = {}

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """One request is answered. On the event loop only."""
        key = (method if method in KNOWN_METHODS else OTHER, route, status // 100)
        tally = self.tallies.get(key)
        if tally is None:
            tally = self.tallies[key] = RequestTally()
        tally.buckets[bisect_left(BOUNDS, seconds)] += 1
        tally.seconds += seconds

    def stalled(self, seconds: float) -> None:
        """Something held the event loop for so long."""
        self.stalls += 1
        self.stalled_seconds += seconds
