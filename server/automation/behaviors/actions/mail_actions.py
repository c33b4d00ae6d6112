"""Actions that process an incoming mail or send one. The action names are prescribed; their parameters are our own."""

from typing import Any

from server import mailroom
from server.automation.behaviors.action import OBJECT, ActionCall, action
from server.record_types.shared.sending_addresses import TRANSACTIONAL
from server.records import records
from server.template.shared.text_values import bytes_of

PARAMETERS = ("to", "cc", "bcc", "from", "subject", "content", "format")


@action(
    "core.bot.action.email_parser", "Process a raw email as a new ticket or a reply.", placeholder=OBJECT, effects=True
)
def email_parser(call: ActionCall) -> Any:
    """Returns the ticket; null if none was created. message_source: the mail with its headers."""
    received = mailroom.receive(call.run.ctx, bytes_of(call.text("message_source")))
    if not received.ticket_id or not received.is_readable:
        return None
    return records.retrieve(call.run.ctx, "ticket", received.ticket_id)


@action("send_email", "Send an email that does not belong to a ticket.", placeholder=OBJECT, effects=True)
def send_email(call: ActionCall) -> Any:
    """Returns the queued draft. to, cc, bcc, from, subject, content; format: markdown or blank."""
    params = {name: text for name in PARAMETERS if (text := call.text(name))}
    fields = {
        "type": TRANSACTIONAL,
        "name": params.get("subject", ""),
        "to": params.get("to", ""),
        "params": params,
        "is_queued": 1,
    }
    return records.create(call.run.ctx, "draft", fields)
