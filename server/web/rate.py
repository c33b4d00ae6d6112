"""Limits the requests of a client in each minute of the clock. In memory: it protects the service, not an account.

If several processes serve a database, each publishes the counts of its most frequent clients, so that they share one
limit. A client may exceed it until the next heartbeat of jobs/processes.py."""

import hashlib
import threading
from collections.abc import Hashable
from typing import Any

from server.context import Service
from server.errors import TooMany
from server.jobs import processes

MAX_KEYS = 100_000  # counted separately in one minute; further keys share one count
MAX_TOLD = 200  # most frequent keys, published to other processes
TOLD_SHARE = 0.1  # part of the limit from which a key is published
NAME_BYTES = 8  # size of the digest that identifies a key to other processes


class RateLimiter:
    """Counts requests by key, from 0 again with each minute. limit: requests of one key, 0 for unlimited."""

    def __init__(self, limit: int, of: str, service: Service | None = None) -> None:
        """of: the counted party, for the message, such as `with one token`. service: its processes share the counts."""
        self.limit = limit
        self.of = of
        self._service = service if service is not None and service.store.is_shared and limit else None
        self._minute = 0
        self._counts: dict[Hashable, int] = {}
        self._lock = threading.Lock()
        if self._service is not None:
            processes.share(self._service, f"rate {of}", self._published_counts)

    def count(self, key: Hashable, now: float) -> int:
        """Counts one request, and returns the number left in this minute. now: Unix seconds. Raises TooMany above the
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
        """Returns the headers that describe the limit (draft-ietf-httpapi-ratelimit-headers-10). left: in this
        minute."""
        return {
            "RateLimit": f'"minute";r={left};t={_seconds_left(now)}',
            "RateLimit-Policy": f'"minute";q={self.limit};w=60',
        }

    def _elsewhere(self, service: Service, key: Hashable) -> int:
        """Returns the counts of other processes in this minute."""
        counts = [
            each for each in processes.shared_by_others(service, f"rate {self.of}") if each["minute"] == self._minute
        ]
        if not counts:
            return 0
        name = _name(key)
        return sum(int(each["counts"].get(name, 0)) for each in counts)

    def _published_counts(self) -> dict[str, Any]:
        """Returns the counts to publish, by digest: other processes need not know the client."""
        with self._lock:
            minute, counts = self._minute, list(self._counts.items())
        many = sorted((each for each in counts if each[1] >= self.limit * TOLD_SHARE), key=lambda each: -each[1])
        return {"minute": minute, "counts": {_name(key): number for key, number in many[:MAX_TOLD]}}


def _seconds_left(now: float) -> int:
    return 60 - int(now) % 60


def _name(key: Hashable) -> str:
    return hashlib.blake2b(repr(key).encode(), digest_size=NAME_BYTES).hexdigest()
