"""Types of drafts, and the sender addresses of groups and buckets."""

from server.errors import Invalid
from server.record_types.parts import Writing

COMPOSE, REPLY, FORWARD, TRANSACTIONAL = "mail.compose", "ticket.reply", "ticket.forward", "mail.transactional"
UNTIL_ANSWERED = "until_answered"  # param of a draft: it is held back if a requester writes first
GENERATED = "is_generated"  # a param of mail that marks itself as automatic, so that no program replies to it
LETTER = "letter"  # format of plain text written by the service; it is sent with an HTML part in the frame of all mail
DRAFT_TYPES = (COMPOSE, TRANSACTIONAL, REPLY, FORWARD)


def check_sender(writing: Writing, address_id: int) -> None:
    """Raises Invalid unless mail can be sent from this address, by its own mail transport or the default one.

    0 is the default sender."""
    if not address_id:
        return
    address = writing.record("address", address_id)
    if address is None or address["worker_id"]:
        raise Invalid(
            f"reply_address_id: address {address_id} is the address of a worker; choose one of the service"
            if address is not None
            else f"reply_address_id: there is no address {address_id}",
            field="reply_address_id",
        )
    is_default = address_id == int(writing.setting("default_sender_id") or 0)
    if not (address["mail_transport_id"] or is_default or writing.setting("default_transport_id")):
        raise Invalid(
            f"reply_address_id: address {address_id} has no mail transport, and the service has no default one; set "
            f"mail_transport_id of the address, or choose a default one first",
            field="reply_address_id",
        )
