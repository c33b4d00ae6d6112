"""The commands that create tickets from outside: from a raw mail, and from a form."""

from typing import Any

from server import mailroom
from server.automation.acting import service_of
from server.automation.command import CommandCall, Input, command
from server.automation.run_dictionary import lazy, plain
from server.template.shared.text_values import bytes_of
from server.tickets.request_values import MAX_CONTENT

MAX_MAIL_CHARS = 16_777_216
MAX_ADDRESS_CHARS = 1024  # characters, including the display name


@command(
    "email.parse",
    "Process a raw email as a new ticket or a reply.",
    Input("message", "text", "The email with its headers.", required=True, max=MAX_MAIL_CHARS),
    effects=True,
)
def parse(call: CommandCall) -> Any:
    """Returns the dictionary of the ticket, whose keys load on access; false if no ticket was created. Refused in a dry
    run: incoming mail may have effects that cannot be rolled back."""
    ctx = service_of(call, ("message",))
    return _ticket(call, mailroom.receive(ctx, bytes_of(call.inputs["message"])))


@command(
    "ticket.create",
    "Create a ticket for somebody outside, such as who filled in a form.",
    Input("from", "text", "The email address of the requester.", required=True, max=MAX_ADDRESS_CHARS),
    Input("name", "text", "Their name."),
    Input("subject", "text", "The subject.", required=True),
    Input("content", "text", "The text of the message.", required=True, max=MAX_CONTENT),
    Input("content_format", "text", "markdown or html; blank for plain text.", default=""),
    Input("group_id", "id", "The group; by default, the group that gets email without another route.", default=0),
    Input("bucket_id", "id", "The bucket; its group is the ticket's.", default=0),
    Input("file_ids", "list", "Ids of files to attach.", default=[]),
    Input("custom_fields", "map", "Values of custom fields of the ticket, as custom_<id> or by their uri.", default={}),
    Input("external_id", "text", "Your id for the ticket; sending the same id again finds its ticket.", default=""),
    effects=True,
)
def create_ticket(call: CommandCall) -> Any:
    """Returns the dictionary of the ticket. The inputs do not become mail headers, and always create a new ticket.
    Refused in a dry run, like email.parse."""
    ctx, inputs = service_of(call), {name: plain(value) for name, value in call.inputs.items() if value is not None}
    customs = {f"custom_{name.removeprefix('custom_')}": value for name, value in inputs.pop("custom_fields").items()}
    return _ticket(call, mailroom.create(ctx, inputs | customs | {"file_id": inputs.pop("file_ids")}))


def _ticket(call: CommandCall, received: mailroom.Receipt) -> Any:
    if not received.ticket_id or not received.is_readable:
        return False
    ctx = service_of(call, ("message",))
    ticket = ctx.service.registry.type("ticket")
    return lazy({"_context": ticket.context, "id": received.ticket_id}, call.run.load)
