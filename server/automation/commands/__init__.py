"""The commands that are no part of the flow, one family a file. A file registers by being imported."""

import functools
import importlib
import pkgutil

from server.automation.command import COMMANDS


def load() -> frozenset[str]:
    """Let every command declare itself; their names."""
    _import_all()
    return frozenset(COMMANDS)


@functools.cache
def _import_all() -> None:
    for info in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{info.name}")
