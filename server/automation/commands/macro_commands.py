"""The command that runs a macro on a ticket from another automation."""

from typing import Any

from server.automation.acting import changed, service_of
from server.automation.command import CommandCall, CommandFailed, Input, command
from server.automation.commands.functions import MAX_CALLS_DEEP
from server.context import Context
from server.contexts import TICKET, WORKER
from server.record_types.shared.triggers import MACRO
from server.records import records
from server.records.event_publishing import record_values
from server.store.transaction import Transaction


@command(
    "ticket.macro",
    "Run a macro on a ticket: its changes, its note and its reply.",
    Input("ticket_id", "id", "The ticket.", required=True),
    Input("automation_id", "id", "The macro.", required=True),
    Input("worker_id", "id", "The worker in whose name it replies, and whom it calls `me`.", required=True),
)
def run_macro(call: CommandCall) -> Any:
    """Returns what the macro returns. It has its own policy and time limit; nobody reviews its texts."""
    from server.automation.macros import macro_result  # the package imports the engine

    ctx, inputs = service_of(call), call.inputs
    ticket_id, worker_id = inputs["ticket_id"], inputs["worker_id"]
    rows = records.stored(ctx, "automation", [inputs["automation_id"]])
    if not rows or rows[0]["extension_id"] != MACRO:
        raise CommandFailed(f"there is no macro {inputs['automation_id']}")
    if call.run.calls >= MAX_CALLS_DEEP:
        raise CommandFailed(f"at most {MAX_CALLS_DEEP} automations may call each other")
    automation = call.run.host.automation(rows[0]["name"])
    assert automation is not None
    values = record_values("ticket", TICKET, ticket_id) | record_values("worker", WORKER, worker_id)
    result = call.run.called(automation, values)
    if result.state not in ("return", "exit"):
        raise CommandFailed(result.message or f"the macro '{automation.name}' waits, but macros cannot wait")
    macro = macro_result.read(result.returned, worker_id)

    def write(ctx: Context) -> None:
        def apply(tx: Transaction) -> None:
            if macro.changes:
                records.update(ctx, "ticket", ticket_id, macro.changes)
            if macro.note:
                note = {"target__context": "ticket", "target_id": str(ticket_id), "comment": macro.note}
                records.create(ctx, "comment", note)
            if macro.reply:
                records.create(ctx, "draft", _reply_draft(ctx, ticket_id, worker_id, macro.reply))

        ctx.service.store.write(apply)

    changed(call, ctx, write)
    return result.returned


def _reply_draft(ctx: Context, ticket_id: int, worker_id: int, text: str) -> dict[str, Any]:
    """The fields of a queued reply to the newest message of a ticket, which changes nothing else of it."""
    ticket = records.retrieve(ctx, "ticket", ticket_id)
    params = {
        "in_reply_message_id": ticket["latest_message_id"],
        "content": text,
        "format": "parsedown",
        "is_applied": 1,
    }
    return {
        "type": "ticket.reply",
        "name": ticket["subject"],
        "ticket_id": str(ticket_id),
        "worker_id": str(worker_id),
        "is_queued": "1",
        "params": params,
    }
