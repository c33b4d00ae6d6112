"""Imports modules that register themselves, such as record types, endpoints, pages, filters and migrations: adding one
is adding a file."""

import importlib
import pkgutil
from collections.abc import Iterable
from types import ModuleType


def load_all(package: str, path: Iterable[str], *, is_deep: bool = False) -> list[ModuleType]:
    """Imports every module of a package, by its __name__ and __path__, in the order of names. is_deep: nested packages
    too. Works inside the executable."""
    if is_deep:
        names = [info.name for info in pkgutil.walk_packages(path, f"{package}.")]
    else:
        names = [info.name for info in pkgutil.iter_modules(path, f"{package}.") if not info.ispkg]
    return [importlib.import_module(name) for name in sorted(names)]
