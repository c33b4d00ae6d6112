"""Split: moves a message on another subject to a new ticket."""

from server.context import Context
from server.contexts import TICKET
from server.errors import Invalid
from server.record_types.record_type import Record
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.tickets import requesters
from server.translation import N_, about_field


def split(ctx: Context, message_id: int) -> int:
    """Moves a message to a new open ticket with the same subject, place, owner and organization, and returns the new
    id.

    The requester is the author of the message; for an outgoing message, the requesters of the old ticket. Raises
    Invalid for the only message of a ticket and for unknown ids, Forbidden."""
    return ctx.service.store.write(lambda tx: _split(ctx, tx, message_id))


def _split(ctx: Context, tx: Transaction, message_id: int) -> int:
    writing = RecordWriter(ctx, tx)
    tickets = writing.registry.type("ticket")
    message = writing.record("message", message_id)
    ticket = writing.record("ticket", message["ticket_id"]) if message else None
    if message is None or ticket is None:
        raise Invalid(f"message_id: there is no message {message_id}", field="message_id")
    writing.rules.require(tx, "read", tickets, ticket)
    writing.rules.require(tx, "update", tickets, ticket)
    writing.rules.require_create(tickets)
    if ticket["num_messages"] < 2:
        raise Invalid(
            about_field("message_id", N_("this is the only message of its ticket; there is nothing to split")),
            field="message_id",
        )
    columns = ("subject", "group_id", "bucket_id", "owner_id", "org_id", "importance", "spam_score", "spam_training")
    new_id = writing.create("ticket", {name: ticket[name] for name in columns} | {"created": message["created"]})
    requesters.add(writing, new_id, _requester_ids(writing, ticket, message), is_new_ticket=True)
    writing.update("message", message_id, {"ticket_id": new_id})
    source, target = writing.label("ticket", ticket["id"]), writing.label("ticket", new_id)
    writing.log("ticket.split", TICKET, new_id, {"source": source, "target": target})
    return new_id


def _requester_ids(writing: RecordWriter, ticket: Record, message: Record) -> list[int]:
    sender = writing.record("address", message["sender_id"])
    patterns = writing.setting("mail_exclude_patterns")
    if not message["is_outgoing"] and sender is not None and requesters.may_request(sender, patterns):
        return [sender["id"]]
    return requesters.ids_of(writing.tx, ticket["id"])
