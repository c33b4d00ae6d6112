"""Calls the host of a template: records, URLs, privileges, notations that only the service knows."""

from typing import Any

from server.errors import TemplateFailed
from server.template.run import Rendering


def ask(run: Rendering, name: str, *arguments: Any) -> Any:
    """Calls the host's function `name`. Raises TemplateFailed if the caller of the template does not offer it."""
    call = run.around.host.get(name)
    if call is None:
        raise TemplateFailed(f"'{name}' is not available in this template")
    return call(*arguments)
