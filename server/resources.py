"""Locates the files of resources/: in the checkout, in an installed package, or in the unpacked executable.

For data that ships with the program; settings.py has the data folder of a service."""

import sys
from functools import cache
from pathlib import Path

from server import late_files
from server.errors import NotFound


def path(*parts: str) -> Path:
    """Returns the path of resources/<parts>. Parts come from our own code, never from a request.

    Raises NotFound if it does not exist or lies outside the folder."""
    root = _root()
    for folder in late_files.FOLDERS:
        if not parts or folder == f"resources/{parts[0]}":
            late_files.unpack(folder)
    file = root.joinpath(*parts).resolve()
    if not file.is_relative_to(root) or not file.exists():
        raise NotFound(f"'{'/'.join(parts)}' is not among the files shipped with this program")
    return file


def packed(name: str) -> Path | None:
    """Returns a file of the executable; None outside of it."""
    unpacked = _unpacked()
    return unpacked / name if unpacked is not None else None


@cache
def _root() -> Path:
    unpacked = _unpacked()
    if unpacked is not None:
        return unpacked / "resources"
    package = Path(__file__).resolve().parent
    source = package.parent / "resources"
    # setup.py packs the folder as server/shipped, so an installed copy has it inside the package.
    return package / "shipped" if (package / "shipped").is_dir() else source


def _unpacked() -> Path | None:
    """Returns the folder of the unpacked executable."""
    folder = getattr(sys, "_MEIPASS", None)
    return None if folder is None else Path(folder).resolve()
