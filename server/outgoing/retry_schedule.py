"""Computes when to retry a failed delivery, and how long to pause a failing receiver."""

import random

# Seconds between attempts, three days in all (Standard Webhooks 1.0, Operational considerations).
WAITS = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
REST = (5, 15, 60, 300, 900)  # seconds after 1, 2, ... consecutive failures; the last one thereafter
GIVEN_UP_SECONDS = 3 * 86_400  # time of failures until the webhook is disabled
LONGEST_SECONDS = 86_400  # a longer Retry-After is cut to this
JITTER = 0.2


def wait(attempts: int, retry_after: int = 0) -> int | None:
    """Returns the seconds until the next attempt, None after the last. attempts: number of failed ones. retry_after:
    the least seconds, by the response."""
    if attempts > len(WAITS):
        return None
    return _at_least(retry_after, WAITS[attempts - 1])


def rest(failures: int, retry_after: int = 0) -> int:
    """Returns the seconds to pause a receiver after consecutive failures. retry_after: the least seconds, by the
    response."""
    return _at_least(retry_after, REST[min(failures, len(REST)) - 1])


def _at_least(retry_after: int, seconds: int) -> int:
    return max(_about(seconds), min(retry_after, LONGEST_SECONDS))


def _about(seconds: int) -> int:
    """Adds jitter, so that retries do not arrive together."""
    return max(round(seconds * random.uniform(1 - JITTER, 1 + JITTER)), 1)
