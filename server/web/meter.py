"""Counts requests, on the event loop and as plain numbers, since every request pays for it. metrics.py publishes the
counts."""

from bisect import bisect_left
from collections.abc import Callable

BOUNDS = (
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
)  # upper bounds of buckets, in seconds
KNOWN_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
OTHER = "other"  # stands for unknown methods: clients can invent any number of them

Key = tuple[str, str, int]  # method, route, first digit of the status


class RequestTally:
    """The requests of one method, route and class of status. buckets: the number of requests up to BOUNDS[place] and
    above the bound before; the last bucket has no bound. seconds: total."""

    __slots__ = ("buckets", "seconds")

    def __init__(self) -> None:
        self.buckets = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0


class Meter:
    """tallies: by method, route and class of status. stalls: how often the event loop was blocked, stalled_seconds for
    how long. events_sent: to streams. streams_cut: streams of clients that did not read. gauges: {name: (meaning,
    function that returns the current value)}."""

    def __init__(self) -> None:
        self.tallies: dict[Key, RequestTally] = {}
        self.stalls = 0
        self.stalled_seconds = 0.0
        self.events_sent = 0
        self.streams_cut = 0
        self.gauges: dict[str, tuple[str, Callable[[], float]]] = {}

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts a finished request. On the event loop only."""
        key = (method if method in KNOWN_METHODS else OTHER, route, status // 100)
        tally = self.tallies.get(key)
        if tally is None:
            tally = self.tallies[key] = RequestTally()
        tally.buckets[bisect_left(BOUNDS, seconds)] += 1
        tally.seconds += seconds

    def stalled(self, seconds: float) -> None:
        """Records a time in which the event loop was blocked."""
        self.stalls += 1
        self.stalled_seconds += seconds
