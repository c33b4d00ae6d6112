"""The recipients of a reply: the requested ones, else the requesters who may get mail."""

import re

from server.errors import Required
from server.mail import automatic
from server.mail.addresses import NamedAddress
from server.mail.headers import Head
from server.outbox.sender import default_sender
from server.record_types.record_type import Record
from server.records.reading import RecordReader
from server.tickets import requesters
from server.tickets.letter import Recipients
from server.tickets.request_values import ReplyRequest

NOBODY = re.compile(r"(?:mailer-daemon|postmaster)@", re.IGNORECASE)
ONE_ANSWER_SECONDS = 86400  # minimum time between automatic replies by automations to one address on a ticket
MAX_LOOKED_AT = 200  # newest automatic replies of the ticket that are searched


def recipients_of(reading: RecordReader, request: ReplyRequest, ticket: Record, answered: Head) -> Recipients:
    """Returns the recipients of a reply. Raises Required if there are none.

    An automatic reply without recipients is not an error: the message is stored as not sent."""
    if request.to:
        return Recipients(request.to, request.cc, request.bcc)
    to: list[NamedAddress] = []
    notes: list[str] = []
    senders = {default_sender(reading.tx), *_senders_of(reading, ticket)}
    for id in requesters.ids_of(reading.tx, ticket["id"]):
        address = reading.record("address", id)
        if address is None or address["mail_transport_id"] or id in senders or NOBODY.match(address["email"]):
            continue
        if address["is_defunct"]:
            notes.append(f"not sent to {address['email']}: email to it bounced")
            continue
        to.append(NamedAddress("", address["email"]))
    if not to and not request.dont_send and not request.is_autoreply:
        reason = f"; {'; '.join(notes)}" if notes else ""
        raise Required(f"to is required: the ticket has no requester that email can be sent to{reason}", field="to")
    if request.is_autoreply:
        may = not automatic.wants_no_answer(answered)
        to = [each for each in to if may and _may_answer(reading, each.address, ticket)]
        if not to:
            return Recipients((), notes=(*notes, "not sent: automatic replies are turned off here"))
    return Recipients(tuple(to), request.cc, request.bcc, tuple(notes))


def _senders_of(reading: RecordReader, ticket: Record) -> set[int]:
    """The sender addresses of a ticket's group and bucket."""
    places = (reading.record("group", ticket["group_id"]), reading.record("bucket", ticket["bucket_id"]))
    return {place["reply_address_id"] for place in places if place is not None}


def _may_answer(reading: RecordReader, email: str, ticket: Record) -> bool:
    if automatic.takes_no_answer(email):
        return False
    return reading.ctx.depth == 0 or not _was_answered(reading, email, ticket)


def _was_answered(reading: RecordReader, email: str, ticket: Record) -> bool:
    """Whether the address recently had an automatic reply on this ticket."""
    message = reading.registry.type("message")
    rows = reading.tx.find(message.table, ticket_id=ticket["id"], is_autoreply=1)[-MAX_LOOKED_AT:]
    for row in rows:
        reply = message.record(row)
        is_recent = reply["created"] > reading.now - ONE_ANSWER_SECONDS
        if is_recent and not reply["is_not_sent"] and email.lower() in requesters.recipients_in(reply["headers"]):
            return True
    return False
