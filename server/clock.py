"""The time of day. One function, so that tests can move it and nothing else asks the system."""

import time

_offset_seconds = 0


def now() -> int:
    """Unix seconds, UTC."""
    return int(time.time()) + _offset_seconds


def forward(seconds: int) -> None:
    """Move this process's clock. For tests, and for the setting `clock_offset_seconds`."""
    global _offset_seconds
    _offset_seconds += seconds
