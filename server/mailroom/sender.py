"""Who wrote a mail, and who else it names: their address records, whether they are welcome or strangers to the ticket.

Source: Mail, Sender and recipients; Security, Mail in."""

import json
from typing import Any

from server.access.actor import Actor
from server.contexts import ADDRESS
from server.desk.reading import RecordReader
from server.desk.writing import RecordWriter
from server.errors import Rejected
from server.mail.parse import Mail
from server.mailroom.incoming import IncomingMail
from server.records.base import Record
from server.store.statements import in_list, slot
from server.tickets import requesters

MAX_ADDED = 100  # recipients of one mail that become requesters, where the service is set so
MAX_SENT_LOOKED_AT = 20  # messages sent on a ticket whose recipients are known there, the newest first

Addresses = dict[str, Record]  # by lower-case email


def known_addresses(reading: RecordReader, mail: Mail) -> Addresses:
    """The records of all addresses that a mail names, where there are any. One statement."""
    named = [mail.sender, mail.from_address, mail.bounce.failed_address if mail.bounce else None, *recipients(mail)]
    address = reading.registry.type("address")
    table = address.table
    rows = reading.tx.rows(
        lambda: table.sql.select(*table.all_columns).where(in_list(table.sql.email, slot(0))),
        (json.dumps([each for each in dict.fromkeys(named) if each]),),
    )
    return {record["email"].lower(): record for record in map(address.record, rows)}


def recipients(mail: Mail) -> list[str]:
    """Everybody that the mail went to, as far as it says, none twice."""
    return list(dict.fromkeys(each.address for each in (*mail.to, *mail.cc, *mail.delivered_to)))


def refuse_banned(sender: Record | None) -> None:
    """Raises Rejected for mail from a banned sender."""
    if sender is not None and sender["is_banned"]:
        raise Rejected(
            f"mail from {sender['email']} is not taken: the address is banned", field="message", is_unwanted=True
        )


def address_of_sender(writing: RecordWriter, known: Addresses, email: str) -> Record:
    """The sender's record, made when there is none. Whoever writes can be written to again.

    Source: Mail, Sender."""
    record = known.get(email) or requesters.address_of(writing, email)
    if record["is_defunct"]:
        writing.update("address", record["id"], {"is_defunct": 0})
    return record


def as_author(writing: RecordWriter, sender: Record) -> RecordWriter:
    """The same transaction in the name of the address: what follows was done by the one who wrote the mail."""
    author = Actor(ADDRESS, sender["id"], False, writing.actor.timezone, sender["email"])
    return RecordWriter(writing.ctx.as_actor(author, writing.ctx.tz), writing.tx)


def forgery_note(incoming: IncomingMail, sender: Record, known: Addresses) -> list[str]:
    """What is to be noted where a mail claims to be a worker's and is not: its server says so, or only Reply-To names
    the worker. sender: an address. Source: Security, M6; ours."""
    if not sender["worker_id"]:
        return []
    found = []
    if incoming.dmarc_failed_at:
        found.append(f"{sender['email']} is a worker's, but the mail failed DMARC at {incoming.dmarc_failed_at}")
    writer = known.get(incoming.mail.from_address or "")
    if writer is None or writer["worker_id"] != sender["worker_id"]:
        found.append(
            f"{sender['email']} is a worker's, but only Reply-To names it; From says "
            f"{incoming.mail.from_address or 'nobody'}"
        )
    return found


def organization_of(writing: RecordWriter, sender: Record) -> int:
    """The organization of the address, else that of its contact, else 0."""
    if sender["org_id"] or not sender["contact_id"]:
        return int(sender["org_id"])
    contact = writing.record("contact", sender["contact_id"])
    return int(contact["org_id"]) if contact else 0


def first_requesters(writing: RecordWriter, incoming: IncomingMail, sender: Record, known: Addresses) -> list[int]:
    """The ids of the addresses that get the replies of a new ticket: the sender, and the recipients where the service
    is set so; never addresses of ours, nor excluded ones. Source: Mail, Requesters."""
    patterns = writing.setting("mail_exclude_patterns")
    found = [sender] if requesters.may_request(sender, patterns) else []
    if writing.setting("mail_add_recipients"):
        for email in recipients(incoming.mail)[:MAX_ADDED]:
            record = known.get(email)
            if record is None and requesters.participants.may_request(email, patterns):
                record = requesters.address_of(writing, email)
            if record is not None and requesters.may_request(record, patterns):
                found.append(record)
    return list(dict.fromkeys(record["id"] for record in found))


def is_stranger(writing: RecordWriter, ticket: Record, sender: Record) -> bool:
    """Whether somebody writes to a ticket who has had no part in it: no requester, no worker, wrote nothing on it
    before, and none of its mail was sent to them. Knowing a mask or an id makes nobody a participant.

    Source: Security, Mail in; decisions, a stranger who knows a mask or a Message-Id."""
    tx, ticket_id, sender_id = writing.tx, ticket["id"], sender["id"]
    if sender["worker_id"] or requesters.is_requester(tx, ticket_id, sender_id):
        return False
    message = writing.registry.type("message").table
    # What the desk sent does not count: it came from an address of ours, which anybody can put into From.
    if tx.first(message, ticket_id=ticket_id, is_outgoing=0, sender_id=sender_id, is_stranger=0) is not None:
        return False
    table: Any = message.sql
    sent = tx.rows(
        lambda: (
            table.select(table.headers)
            .where(table.ticket_id == slot(0), table.is_outgoing == 1)
            .order_by(table.id.desc())
            .limit(MAX_SENT_LOOKED_AT)
        ),
        (ticket_id,),
    )
    return not any(sender["email"].lower() in requesters.recipients_in(headers) for (headers,) in sent)
