"""Actions that call other parts of the service: data queries, automations."""

from typing import Any

from server.automation import automation_service
from server.automation.behaviors.action import OBJECT, ActionCall, action
from server.automation.bindings import handlers
from server.automation.run_dictionary import plain
from server.queries import query_run

TRIGGER = "svc.trigger.behavior.action"


@action("core.bot.action.data_query", "Run a data query.", placeholder=OBJECT, default="_results")
def data_query(call: ActionCall) -> Any:
    return query_run.evaluate(call.run.ctx, call.text("query"))


@action(
    "core.bot.action.automation",
    "Run the first enabled automation of an event's KATA.",
    placeholder=OBJECT,
    default="_results",
    effects=True,
)
def automation(call: ActionCall) -> Any:
    """Returns {exit, return}, or {exit, error}; null if no automation is enabled. Raises KataSyntax."""
    run = call.run
    for handler in handlers(call.raw("automations_kata"), TRIGGER, run.values, run.host):
        values = {**run.values, "inputs": handler.inputs}
        result = automation_service.perform(run.ctx, handler.automation, values, dry=run.simulates)
        if result.state in ("error", "failure"):
            return {"exit": "error", "error": result.message}
        return {"exit": result.state, "return": plain(result.returned)}
    return None
