"""Prepares what the first response does not need, but a later one: slow imports and compiled objects.

They are imported where they are used. They also register here, so that no request waits: the service runs them on a
thread soon after its start. Not for what few services use, such as mail listeners: that is imported on use, and costs
the others neither time nor memory."""

import time
from collections.abc import Callable
from typing import TypeVar

from server import log

Work = TypeVar("Work", bound=Callable[[], object])

PAUSE_SECONDS = 0.02  # pause between functions: an import holds the interpreter lock, which requests need
LOG = log.get("warming")
_WORK: list[Callable[[], object]] = []


def warmed(work: Work) -> Work:
    """Registers a function that may run early and repeatedly: @warmed above @cache."""
    _WORK.append(work)
    return work


def warm(is_over: Callable[[], bool]) -> None:
    """Runs the registered functions one by one, until `is_over`. An error here recurs at the place of use."""
    for work in tuple(_WORK):
        if is_over():
            return
        try:
            work()
        except Exception:
            LOG.exception("warming.failed", work=getattr(work, "__qualname__", str(work)))
        time.sleep(PAUSE_SECONDS)
