"""The current time, and its format for programs. A single function reads the system clock, so that tests can move
it."""

import time
from datetime import UTC, datetime

_offset_seconds = 0


def now() -> int:
    """Returns the current time in Unix seconds."""
    return int(time.time()) + _offset_seconds


def utc_text(at: int) -> str:
    """Formats a time in UTC (RFC 3339). at: Unix seconds, up to the year 9999.

    >>> utc_text(1_795_187_045)
    '2026-11-20T15:04:05Z'
    """
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def forward(seconds: int) -> None:
    """Moves the clock of this process forward. For tests, and for the setting `clock_offset_seconds`."""
    global _offset_seconds
    _offset_seconds += seconds
