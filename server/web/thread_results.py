"""Passes results of threads to the event loop."""

import asyncio
from collections import deque
from collections.abc import Callable

from server.store.database import PendingRead
from server.store.writer import PendingWrite
from server.web.endpoint_call import Response

Result = PendingRead | PendingWrite | Response
Receive = Callable[[Result], None]


class ThreadResults:
    """The results that the event loop has not received yet; it receives all of them in one call."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[Receive, Result]] = deque()
        self._is_called = False

    def put(self, receive: Receive, result: Result) -> None:
        """Adds a result, and the function that the event loop calls with it; on any thread."""
        self._waiting.append((receive, result))
        if not self._is_called:
            self._is_called = True
            self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._is_called = False  # cleared first, so that later results schedule another call
        while self._waiting:
            receive, result = self._waiting.popleft()
            receive(result)
