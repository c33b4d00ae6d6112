"""The commands that are no part of the flow, one family a file. A file registers by being imported."""

import functools

from server.automation.command import COMMANDS
from server.discovery import load_all


def load() -> frozenset[str]:
    """Let every command declare itself; their names."""
    _load()
    return frozenset(COMMANDS)


@functools.cache
def _load() -> None:
    load_all(__name__, __path__)
