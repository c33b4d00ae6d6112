"""The time of day, and how programs write it. One function asks the system, so that tests can move it."""

import time
from datetime import UTC, datetime

_offset_seconds = 0


def now() -> int:
    """Unix seconds, UTC."""
    return int(time.time()) + _offset_seconds


def utc_text(at: int) -> str:
    """A time in UTC (RFC 3339). at: Unix seconds, up to the year 9999.

    >>> utc_text(1_795_187_045)
    '2026-11-20T15:04:05Z'
    """
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def forward(seconds: int) -> None:
    """Move this process's clock. For tests, and for the setting `clock_offset_seconds`."""
    global _offset_seconds
    _offset_seconds += seconds
