"""How many requests somebody may make in each minute of the clock. In memory: it guards the service, not an account.

Where several processes serve a database, each tells the others of those who ask often, so that a limit is that of all
together: somebody may go beyond it for as long as that takes, a beat of jobs/processes.py."""

import hashlib
import threading
from collections.abc import Hashable
from typing import Any

from server.context import Service
from server.errors import TooMany
from server.jobs import processes

MAX_KEYS = 100_000  # counted in one minute; from there on they share one count
MAX_TOLD = 200  # keys that others are told of, those that ask most
TOLD_SHARE = 0.1  # of the limit, from which on they are
NAME_BYTES = 8  # of what others know a key by


class RateLimiter:
    """Counts by key, from 0 again with each minute. limit: requests of one key, 0 for any number."""

    def __init__(self, limit: int, of: str, service: Service | None = None) -> None:
        """of: who is counted, for the message, such as `with one token`. service: whose processes count together."""
        self.limit = limit
        self.of = of
        self._service = service if service is not None and service.store.is_shared and limit else None
        self._minute = 0
        self._counts: dict[Hashable, int] = {}
        self._lock = threading.Lock()
        if self._service is not None:
            processes.share(self._service, f"rate {of}", self._told)

    def count(self, key: Hashable, now: float) -> int:
        """Count one request, and return how many are left in this minute. now: Unix seconds. Raises TooMany above the
        limit."""
        if not self.limit:
            return 0
        with self._lock:
            if self._minute != now // 60:
                self._minute, self._counts = int(now // 60), {}
            if key not in self._counts and len(self._counts) >= MAX_KEYS:
                key = None
            number = self._counts[key] = self._counts.get(key, 0) + 1
        if self._service is not None:
            number += self._elsewhere(self._service, key)
        if number > self.limit:
            raise TooMany(f"at most {self.limit} requests a minute {self.of}", retry_after=_seconds_left(now))
        return self.limit - number

    def headers(self, left: int, now: float) -> dict[str, str]:
        """The headers that describe the limit (draft-ietf-httpapi-ratelimit-headers-10). left: in this minute."""
        return {
            "RateLimit": f'"minute";r={left};t={_seconds_left(now)}',
            "RateLimit-Policy": f'"minute";q={self.limit};w=60',
        }

    def _elsewhere(self, service: Service, key: Hashable) -> int:
        """What other processes counted in this minute."""
        told = [
            each for each in processes.shared_by_others(service, f"rate {self.of}") if each["minute"] == self._minute
        ]
        if not told:
            return 0
        name = _name(key)
        return sum(int(each["counts"].get(name, 0)) for each in told)

    def _told(self) -> dict[str, Any]:
        """What others are to know; who it is they need not."""
        with self._lock:
            minute, counts = self._minute, list(self._counts.items())
        many = sorted((each for each in counts if each[1] >= self.limit * TOLD_SHARE), key=lambda each: -each[1])
        return {"minute": minute, "counts": {_name(key): number for key, number in many[:MAX_TOLD]}}


def _seconds_left(now: float) -> int:
    return 60 - int(now) % 60


def _name(key: Hashable) -> str:
    return hashlib.blake2b(repr(key).encode(), digest_size=NAME_BYTES).hexdigest()
