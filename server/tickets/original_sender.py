"""Makes the author of a mail that a worker forwarded to the helpdesk the requester in place of the worker."""

from server.context import Context
from server.errors import Invalid
from server.mail import addresses
from server.record_types.record_type import Record
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.tickets import requesters


def replace_sender(ctx: Context, ticket_id: int, message_id: int) -> tuple[str, str]:
    """Makes the author of a forwarded mail a requester in place of the forwarder, and returns both addresses.

    Raises NotFound, Forbidden, and Invalid if the message names no author or the author may not be a requester."""

    def write(tx: Transaction) -> tuple[str, str]:
        writing = RecordWriter(ctx, tx)
        writing.require("update", "ticket", ticket_id)
        message = writing.record("message", message_id)
        authors = addresses.parse_list(message["forwarded_from"], limit=1) if message is not None else []
        if message is None or message["ticket_id"] != ticket_id or not authors:
            raise Invalid("message: it has no original sender; add the requester by hand", field="message")
        address = requesters.address_of(writing, authors[0].address)
        if not requesters.may_request(address, writing.setting("mail_exclude_patterns")):
            raise Invalid(f"message: '{address['email']}' may not be a requester", field="message")
        _store_name(writing, ticket_id, address, authors[0].name)
        requesters.add(writing, ticket_id, [address["id"]])
        if message["sender_id"] != address["id"]:
            requesters.remove(writing, ticket_id, [message["sender_id"]])
        return str(address["email"]), writing.label("address", message["sender_id"])

    return ctx.service.store.write(write)


def _store_name(writing: RecordWriter, ticket_id: int, address: Record, name: str) -> None:
    """Fills in the display name if it is empty; mail to a private group reveals no names outside of the group."""
    ticket = writing.record("ticket", ticket_id)
    group = writing.record("group", ticket["group_id"]) if ticket is not None else None
    if name and not address["display_name"] and group is not None and not group["is_private"]:
        writing.as_service().update("address", address["id"], {"display_name": name})
