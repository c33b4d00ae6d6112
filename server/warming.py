"""What the first answer does not need, but one of the next: libraries that take long to import, and what is compiled.

It is imported where it is used. So that nobody waits for it there, it is also registered here, and the service runs
what is registered on a thread soon after it began to answer. Not for what few services use, such as mail listeners:
that is imported when it is needed, and costs the others neither time nor memory."""

import time
from collections.abc import Callable
from typing import TypeVar

from server import log

Work = TypeVar("Work", bound=Callable[[], object])

PAUSE_SECONDS = 0.02  # between two pieces: importing holds the interpreter, which requests want too
LOG = log.get("warming")
_WORK: list[Callable[[], object]] = []


def warmed(work: Work) -> Work:
    """Register a function that may be called early, and at any time again: @warmed above @cache."""
    _WORK.append(work)
    return work


def warm(is_over: Callable[[], bool]) -> None:
    """Do what is registered, a piece at a time, until `is_over`. What fails here fails again where it is used."""
    for work in tuple(_WORK):
        if is_over():
            return
        try:
            work()
        except Exception:
            LOG.exception("warming.failed", work=getattr(work, "__qualname__", str(work)))
        time.sleep(PAUSE_SECONDS)
