"""Commands on tickets alone; record.create and the like work on them, too."""

from typing import Any

from server.automation.acting import changed, service_of
from server.automation.command import CommandCall, Input, command
from server.records import records
from server.template.values import printed
from server.tickets import assignment, notices


@command(
    "ticket.assign",
    "Assign a ticket to whoever is next in its group.",
    Input("ticket_id", "id", "The id of the ticket.", required=True),
    Input(
        "way",
        "text",
        "`group`: as the group does it, in turn if it does not; `round_robin`: in turn; `fewest_open`: to the member "
        "with the fewest open tickets.",
        default=assignment.GROUP,
    ),
)
def assign(call: CommandCall) -> Any:
    """Returns {owner_id}, 0 if the ticket waits for somebody to be available."""
    id, fields = call.inputs["ticket_id"], {assignment.FIELD: call.inputs["way"]}
    ticket = changed(call, service_of(call), lambda ctx: records.update(ctx, "ticket", id, fields))
    return {"owner_id": ticket["owner_id"]}


@command(
    "ticket.notify",
    "Notify workers about a ticket. Each is notified once; whoever may not read the ticket, and the caller, is not.",
    Input("ticket_id", "id", "The id of the ticket.", required=True),
    Input("to", "list", "Of `owner`, `watchers`, `worker:<id>` and `group:<id>`, for its members.", required=True),
    Input("message", "text", "The text, one line.", required=True, max=65_535),
)
def notify(call: CommandCall) -> Any:
    """Returns {worker_ids}: of all whom `to` means."""
    id, to, message = (call.inputs[name] for name in ("ticket_id", "to", "message"))
    recipients = [printed(each) for each in (to.values() if isinstance(to, dict) else to)]
    worker_ids = changed(call, service_of(call), lambda ctx: notices.notify(ctx, id, recipients, message))
    return {"worker_ids": worker_ids}
