"""Usage data buffered in memory and written later: samples of metrics, active workers and tokens, open pages, results
of automations.

For data on hot paths that may be lost when the process ends. records/usage_flush.py writes it."""

import threading
from collections.abc import Mapping
from dataclasses import field

from server.dataclass import dataclass
from server.store.database import Store
from server.store.store_local import StoreLocal

MAX_SAMPLES = 20_000  # distinct samples between two writes; further ones are dropped and counted
MAX_DIMENSIONS = 8  # dimensions of one sample
MAX_VALUE_CHARS = 128  # characters of a dimension; longer values are truncated
BIN_SECONDS = 300

Dimensions = tuple[tuple[str, str], ...]  # (name, value), sorted by name


@dataclass(slots=True)
class Totals:
    """The aggregate of several samples."""

    count: int = 0
    sum: float = 0.0
    min: float = 0.0
    max: float = 0.0

    def add(self, other: "Totals") -> None:
        """Adds other samples."""
        if not other.count:
            return
        self.min = min(self.min, other.min) if self.count else other.min
        self.max = max(self.max, other.max) if self.count else other.max
        self.count += other.count
        self.sum += other.sum


Samples = dict[tuple[str, int, Dimensions], Totals]  # {(metric, first second of five minutes, dimensions): totals}


@dataclass
class UsageBuffer:
    """The buffered data of one service since the last write."""

    samples: Samples = field(default_factory=dict)
    active: dict[int, int] = field(default_factory=dict)  # worker: time of the last activity
    tokens: dict[int, tuple[int, str]] = field(default_factory=dict)  # access token: (time, address) of the last use
    visits: dict[int, tuple[int, int]] = field(default_factory=dict)  # worker: (page, time)
    runs: dict[int, tuple[int, str]] = field(default_factory=dict)  # automation: (time, exit state) of the last run
    dropped: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def sample(self, name: str, value: float, dimensions: Mapping[str, object], now: int) -> None:
        """Adds a sample of a metric. Dimensions beyond the limits are truncated or left out."""
        pairs = sorted([(str(key), str(each)[:MAX_VALUE_CHARS]) for key, each in dimensions.items()])
        key = (name, now - now % BIN_SECONDS, tuple(pairs[:MAX_DIMENSIONS]))
        with self.lock:
            totals = self.samples.get(key)
            if totals is None:
                if len(self.samples) >= MAX_SAMPLES:
                    self.dropped += 1
                    return
                totals = self.samples[key] = Totals()
            totals.add(Totals(1, value, value, value))

    def saw(self, worker_id: int, now: int, token_id: int = 0, client: str = "") -> None:
        """Records the activity of a worker, or of a program with the worker's access token. client: its address."""
        with self.lock:
            self.active[worker_id] = now
            if token_id:
                self.tokens[token_id] = (now, client)

    def visit(self, worker_id: int, page_id: int, now: int) -> None:
        """Records that a worker opened a workspace page."""
        with self.lock:
            self.visits[worker_id] = (page_id, now)

    def ran(self, automation_id: int, now: int, state: str) -> None:
        """Records the end of a run of an automation."""
        with self.lock:
            self.runs[automation_id] = (now, state)

    def of_metric(self, name: str) -> list[tuple[int, Dimensions, Totals]]:
        """The buffered samples of a metric: (first second of five minutes, dimensions, totals)."""
        with self.lock:
            return [
                (start, dimensions, each)
                for (metric, start, dimensions), each in self.samples.items()
                if metric == name
            ]

    def take(self) -> "UsageBuffer":
        """Returns all buffered data and clears the buffer."""
        with self.lock:
            buffered = UsageBuffer(self.samples, self.active, self.tokens, self.visits, self.runs, self.dropped)
            self.samples, self.active, self.tokens, self.visits, self.runs, self.dropped = {}, {}, {}, {}, {}, 0
        return buffered


NOTED: StoreLocal[UsageBuffer] = StoreLocal()


def usage_buffer(store: Store) -> UsageBuffer:
    """The buffer of the service with this store."""
    return NOTED.made(store, UsageBuffer)
