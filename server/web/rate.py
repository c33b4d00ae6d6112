"""How many requests somebody may make in each minute of the clock. In memory: it guards the service, not an account."""

import threading
from collections.abc import Hashable

from server.errors import TooMany

MAX_KEYS = 100_000  # counted in one minute; from there on they share one count


class RateLimiter:
    """Counts by key, from 0 again with each minute. limit: requests of one key, 0 for any number."""

    def __init__(self, limit: int, of: str) -> None:
        """of: who is counted, for the message, such as `with one token`."""
        self.limit = limit
        self.of = of
        self._minute = 0
        self._counts: dict[Hashable, int] = {}
        self._lock = threading.Lock()

    def count(self, key: Hashable, now: float) -> None:
        """Count one request. now: Unix seconds. Raises TooMany above the limit."""
        if not self.limit:
            return
        with self._lock:
            if self._minute != now // 60:
                self._minute, self._counts = int(now // 60), {}
            if key not in self._counts and len(self._counts) >= MAX_KEYS:
                key = None
            number = self._counts[key] = self._counts.get(key, 0) + 1
        if number > self.limit:
            raise TooMany(f"at most {self.limit} requests a minute {self.of}", retry_after=60 - int(now) % 60)
