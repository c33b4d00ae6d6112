"""When a delivery that failed is sent again, and how long a receiver that fails is left alone."""

import random

# Seconds between attempts, three days in all (Standard Webhooks 1.0, Operational considerations).
WAITS = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
REST = (5, 15, 60, 300, 900)  # for a receiver, after so many failures in a row; the last one from then on
GIVEN_UP_SECONDS = 3 * 86_400  # of failures, after which the webhook is switched off
MOST_ASKED_SECONDS = 86_400  # that a receiver may ask for with Retry-After
JITTER = 0.2


def wait(attempts: int, asked: int = 0) -> int | None:
    """Seconds until the next attempt, None for none. attempts: those that failed. asked: what the receiver wants."""
    if attempts > len(WAITS):
        return None
    return max(_about(WAITS[attempts - 1]), min(asked, MOST_ASKED_SECONDS))


def rest(failures: int) -> int:
    """Seconds that a receiver is left alone after so many failures in a row."""
    return _about(REST[min(failures, len(REST)) - 1])


def _about(seconds: int) -> int:
    """So that not all come back at once."""
    return max(round(seconds * random.uniform(1 - JITTER, 1 + JITTER)), 1)
