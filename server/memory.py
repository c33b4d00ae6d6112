"""Controls how the C library allocates and returns the memory of this process, by two of its functions. Not by another
allocator, such as jemalloc, which would have to be packed for each system."""

import gc
import sys
from collections.abc import Callable
from functools import cache

try:
    import ctypes
except ImportError:  # a Python built without it
    ctypes = None  # type: ignore[assignment]

HEAPS = 2
M_ARENA_MAX = -8  # the name of this choice in glibc's malloc.h


def share_heaps() -> bool:
    """Limits the threads to HEAPS shared heaps; the C library would create one per thread, which retains memory after
    bursts. Must run before threads start. Returns whether the C library supports it: glibc does."""
    choose = _function("mallopt")
    return choose is not None and bool(choose(M_ARENA_MAX, HEAPS))


def give_back() -> bool:
    """Returns memory to the system after large work: reference cycles and what the C library caches. Takes some
    milliseconds. Returns whether the C library supports it: glibc does."""
    gc.collect()
    return trim()


def trim() -> bool:
    """Returns the memory that only the C library caches, fast enough to run regularly under load: gaps between live
    objects after a burst would stay with the process otherwise."""
    trim = _function("malloc_trim")
    return trim is not None and trim(0) >= 0


@cache
def _function(name: str) -> Callable[..., int] | None:
    """Returns a function of the C library, or None."""
    if ctypes is None or not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None), name, None)
