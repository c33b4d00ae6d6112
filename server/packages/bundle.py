"""The packages that are shipped with the program, in resources/packages/."""

import json

from server import resources
from server.errors import NotFound, nearest
from server.packages.package_document import Tree

FOLDER, ENDING = "packages", ".json"


def names() -> list[str]:
    """Returns their names, sorted."""
    return sorted(path.name.removesuffix(ENDING) for path in resources.path(FOLDER).glob(f"*{ENDING}"))


def package(name: str) -> Tree:
    """Returns the decoded document of a package. Raises NotFound."""
    shipped = names()
    if name not in shipped:
        hint = nearest(name, shipped) or f"; shipped are {', '.join(shipped)}"
        raise NotFound(f"there is neither a file nor a shipped package '{name[:80]}'{hint}")
    document: Tree = json.loads(resources.path(FOLDER, f"{name}{ENDING}").read_text("utf-8"))
    return document
