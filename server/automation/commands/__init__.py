"""The commands that do not control the flow, one family per file. A file registers its commands when it is imported."""

import functools

from server.automation.command import COMMANDS
from server.discovery import load_all


def load() -> frozenset[str]:
    """Imports every command family; returns the names of the commands."""
    _load()
    return frozenset(COMMANDS)


@functools.cache
def _load() -> None:
    load_all(__name__, __path__)
