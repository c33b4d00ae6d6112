"""The actions of behaviors, one family a file. A file registers by being imported."""

import functools

from server.discovery import load_all


@functools.cache
def load() -> None:
    """Let every action declare itself."""
    load_all(__name__, __path__)
