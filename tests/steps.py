"""How much work a text makes, as a number that no machine changes."""

import sys
from collections.abc import Callable

from server.errors import HelpdeskError


def steps(read: Callable[[str], object], text: str, refused: type[HelpdeskError] = HelpdeskError) -> int:
    """Lines of Python that run for a text, be it taken or refused. refused: what may be raised."""
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
