"""How the C library hands out memory to this process. Source: ours."""

import sys

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
    if ctypes is None or not sys.platform.startswith("linux"):
        return False
    choose = getattr(ctypes.CDLL(None), "mallopt", None)
    return choose is not None and bool(choose(M_ARENA_MAX, HEAPS))
