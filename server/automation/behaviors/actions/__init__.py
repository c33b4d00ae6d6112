"""The actions of behaviors, one family per file. A file registers its actions when it is imported."""

import functools

from server.discovery import load_all


@functools.cache
def load() -> None:
    """Imports every action family."""
    load_all(__name__, __path__)
