"""What record types know of mail that is sent: types of drafts, and the addresses that groups and buckets send from."""

from server.errors import Invalid
from server.records.parts import Writing

COMPOSE, REPLY, FORWARD, TRANSACTIONAL = "mail.compose", "ticket.reply", "ticket.forward", "mail.transactional"
UNTIL_ANSWERED = "until_answered"  # of the params of a draft: it does not leave when a requester writes first
LETTER = "letter"  # the format of plain text that the service writes: it has an HTML part, in the frame of all mail
DRAFT_TYPES = (COMPOSE, TRANSACTIONAL, REPLY, FORWARD)


def check_sender(writing: Writing, address_id: int) -> None:
    """Mail can be sent from this address: it has a mail transport. 0 is none. Raises Invalid."""
    if not address_id:
        return
    address = writing.record("address", address_id)
    if address is None or not address["mail_transport_id"]:
        raise Invalid(
            f"reply_address_id: address {address_id} has no mail transport; give it one in mail_transport_id first",
            field="reply_address_id",
        )
