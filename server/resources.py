"""Where the files of resources/ are: beside the source, inside an installed package, or in the unpacked executable.

For data that ships with the program. Not for the data folder of a service (settings.py).
"""

import sys
from functools import cache
from pathlib import Path

from server.errors import NotFound


def path(*parts: str) -> Path:
    """The file or folder resources/<parts>. Parts come from our own code, never from a request.

    Raises NotFound when it is not there or lies outside the folder. Source: Ours.
    """
    root = _root()
    found = root.joinpath(*parts).resolve()
    if not found.is_relative_to(root) or not found.exists():
        raise NotFound(f"'{'/'.join(parts)}' is not among the files shipped with this program")
    return found


@cache
def _root() -> Path:
    unpacked = getattr(sys, "_MEIPASS", None)
    if unpacked is not None:
        return Path(unpacked).resolve() / "resources"
    package = Path(__file__).resolve().parent
    source = package.parent / "resources"
    # setup.py packs the folder as server/shipped, so an installed copy has it inside the package.
    return package / "shipped" if (package / "shipped").is_dir() else source
