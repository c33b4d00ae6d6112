"""The work that a text causes, as a number that is the same on every machine."""

import sys
from collections.abc import Callable

from server.errors import HelpdeskError


def steps(read: Callable[[str], object], text: str, refused: type[HelpdeskError] = HelpdeskError) -> int:
    """The number of Python lines executed for a text, accepted or refused. refused: the exceptions that may be
    raised."""
    count = 0

    def trace(frame: object, event: str, _: object) -> object:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        read(text)
    except refused:
        pass
    finally:
        sys.settrace(before)
    return count
