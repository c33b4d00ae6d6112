"""The actions of behaviors, one family a file. A file registers by being imported. Source: Bot behaviors, actions."""

import functools
import importlib
import pkgutil


@functools.cache
def load() -> None:
    """Let every action declare itself."""
    for info in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{info.name}")
