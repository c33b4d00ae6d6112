"""The packages that come with the program, in resources/packages/."""

import json

from server import resources
from server.errors import NotFound, nearest
from server.packages.document import Tree

FOLDER, ENDING = "packages", ".json"


def names() -> list[str]:
    """Their names, sorted."""
    return sorted(path.name.removesuffix(ENDING) for path in resources.path(FOLDER).glob(f"*{ENDING}"))


def package(name: str) -> Tree:
    """The decoded document of a package. Raises NotFound."""
    known = names()
    if name not in known:
        listed = nearest(name, known) or f"; shipped are {', '.join(known)}"
        raise NotFound(f"there is no file and no shipped package '{name[:80]}'{listed}")
    found: Tree = json.loads(resources.path(FOLDER, f"{name}{ENDING}").read_text("utf-8"))
    return found
