"""Computes when to retry a failed delivery, and how long to pause a failing receiver."""

import random

# Seconds between attempts, three days in all (Standard Webhooks 1.0, Operational considerations).
WAITS = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
REST = (5, 15, 60, 300, 900)  # seconds after 1, 2, ... consecutive failures; the last one thereafter
GIVEN_UP_SECONDS = 3 * 86_400  # time of failures until the webhook is disabled
MOST_ASKED_SECONDS = 86_400  # the longest Retry-After that is honored
JITTER = 0.2


def wait(attempts: int, asked: int = 0) -> int | None:
    """Returns the seconds until the next attempt, None after the last. attempts: failed ones so far. asked: the
    Retry-After of the receiver."""
    if attempts > len(WAITS):
        return None
    return max(_about(WAITS[attempts - 1]), min(asked, MOST_ASKED_SECONDS))


def rest(failures: int, asked: int = 0) -> int:
    """Returns the seconds to pause a receiver after consecutive failures. asked: at least so many."""
    return max(_about(REST[min(failures, len(REST)) - 1]), min(asked, MOST_ASKED_SECONDS))


def _about(seconds: int) -> int:
    """Adds jitter, so that retries do not arrive together."""
    return max(round(seconds * random.uniform(1 - JITTER, 1 + JITTER)), 1)
