"""The command that takes in a mail, as the parser endpoint does."""

from typing import Any

from server import mailroom
from server.automation.acting import service_of
from server.automation.command import CommandCall, Input, command
from server.automation.dictionary import lazy
from server.template.shared.texts import bytes_of

MAX_MAIL_CHARS = 16_777_216


@command(
    "email.parse",
    "Take in a raw mail, as a new ticket or a reply.",
    Input("message", "text", "The mail with its headers.", required=True, max=MAX_MAIL_CHARS),
    effects=True,
)
def parse(call: CommandCall) -> Any:
    """The dictionary of the ticket, whose keys load when they are read; false when none came of it. Refused in a dry
    run: mail may set off more than can be undone. Source: ours."""
    ctx = service_of(call, ("message",))
    received = mailroom.receive(ctx, bytes_of(call.inputs["message"]))
    if not received.ticket_id or not received.is_readable:
        return False
    ticket = ctx.service.registry.type("ticket")
    return lazy({"_context": ticket.context, "id": received.ticket_id}, call.run.load)
