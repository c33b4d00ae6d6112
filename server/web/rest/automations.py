"""The automation log, simulations, and bindings of automations."""

from typing import Any

from server.automation import binding_edits, log_search, simulating
from server.automation.simulating import SimulationRequest
from server.errors import Required
from server.records.records import MAX_PAGE
from server.web import trial_values
from server.web.endpoint_call import EndpointCall
from server.web.openapi import shapes
from server.web.routes import Parameter, endpoint

LIMIT, MOST = 25, 250
ENTRY = shapes.keys(
    id=shapes.ID,
    automation_name=shapes.TEXT,
    automation_node=shapes.TEXT,
    created_at=shapes.TIME,
    level=shapes.INTEGER,
    level__label=shapes.TEXT,
    message=shapes.TEXT,
)


@endpoint(
    "GET",
    "automations/logs/search",
    "Search the automation log, newest entries first. For administrators.",
    "read",
    Parameter("q", "string", "A search: automation:(name:... node:...), created:, id:, level:, message:."),
    Parameter("limit", "integer", f"Results on a page, 1 to {MOST}; {LIMIT} when absent."),
    Parameter("page", "integer", "The page, counted from 0."),
    aliases=("automation/logs/search",),
    response=shapes.page(ENTRY),
)
def search_logs(call: EndpointCall) -> dict[str, Any]:
    params = call.params
    limit, page = params.integer("limit", LIMIT, 1, MOST), params.integer("page", 0, 0, MAX_PAGE)
    return log_search.search(call.ctx, params.text("q", ""), limit, page)


SIMULATED = shapes.keys(
    {"message": shapes.TEXT, "return": shapes.ANY},
    state=shapes.TEXT,
    vars=shapes.OBJECT,
    log=shapes.list_of(
        shapes.keys(
            level=shapes.INTEGER,
            node=shapes.TEXT,
            message=shapes.TEXT,
        )
    ),
    trace=shapes.list_of(shapes.OBJECT),
    warnings=shapes.list_of(shapes.keys(line=shapes.COUNT, message=shapes.TEXT)),
)


@endpoint(
    "POST", "automations/simulate", "Simulate an automation, without writing or sending anything; `on_simulate` "
    "replaces commands with external effects. Returns the final state, the log and the steps. For administrators.",
    "write",
    Parameter("automation_id", "integer", "The automation. Its script, policy and trigger are defaults."),
    Parameter("script", "string", "A script in KATA; required without automation_id."),
    Parameter("policy", "string", "The policy; defaults to that of the automation."),
    Parameter("trigger", "string", "The trigger, such as svc.trigger.mail.received; defaults to that of the "
              "automation, or to a function."),
    Parameter("values", "map", "Values of the dictionary, such as `inputs`."),
    Parameter("ticket_id", "integer", "A ticket for the dictionary: `ticket_`, `record_` and `new_` refer to it, "
              "`message_` to its newest message."),
    Parameter("last_run", "boolean", "1 adds the values of the last run of the automation; for a webhook, those of its "
              "newest delivery. `values` override them."),
    response=SIMULATED,
)  # fmt: skip
def simulate(call: EndpointCall) -> dict[str, Any]:
    params = call.params
    automation_id, values = params.id("automation_id", 0), params.json("values", {})
    if params.flag("last_run"):
        if not automation_id:
            raise Required("automation_id is required with last_run", field="automation_id")
        values = trial_values.of_last_run(call.ctx, automation_id) | (values if isinstance(values, dict) else {})
    return simulating.simulate(
        call.ctx,
        SimulationRequest(
            automation_id,
            params.text("script"),
            params.text("policy"),
            params.text("trigger", ""),
            values,
            params.id("ticket_id", 0),
        ),
    )


BINDING = shapes.keys(automations_kata=shapes.TEXT, entries=shapes.list_of(shapes.TEXT), id=shapes.ID, type=shapes.TEXT)
HOLDERS = (
    Parameter("timer_id", "integer", "The timer, for automations of the trigger svc.trigger.automation.timer."),
    Parameter("webhook_id", "integer", "The webhook, for automations of the trigger svc.trigger.webhook.respond."),
)


@endpoint(
    "POST",
    "automations/{id}/bind",
    "Bind an automation to the event, timer or webhook of its trigger. Other entries of the binding do not change. "
    "For administrators.",
    "write",
    *HOLDERS,
    Parameter("name", "string", "Name of the entry; derived from the name of the automation when absent."),
    Parameter("position", "integer", "Position in the binding, from 0; at the end when absent."),
    response=BINDING,
)
def bind(call: EndpointCall) -> dict[str, Any]:
    params = call.params
    position = params.integer("position", -1, 0, MAX_PAGE)
    return _shown(binding_edits.bind(call.ctx, call.id, *_holders(call), params.text("name", ""), position))


@endpoint(
    "POST",
    "automations/{id}/unbind",
    "Remove an automation from the binding of its event, timer or webhook. For administrators.",
    "write",
    *HOLDERS,
    response=BINDING,
)
def unbind(call: EndpointCall) -> dict[str, Any]:
    return _shown(binding_edits.unbind(call.ctx, call.id, *_holders(call)))


def _holders(call: EndpointCall) -> tuple[int, int]:
    """Returns the ids of the timer and the webhook, 0 for none."""
    most = 2**63 - 1
    return call.params.integer("timer_id", 0, 1, most), call.params.integer("webhook_id", 0, 1, most)


def _shown(binding: binding_edits.Binding) -> dict[str, Any]:
    return {"type": binding.uri, "id": binding.id, "entries": list(binding.names), "automations_kata": binding.text}
