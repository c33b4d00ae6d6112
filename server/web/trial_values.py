"""Values for trying an automation, from its last run, a webhook's delivery, a ticket or samples."""

from contextlib import suppress
from typing import Any

from server.automation import bound_automations, run_values, simulating
from server.automation.bindings import entries
from server.automation.commands.functions import automation_name
from server.automation.macros import listing as macros
from server.automation.webhooks import received_calls
from server.automation.webhooks.request_files import described
from server.context import Context
from server.errors import HelpdeskError, KataSyntax, NotFound
from server.record_types.shared.triggers import MACRO, WEBHOOK, find_trigger
from server.records import records
from server.records.records import SearchRequest
from server.store.transaction import Transaction
from server.tickets import masks
from server.translation import _
from server.web.json_text import loads
from server.web.webhook_site import received_of

Values = dict[str, Any]


def of_last_run(ctx: Context, automation_id: int) -> Values:
    """Returns the initial values of the last run of an automation. Raises AdminOnly, and NotFound without a run."""
    ctx.require_admin("see what automations ran with")
    rows = records.stored(ctx, "automation", [automation_id])
    if not rows:
        raise NotFound(f"there is no automation {automation_id}")
    automation = rows[0]
    if automation["extension_id"] == WEBHOOK:
        delivery = ctx.service.store.read(lambda tx: _newest_delivery(ctx, tx, automation["name"]))
        if delivery:
            return of_delivery(ctx, delivery)
    elif (last := run_values.last(ctx, automation_id)) is not None:
        return dict(last.values)
    raise NotFound("this automation has not run yet, or its values were too long to be stored")


def of_delivery(ctx: Context, id: int) -> Values:
    """Returns the values of a webhook's delivery; secrets stay hidden. Raises AdminOnly, NotFound."""
    delivery = received_calls.one(ctx, id)
    request = delivery["request"]
    headers = [(str(name), str(value)) for name, value in request["headers"]]
    received = received_of(
        request["method"], "", request["query"], headers, request["body"].encode(), delivery["client_ip"]
    )
    return {
        "request_method": received.method,
        "request_path": request["path"],
        "request_headers": {name.lower().replace("-", "_"): value for name, value in headers},
        "request_params": received.params,
        "request_form": received.form,
        "request_files": described(received.files),
        "request_body": request["body"],
        "request_client_ip": delivery["client_ip"],
        "inputs": {},
    }


def of_ticket(ctx: Context, mask: str, trigger: str, typed: str) -> Values:
    """Returns the values that an automation gets of a ticket. mask: as people write it, such as [#ABC-1]. typed:
    further values as JSON. Raises NotFound, Forbidden."""
    mask = mask.strip("#[]")
    id = masks.ticket_id(ctx, mask) if mask else None
    if id is None:
        raise NotFound(_("There is no ticket '{mask}'.", mask=mask[:80]) if mask else _("Enter a ticket."))
    if trigger == MACRO:
        return macros.values_of(ctx, id)
    with suppress(HelpdeskError):
        values = loads(typed, "'values'", field="values")
        if isinstance(values, dict):
            return values | simulating.ticket_values(ctx, id)
    return simulating.ticket_values(ctx, id)


def of_trigger(ctx: Context, trigger: str) -> Values:
    """Returns blank values under all names that a trigger provides, except inputs; for a macro, those of the newest
    ticket."""
    if trigger == MACRO:
        newest = records.search(ctx, "ticket", SearchRequest("sort:-id", 1))["results"]
        return macros.values_of(ctx, newest[0]["id"] if newest else 0)
    known = find_trigger(trigger)
    keys = [key for key in (known.keys if known else ()) if not key.endswith("_") and key not in ("inputs", "...")]
    return dict.fromkeys(keys, "")


def _newest_delivery(ctx: Context, tx: Transaction, name: str) -> int:
    """Returns the id of the newest delivery of the webhooks of an automation, 0 for none."""
    listener: Any = ctx.service.registry.type("webhook_listener").table.sql
    rows = tx.rows(lambda: listener.select(listener.id, listener.automations_kata))
    return max((received_calls.last_id(tx, id) for id, text in rows if _names(text, name)), default=0)


def _names(text: str, automation: str) -> bool:
    try:
        named = (bound_automations.tree_text(tree, "uri") for _, _, tree in entries(text).values())
        return any(automation_name(each).lower() == automation.lower() for each in named)
    except KataSyntax:
        return False
