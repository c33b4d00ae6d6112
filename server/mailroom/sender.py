"""The author and the other addresses of a mail: their records, whether they are banned, or strangers to the ticket."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from server.access.actor import Actor
from server.context import Context
from server.contexts import ADDRESS
from server.dataclass import dataclass
from server.errors import Rejected
from server.mail import addresses, display_names, reply_names
from server.mail.parse import Mail
from server.mailroom.incoming import IncomingMail
from server.outbox.sender import default_sender
from server.people import address_names
from server.record_types.record_type import Record, RecordType
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store.statements import in_list, slot
from server.tickets import requesters

MAX_ADDED = 100  # recipients of one mail that become requesters, if the service is configured for that
MAX_SENT_LOOKED_AT = 20  # newest outgoing messages of a ticket whose recipients count as participants

Addresses = dict[str, Record]  # {lower-case email: record}


def known_addresses(reading: RecordReader, mail: Mail) -> Addresses:
    """The records of all addresses that a mail names; see records_of."""
    emails = [mail.sender, mail.from_address, mail.bounce.failed_address if mail.bounce else None]
    return records_of(reading, [*emails, *(each.address for each in mail.senders), *everybody(mail)])


def records_of(reading: RecordReader, emails: Iterable[str | None]) -> Addresses:
    """The existing records of these addresses, and of the base addresses of plus addresses; each with `is_own`: whether
    the service sends from it, so that mail to it arrives here. One statement."""
    variants = {each for name in emails if name for each in (name, addresses.without_plus(name))}
    address, bucket, group = map(reading.registry.type, ("address", "bucket", "group"))
    table, places = address.table, (bucket.table.sql, group.table.sql)

    def build() -> Any:
        is_own = (table.sql.mail_transport_id > 0) | (table.sql.id == slot(1))
        for place in places:
            sending = place.select(place.reply_address_id).where(place.reply_address_id > 0)
            is_own |= table.sql.id.in_(sending)
        return table.sql.select(*table.all_columns, is_own).where(in_list(table.sql.email, slot(0)))

    rows = reading.tx.rows(build, (json.dumps(sorted(variants)), default_sender(reading.tx)))
    return {record["email"].lower(): record for record in (_record(address, row) for row in rows)}


def _record(address: RecordType, row: tuple[Any, ...]) -> Record:
    return {**address.record(row[:-1]), "is_own": bool(row[-1])}


def is_own(address_records: Addresses, email: str) -> bool:
    """Whether mail to this address arrives here, including plus addresses of our own addresses."""
    record = address_records.get(email) or address_records.get(addresses.without_plus(email))
    return record is not None and bool(record["is_own"])


def recipients(mail: Mail) -> list[str]:
    """All recipients according to the author and the mail servers, without repetition."""
    return list(dict.fromkeys(each.address for each in (*mail.to, *mail.cc, *mail.delivered_to)))


def everybody(mail: Mail) -> list[str]:
    """The recipients, and then the addresses that forwarded it, without repetition."""
    return list(dict.fromkeys((*recipients(mail), *(each.address for each in mail.routed_to))))


def resolve(incoming: IncomingMail, address_records: Addresses) -> IncomingMail:
    """Replaces a sender that is an address of this service, as mailing lists, contact forms and shared mailboxes write
    it, with the first other one in Reply-To or From. If there is no other one, the sender stays."""
    mail = incoming.mail
    if mail.sender is None or not is_own(address_records, mail.sender):
        return incoming
    other = next((each for each in mail.senders if not is_own(address_records, each.address)), None)
    if other is None:
        return incoming
    list_name = next((name for name, address in mail.senders if address == mail.from_address), "")
    name = other.name or (
        display_names.without_list(list_name) if is_own(address_records, mail.from_address or "") else ""
    )
    return replace(incoming, mail=replace(mail, sender=other.address, sender_name=name))


def refuse_banned(sender: Record | None) -> None:
    """Raises Rejected for mail from a banned sender."""
    if sender is not None and sender["is_banned"]:
        raise Rejected(
            f"email from {sender['email']} is refused: the address is banned", field="message", is_unwanted=True
        )


def address_of_sender(writing: RecordWriter, address_records: Addresses, email: str) -> Record:
    """The sender's record, created if necessary. Clears its defunct mark, since the sender can evidently use it."""
    record = address_records.get(email) or requesters.address_of(writing, email)
    if record["is_defunct"]:
        writing.update("address", record["id"], {"is_defunct": 0})
    return record


def as_author(writing: RecordWriter, sender: Record, name: str = "") -> RecordWriter:
    """Returns a writer for the same transaction with the address as actor. name: from the mail, shown if the address
    has none yet."""
    name = "" if sender["worker_id"] else address_names.name_of(writing, sender) or name
    label = f"{name} <{sender['email']}>" if name else sender["email"]
    author = Actor(ADDRESS, sender["id"], False, writing.actor.timezone, label)
    return RecordWriter(writing.ctx.as_actor(author, writing.ctx.tz), writing.tx)


@dataclass(frozen=True, slots=True)
class Author:
    """The author of a mail. address: its record, with `worker_id` 0 unless the mail is proven to come from that worker.
    notes: evidence against it. is_forged: there is evidence against it, not just none for it. is_workers: the address
    belongs to a worker, proven or not."""

    address: Record
    notes: tuple[str, ...] = ()
    is_forged: bool = False
    is_workers: bool = False


def author_of(ctx: Context, incoming: IncomingMail, sender: Record, address_records: Addresses) -> Author:
    """The author of a mail with this sender. Anybody can write an address into From."""
    if not sender["worker_id"]:
        return Author(sender)
    forged = forgery_notes(incoming, sender, address_records)
    if not forged and is_proven(ctx, incoming, sender["worker_id"]):
        return Author(sender, is_workers=True)
    notes = forged or [f"{sender['email']} is a worker's, and nothing proves that the worker wrote this"]
    return Author({**sender, "worker_id": 0}, tuple(notes), bool(forged), is_workers=True)


def handed_in_notes(ctx: Context) -> tuple[str, ...]:
    """Notes on a mail that a worker handed in; administrators hand in the mail of their mail servers."""
    actor = ctx.actor
    if not actor.worker_id or actor.is_admin:
        return ()
    return (f"{actor.name or 'a worker'} (worker {actor.worker_id}) submitted this through the API",)


def is_proven(ctx: Context, incoming: IncomingMail, worker_id: int) -> bool:
    """Whether mail from a worker's address is genuine: the worker handed it in, or our own mail server confirms the
    domain of its From. Such a confirmation does not count in mail that workers hand in."""
    if ctx.actor.worker_id and not ctx.actor.is_admin:
        return ctx.actor.worker_id == worker_id
    return incoming.dmarc.result == "pass"


def may_answer_as(ctx: Context, worker_id: int) -> bool:
    """Whether the actor who hands in a mail may submit a worker's reply: mail servers, administrators, and the
    worker."""
    return not ctx.actor.worker_id or ctx.actor.is_admin or ctx.actor.worker_id == worker_id


def forgery_notes(incoming: IncomingMail, sender: Record, address_records: Addresses) -> list[str]:
    """Evidence against a mail that claims to come from a worker: the server's verdict, several authors in From, or a
    worker named in another header only. sender: an address."""
    if not sender["worker_id"]:
        return []
    notes = []
    if incoming.dmarc.result == "fail":
        notes.append(f"{sender['email']} is a worker's, but the email failed DMARC at {incoming.dmarc.host}")
    if not incoming.mail.has_one_author:
        notes.append(f"{sender['email']} is a worker's, but From names more than one address")
    writer = address_records.get(incoming.mail.from_address or "")
    if writer is None or writer["worker_id"] != sender["worker_id"]:
        notes.append(
            f"{sender['email']} is a worker's, but only another header than From names it; From says "
            f"{incoming.mail.from_address or 'nobody'}"
        )
    return notes


def organization_of(writing: RecordWriter, sender: Record) -> int:
    """The organization of the address, else that of its contact, else 0."""
    if sender["org_id"] or not sender["contact_id"]:
        return int(sender["org_id"])
    contact = writing.record("contact", sender["contact_id"])
    return int(contact["org_id"]) if contact else 0


def first_requesters(
    writing: RecordWriter, incoming: IncomingMail, sender: Record, address_records: Addresses
) -> list[int]:
    """The ids of the requesters of a new ticket: the sender, and the recipients if the service is configured for that;
    without our own addresses and excluded ones."""
    patterns = writing.setting("mail_exclude_patterns")
    is_ours = is_own(address_records, sender["email"]) or not requesters.may_request(sender, patterns)
    requesters_of_ticket = [] if is_ours else [sender]
    if writing.setting("mail_add_recipients"):
        for email in recipients(incoming.mail)[:MAX_ADDED]:
            if is_own(address_records, email) or reply_names.NAME.search(email):
                continue
            record = address_records.get(email)
            if record is None and requesters.participants.may_request(email, patterns):
                record = requesters.address_of(writing, email)
            if record is not None and requesters.may_request(record, patterns):
                requesters_of_ticket.append(record)
    return list(dict.fromkeys(record["id"] for record in requesters_of_ticket))


def is_stranger(writing: RecordWriter, ticket: Record, sender: Record) -> bool:
    """Whether an author has no part in a ticket: is not a requester or worker, has written no message on it, and got
    none of its mail. Knowledge of a mask or an id makes nobody a participant."""
    tx, ticket_id, sender_id = writing.tx, ticket["id"], sender["id"]
    if sender["worker_id"] or requesters.is_requester(tx, ticket_id, sender_id):
        return False
    message = writing.registry.type("message").table
    # Messages of the service do not count: their sender is our own address, which anybody can write into From.
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
