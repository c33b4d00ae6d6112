"""Finds the families of filters and functions. Registering is done by each of them when it is imported."""

import importlib
import pkgutil
from collections.abc import Iterable


def load_all(package: str, path: Iterable[str]) -> list[str]:
    """Import every module of a package, in sorted order; their names. Works inside the executable too. Source: ours."""
    names = sorted(f"{package}.{info.name}" for info in pkgutil.iter_modules(path) if not info.ispkg)
    for name in names:
        importlib.import_module(name)
    return names
