"""The commands that are no part of the flow, one family a file. A file registers by being imported."""

import functools
import importlib
import pkgutil

from server.automation.command import COMMANDS


@functools.cache
def load() -> frozenset[str]:
    """Let every command declare itself; their names."""
    for info in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{info.name}")
    return frozenset(COMMANDS)
