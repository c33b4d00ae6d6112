"""Finds what declares itself by being imported, such as record types, endpoints, pages, filters and migrations: adding
one is adding a file."""

import importlib
import pkgutil
from collections.abc import Iterable
from types import ModuleType


def load_all(package: str, path: Iterable[str], *, is_deep: bool = False) -> list[ModuleType]:
    """Import every module of a package, by its __name__ and __path__, in the order of their names. is_deep: packages in
    it as well, with what is in them. Works inside the executable too."""
    if is_deep:
        names = [info.name for info in pkgutil.walk_packages(path, f"{package}.")]
    else:
        names = [info.name for info in pkgutil.iter_modules(path, f"{package}.") if not info.ispkg]
    return [importlib.import_module(name) for name in sorted(names)]
