"""How the C library hands out memory to this process, and takes it back."""

import gc
import sys
from collections.abc import Callable
from functools import cache

try:
    import ctypes
except ImportError:  # a Python that was built without it
    ctypes = None  # type: ignore[assignment]

HEAPS = 2
M_ARENA_MAX = -8  # the name of this choice in glibc's malloc.h


def share_heaps() -> bool:
    """Let all threads share HEAPS heaps, where the C library would make one for each thread and keep what a burst of
    work left in it; to be called before there are threads. Answers whether the C library takes such a wish: glibc's
    does."""
    choose = _function("mallopt")
    return choose is not None and bool(choose(M_ARENA_MAX, HEAPS))


def give_back() -> bool:
    """Return memory to the system after something large: what holds itself in a circle, and what the C library keeps
    for later. Takes some milliseconds. Answers whether the C library can be asked to: glibc's can."""
    gc.collect()
    return trim()


def trim() -> bool:
    """The same for what the C library keeps alone, quick enough to be done from time to time under load: the holes that
    a burst of work has left between what is in use stay with the process else."""
    trim = _function("malloc_trim")
    return trim is not None and trim(0) >= 0


@cache
def _function(name: str) -> Callable[..., int] | None:
    """A function of the C library, None where there is none."""
    if ctypes is None or not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None), name, None)
