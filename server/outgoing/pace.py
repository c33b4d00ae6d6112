"""Bounds how much processor time sending may use, so that requests to a busy service do not wait for it."""

import time

LEAST_SHARE = 0.03  # share of a processor that sending gets on a busy service
BURST_SECONDS = 0.05  # processor time that may accumulate
FIRST_COST_SECONDS = 0.002  # the estimated cost of a delivery until one is measured
WEIGHT = 0.1  # weight of the newest delivery in the average


class Pace:
    """A budget of processor time, which grows by the share of a processor that the rest of the service leaves idle."""

    def __init__(self) -> None:
        self._at = time.monotonic()
        self._used = time.process_time()
        self._own = 0.0
        self._budget = BURST_SECONDS
        self._cost = FIRST_COST_SECONDS

    def renew(self) -> None:
        """Add what the time since the last call left idle."""
        at, used = time.monotonic(), time.process_time()
        passed = at - self._at
        others = max(used - self._used - self._own, 0.0)
        self._budget = min(self._budget + max(passed - others, LEAST_SHARE * passed), BURST_SECONDS)
        self._at, self._used, self._own = at, used, 0.0

    def claim(self) -> bool:
        """Reserve the cost of a delivery; return False if the budget is used up."""
        if self._budget <= 0:
            return False
        self._budget -= self._cost
        return True

    def settle(self, seconds: float) -> None:
        """Replace the reserved cost of a delivery by the seconds that it took of a processor."""
        self._budget += self._cost - seconds
        self._own += seconds
        self._cost += (seconds - self._cost) * WEIGHT
