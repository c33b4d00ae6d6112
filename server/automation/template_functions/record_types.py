"""The template function that finds record types by name."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from server.automation.template_functions import template_function

if TYPE_CHECKING:
    from server.automation.service import ServiceHost


@template_function("record_type")
def record_type(host: "ServiceHost") -> Callable[..., dict[str, str] | None]:
    """Returns {id, uri, singular, plural} of the type with this name, null for none."""

    def find(name: str) -> dict[str, str] | None:
        found = host.ctx.service.registry.find(name)
        if found is None:
            return None
        singular, plural = found.label_names
        return {"id": found.context, "uri": found.uri, "singular": singular.lower(), "plural": plural.lower()}

    return find
