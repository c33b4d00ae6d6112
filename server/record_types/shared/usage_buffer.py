"""What is noted in memory and written some time later: samples of metrics, who was active with which token, who opened
which page, how automations ended.

For what happens on hot paths and may be lost when the process ends. records/usage_flush.py writes it."""

import threading
from collections.abc import Mapping
from dataclasses import field

from server.dataclass import dataclass
from server.store.database import Store
from server.store.store_local import StoreLocal

MAX_SAMPLES = 20_000  # different ones between two writes; further ones are dropped and counted
MAX_DIMENSIONS = 8  # of one sample
MAX_VALUE_CHARS = 128  # of a dimension; longer values are cut
BIN_SECONDS = 300

Dimensions = tuple[tuple[str, str], ...]  # (name, value), sorted by name


@dataclass(slots=True)
class Totals:
    """Samples taken together."""

    count: int = 0
    sum: float = 0.0
    min: float = 0.0
    max: float = 0.0

    def add(self, other: "Totals") -> None:
        """Take others in."""
        if not other.count:
            return
        self.min = min(self.min, other.min) if self.count else other.min
        self.max = max(self.max, other.max) if self.count else other.max
        self.count += other.count
        self.sum += other.sum


Samples = dict[tuple[str, int, Dimensions], Totals]  # (metric, beginning of five minutes, dimensions)


@dataclass
class UsageBuffer:
    """The notes of one service, since they were taken last."""

    samples: Samples = field(default_factory=dict)
    active: dict[int, int] = field(default_factory=dict)  # worker: the instant they were last active
    tokens: dict[int, tuple[int, str]] = field(default_factory=dict)  # access token: when it was last used, from where
    visits: dict[int, tuple[int, int]] = field(default_factory=dict)  # worker: (page, instant)
    runs: dict[int, tuple[int, str]] = field(default_factory=dict)  # automation: (instant, exit state) of its last run
    dropped: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def sample(self, name: str, value: float, dimensions: Mapping[str, object], now: int) -> None:
        """A value of a metric at an instant. Dimensions beyond the limits are cut or left out."""
        listed = sorted([(str(key), str(each)[:MAX_VALUE_CHARS]) for key, each in dimensions.items()])
        key = (name, now - now % BIN_SECONDS, tuple(listed[:MAX_DIMENSIONS]))
        with self.lock:
            totals = self.samples.get(key)
            if totals is None:
                if len(self.samples) >= MAX_SAMPLES:
                    self.dropped += 1
                    return
                totals = self.samples[key] = Totals()
            totals.add(Totals(1, value, value, value))

    def saw(self, worker_id: int, now: int, token_id: int = 0, client: str = "") -> None:
        """A worker did something, or a program with an access token of theirs. client: its address."""
        with self.lock:
            self.active[worker_id] = now
            if token_id:
                self.tokens[token_id] = (now, client)

    def visit(self, worker_id: int, page_id: int, now: int) -> None:
        """A worker opened a workspace page."""
        with self.lock:
            self.visits[worker_id] = (page_id, now)

    def ran(self, automation_id: int, now: int, state: str) -> None:
        """A run of an automation is over."""
        with self.lock:
            self.runs[automation_id] = (now, state)

    def of_metric(self, name: str) -> list[tuple[int, Dimensions, Totals]]:
        """What is noted of a metric and not written yet: (beginning of five minutes, dimensions, totals)."""
        with self.lock:
            return [(start, dimensions, each) for (of, start, dimensions), each in self.samples.items() if of == name]

    def take(self) -> "UsageBuffer":
        """All notes, which are forgotten here."""
        with self.lock:
            taken = UsageBuffer(self.samples, self.active, self.tokens, self.visits, self.runs, self.dropped)
            self.samples, self.active, self.tokens, self.visits, self.runs, self.dropped = {}, {}, {}, {}, {}, 0
        return taken


NOTED: StoreLocal[UsageBuffer] = StoreLocal()


def usage_buffer(store: Store) -> UsageBuffer:
    """The notes of the service with this store."""
    return NOTED.made(store, UsageBuffer)
