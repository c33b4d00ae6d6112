"""Simulates runs of automations for API clients: nothing is written or sent."""

from dataclasses import asdict, replace
from typing import Any

from server.automation import automation_service, examples, names
from server.automation.engine import ENDED
from server.automation.host import Script
from server.automation.run_dictionary import plain
from server.context import Context
from server.contexts import MESSAGE, TICKET
from server.dataclass import dataclass
from server.errors import Invalid, NotFound, Required, nearest
from server.record_types.shared.triggers import TRIGGERS
from server.records import event_publishing, records

MAX_STEPS = 500  # commands per trace


@dataclass(frozen=True, slots=True)
class SimulationRequest:
    """A run to simulate. script, policy: None for those of the automation; trigger: "" for its own. values: in addition
    to those of the ticket."""

    automation_id: int
    script: str | None
    policy: str | None
    trigger: str
    values: Any
    ticket_id: int


def simulate(ctx: Context, request: SimulationRequest) -> dict[str, Any]:
    """Simulates a run; returns `state`, `return`, `vars`, `log` and `trace`, the `message` of a failure, and `warnings`
    of unknown names in the script.

    Raises AdminOnly, Required, Invalid, NotFound, and ScriptError for a script that cannot be parsed."""
    ctx.require_admin("simulate automations")
    if not isinstance(request.values, dict):
        raise Invalid("values: send a map, such as values[inputs][name]=Ann", field="values")
    values = ticket_values(ctx, request.ticket_id) if request.ticket_id else {}
    script = _script(ctx, request)
    result = examples.simulate(ctx, script, values | request.values, traced=MAX_STEPS)
    output: dict[str, Any] = {
        "state": result.state,
        "vars": result.variables,
        "log": [{"level": each.level, "node": each.node, "message": each.message} for each in result.log],
        "trace": [asdict(each) for each in result.trace],
        "warnings": [
            {"line": each.line, "message": each.message}
            for each in names.flagged_in(ctx, script.script, script.trigger)
        ],
    }
    if result.returned is not None:
        output["return"] = plain(result.returned)
    return output if result.state in ENDED else output | {"message": result.message}


def _script(ctx: Context, request: SimulationRequest) -> Script:
    stored = Script("")
    if request.automation_id:
        rows = records.stored(ctx, "automation", [request.automation_id])
        if not rows:
            raise NotFound(f"there is no automation {request.automation_id}")
        stored = automation_service.of_record(rows[0])
    elif not request.script:
        raise Required("script is required, or automation_id", field="script")
    if request.trigger and request.trigger not in TRIGGERS:
        near = nearest(request.trigger, TRIGGERS)
        raise Invalid(f"trigger: there is no trigger '{request.trigger[:80]}'{near}", field="trigger")
    return replace(
        stored,
        script=stored.script if request.script is None else request.script,
        policy=stored.policy if request.policy is None else request.policy,
        trigger=request.trigger or stored.trigger,
    )


def ticket_values(ctx: Context, id: int) -> dict[str, Any]:
    """Returns a ticket, with its newest message, under the names that triggers use. Raises NotFound, Forbidden."""
    ticket = records.retrieve(ctx, "ticket", id)
    values: dict[str, Any] = {}
    for prefix in ("ticket", "record", "new"):
        values |= event_publishing.record_values(prefix, TICKET, id)
    return values | event_publishing.record_values("message", MESSAGE, int(ticket["latest_message_id"]))
