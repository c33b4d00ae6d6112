"""The template function that finds record types by name."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from server.automation.template_functions import template_function

if TYPE_CHECKING:
    from server.automation.automation_service import ServiceHost


@template_function("record_type")
def record_type(host: "ServiceHost") -> Callable[..., dict[str, str] | None]:
    """Returns {id, uri, singular, plural} of the type with this name, null for none."""

    def find(name: str) -> dict[str, str] | None:
        match = host.ctx.service.registry.find(name)
        if match is None:
            return None
        singular, plural = match.label_names
        return {"id": match.context, "uri": match.uri, "singular": singular.lower(), "plural": plural.lower()}

    return find
