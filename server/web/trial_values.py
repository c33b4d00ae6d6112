"""Values for trying an automation: those of its last run, or of a webhook's delivery."""

from typing import Any

from server.automation import bound_automations, run_values
from server.automation.bindings import entries
from server.automation.commands.functions import automation_name
from server.automation.webhooks import received_calls
from server.automation.webhooks.request_files import described
from server.context import Context
from server.errors import KataSyntax, NotFound
from server.record_types.shared.triggers import WEBHOOK
from server.records import records
from server.store.transaction import Transaction
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
