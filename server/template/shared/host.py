"""Asks the caller of a template for what only it can tell: records, URLs, privileges, other notations."""

from typing import Any

from server.errors import TemplateFailed
from server.template.run import Rendering


def ask(run: Rendering, name: str, *arguments: Any) -> Any:
    """What the host's function `name` answers. Raises TemplateFailed where the caller does not offer it."""
    found = run.around.host.get(name)
    if found is None:
        raise TemplateFailed(f"'{name}' is not available in this template")
    return found(*arguments)
