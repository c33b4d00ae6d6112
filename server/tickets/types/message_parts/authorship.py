"""Restricts who may set author, time and direction of a message to administrators.

Other workers may record their own messages, as a reply would, and correct the text."""

from typing import Any

from server.contexts import WORKER
from server.errors import AdminOnly, Conflict
from server.record_types.parts import Change, Writing
from server.tickets.types.message_parts import stored_headers

# Columns that state author, recipient and time, or link replies to a ticket.
FIXED = (
    "sender_id", "worker_id", "is_outgoing", "created", "headers", "html_attachment_id", "hash_header_message_id",
    "response_time", "is_not_sent", "is_broadcast", "was_encrypted", "token",
)  # fmt: skip
OF_THE_SERVICE = ("created", "hash_header_message_id", "response_time", "storage_size", "token", "was_encrypted")
YES = {
    "is_outgoing": "only administrators may record what others wrote; send email to parser/parse.json",
    "is_not_sent": "a record sends nothing, so it is 1; use tickets/reply.json to send",
}


def require_own(change: Change, writing: Writing) -> None:
    """Raises AdminOnly if a worker other than an administrator records or changes the authorship of another person's
    message.

    Fills in the worker as author of a new message. Applies to submitted fields, after they are read."""
    if writing.actor.is_admin or not change.sent:
        return
    if change.is_create:
        _require_own_words(change, writing)
        return
    for name in FIXED:
        if change.changes(name):
            raise AdminOnly(
                f"{name}: only administrators may change who wrote a message, when, and what it replies to", field=name
            )
    if "storage_size" in change.sent and change.changes("storage_size"):
        raise AdminOnly("storage_size: only administrators may set it; leave it out", field="storage_size")


def _require_own_words(change: Change, writing: Writing) -> None:
    new, own = change.new, _own_id(writing)
    for name in OF_THE_SERVICE:
        if name in change.sent:
            raise AdminOnly(f"{name}: only administrators may set it; leave it out", field=name)
    for name, reason in YES.items():
        if name in change.sent and not new.get(name):
            raise AdminOnly(f"{name}: {reason}", field=name)
        new[name] = 1
    if new.get("worker_id") not in (None, 0, own):
        raise AdminOnly("worker_id: only administrators may write in the name of another worker", field="worker_id")
    new["worker_id"] = own
    if new["sender_id"] not in _senders(change, writing):
        raise AdminOnly(
            "sender_id: must be an address of yours, or one that the ticket's group sends from; only administrators "
            "may record what others wrote",
            field="sender_id",
        )
    _require_own_headers(new, writing)


def _require_own_headers(new: dict[str, Any], writing: Writing) -> None:
    sender = writing.record("address", new["sender_id"])
    email = sender["email"].lower() if sender is not None else ""
    if any(each.lower() != email for each in stored_headers.emails(stored_headers.head(new["headers"]), "from")):
        raise AdminOnly(f"headers: From must be {email}, the sender", field="headers")
    if new.get("message_id") and writing.find("message", message_id=new["message_id"]) is not None:
        raise Conflict("headers: another message has this Message-Id; leave it out, or choose another", field="headers")


def _senders(change: Change, writing: Writing) -> set[int]:
    """The addresses that a worker may write from: their own, and the sender addresses of the ticket's group and
    bucket."""
    own = _own_id(writing)
    worker, address = writing.record("worker", own), writing.record("address", change.new["sender_id"])
    address_ids = {int(writing.setting("default_sender_id") or 0), worker["email_id"] if worker is not None else 0}
    if address is not None and own and address["worker_id"] == own:
        address_ids.add(address["id"])
    ticket = writing.record("ticket", change.new["ticket_id"])
    for uri, column in (("bucket", "bucket_id"), ("group", "group_id")):
        place = writing.record(uri, ticket[column]) if ticket is not None and ticket[column] else None
        if place is not None:
            address_ids.add(place["reply_address_id"])
    return address_ids - {0}


def _own_id(writing: Writing) -> int:
    return writing.actor.id if writing.actor.context == WORKER else 0
