"""The template function that calls automations whose trigger allows it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from server.automation import engine
from server.automation.commands.functions import automation_name
from server.automation.host import TEMPLATE_FUNCTION
from server.automation.template_functions import template_function
from server.errors import TemplateFailed
from server.template.values import printed

if TYPE_CHECKING:
    from server.automation.automation_service import ServiceHost

MAX_DEPTH = 8  # levels of templates that call automations


@template_function("svc_automation")
def svc_automation(host: "ServiceHost") -> Callable[..., Any]:
    """Returns {exit_state, return}, or {exit_state, error}, of an automation for templates; false if it does not exist.
    It has its own policy and time limit."""
    depth = 0

    def call(uri: Any, inputs: Any) -> Any:
        nonlocal depth
        automation = host.automation(automation_name(printed(uri)))
        if automation is None or automation.trigger != TEMPLATE_FUNCTION:
            return False
        if depth >= MAX_DEPTH:
            raise TemplateFailed(f"at most {MAX_DEPTH} automations may call each other through templates")
        depth += 1
        try:
            result = engine.run(automation, {"inputs": inputs if isinstance(inputs, (dict, list)) else {}}, host)
        finally:
            depth -= 1
        if result.log and not host.dry:
            host.ctx.service.store.write(lambda tx: host.log(tx, automation.name, result.log, automation.version))
        if result.state in ("failure", "error"):
            return {"exit_state": "error", "error": result.message}
        return {"exit_state": result.state, "return": result.returned}

    return call
