"""Processes a raw mail step by step; all changes are in one transaction."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

from server.context import Context
from server.contexts import MESSAGE, TICKET
from server.dataclass import dataclass
from server.errors import Rejected
from server.mail import addresses, display_names, forwarded
from server.mailroom import bounces, flood, mail_filter, naming, repeats, routing, storing, threading, worker_replies
from server.mailroom import earlier_mail as histories
from server.mailroom import incoming as reading
from server.mailroom import sender as senders
from server.mailroom.earlier_mail import History
from server.mailroom.incoming import IncomingMail
from server.mailroom.mail_filter import FilteredMail, FormOrigin
from server.mailroom.sender import Addresses, Author
from server.mailroom.threading import ReferencedMessage, Thread
from server.mailroom.worker_replies import WorkerReply
from server.record_types.record_type import Record
from server.records import event_publishing
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store import blobs
from server.store.database import NotOnWriter
from server.store.transaction import Transaction
from server.tickets import acknowledging, assignment, requesters
from server.tickets.types.ticket_parts.status import DELETED, OPEN

Outcome = Literal["stored", "duplicate", "ignored"]
ACKNOWLEDGED_SECONDS = (
    3 * 86400
)  # no acknowledgement for older mail, such as in a mailbox that is read for the first time
QUICK_BYTES = 8 * 1024  # size of a mail that is processed while others wait
_MORE = (b"multipart/", b"message/", b"application/", b"html", b"\x1b")  # content other than plain text
_ASKED = (mail_filter.FILTER, mail_filter.ROUTE)
ATTACHED_MAIL = ("message/rfc822", "message/global")
NAMED = 3  # messages with the same id that a note lists


@dataclass(frozen=True, slots=True)
class Receipt:
    """The outcome of a mail. stored: message_id is its message. duplicate: the message of the earlier copy. ignored:
    nothing was stored; its ticket and the newest message there, 0 and "" for none. A worker's reply by mail has no
    incoming message: message_id is the newest before it. is_readable: whether the actor who handed the mail in may read
    the ticket."""

    ticket_id: int
    mask: str
    message_id: int
    is_new_ticket: bool
    outcome: Outcome
    is_readable: bool = True


def receive(
    ctx: Context,
    raw: bytes,
    along: Callable[[Transaction], None] | None = None,
    *,
    history: History | None = None,
) -> Receipt:
    """Stores a mail, with any line ends, as a new ticket or on the ticket that it replies to.

    along: runs in the same transaction, for changes that must happen if and only if the mail is stored; it may run more
    than once. history: see `ready`. The endpoint checks the caller's rights. Parts that cannot be parsed are preserved
    and noted on the message. Raises Required for an empty mail, TooLarge above max_mail_bytes, Rejected without a
    usable sender, for a banned one, and for a new ticket if no group accepts it."""
    take = ready(ctx, raw, history=history)

    def write(tx: Transaction) -> Receipt:
        received = take(tx)
        if along is not None:
            along(tx)
        return received

    return ctx.service.store.write(write)


def ready(
    ctx: Context,
    raw: bytes,
    *,
    history: History | None = None,
    place: Mapping[str, Any] | None = None,
    form: FormOrigin | None = None,
) -> Callable[[Transaction], Receipt]:
    """Prepares a mail and returns its write. Both raise the errors of receive.

    history: set for mail that was handled elsewhere; all records get the time of its Date. place: set for a new ticket,
    whatever ticket the mail may refer to; {} if the mail decides on its group. form: the contact form by which it
    came."""
    by, incoming = _read(ctx, raw)
    if place is not None and (incoming.references or incoming.masks):
        incoming = replace(incoming, references=(), masks=())
    filtered = mail_filter.apply_filters(by, incoming)
    filtered = replace(filtered, history=history, form=form, place=place or filtered.place)
    if history is not None:
        by = replace(by, now=histories.instant(incoming, ctx.now))
    return lambda tx: _take(by, tx, filtered)


def quick(ctx: Context, raw: bytes) -> Callable[[], Receipt] | None:
    """Returns the remaining step of receive for a short plain-text mail without automations, which is fast enough for
    the event loop; None for other mail. That step raises NotOnWriter if there is an automation by then."""
    if len(raw) > QUICK_BYTES or event_publishing.is_likely_bound(ctx, *_ASKED):
        return None
    lower = raw.lower()
    if any(more in lower for more in _MORE):
        return None
    by, incoming = _read(ctx, raw)

    def write(tx: Transaction) -> Receipt:
        if not event_publishing.bound(tx).isdisjoint(_ASKED):
            raise NotOnWriter("an automation processes this email first")
        return _take(by, tx, FilteredMail(incoming))

    return lambda: ctx.service.store.write(write)


def _read(ctx: Context, raw: bytes) -> tuple[Context, IncomingMail]:
    """The operation that the mail triggers, and the mail. Raises the errors of receive."""
    incoming = reading.read(ctx.service, raw, ctx.now)
    if incoming.mail.sender is None:
        raise Rejected("the email has no sender; add a From header with an address", field="message")
    is_by_machine = ctx.is_by_machine or incoming.mail.is_machine_written
    by = ctx if is_by_machine == ctx.is_by_machine else replace(ctx, is_by_machine=is_by_machine)
    return by, incoming


def _take(ctx: Context, tx: Transaction, filtered: FilteredMail) -> Receipt:
    """Stores a mail. The response reveals nothing of a ticket that its submitter may not read."""
    receipt, reading = _take_in(ctx, tx, filtered), RecordReader(ctx, tx)
    is_readable = not receipt.ticket_id or reading.may_read("ticket", receipt.ticket_id)
    return receipt if is_readable else replace(receipt, is_readable=False)


def _take_in(ctx: Context, tx: Transaction, filtered: FilteredMail) -> Receipt:
    writing = RecordWriter(ctx, tx)
    addresses = senders.known_addresses(writing, filtered.incoming.mail)
    notes = (*(filtered.form.notes if filtered.form is not None else ()), *senders.handed_in_notes(ctx))
    filtered = replace(filtered, incoming=senders.resolve(filtered.incoming, addresses), notes=notes)
    incoming, email = filtered.incoming, filtered.incoming.mail.sender or ""
    thread = threading.find(writing, incoming)
    if _is_own_mail(ctx, incoming, thread, addresses):
        return _ignored(writing, thread)
    senders.refuse_banned(addresses.get(email))
    reply = worker_replies.find(writing, incoming, addresses)
    if reply is not None:
        return _take_reply(writing, incoming, reply)
    again = _again(ctx, writing, incoming, _same(writing, incoming, thread, addresses.get(email)))
    if again is not None:
        return again
    sender = senders.address_of_sender(writing, addresses, email)
    if filtered.org_id is not None:
        mail_filter.write_organization(writing, filtered.org_id, sender)
        sender = {**sender, "org_id": filtered.org_id}
    if incoming.mail.is_automatic and flood.is_too_much(tx, sender["id"], ctx.now):
        writing = RecordWriter(replace(ctx, is_untold=True), tx)
    author = senders.author_of(ctx, incoming, sender, addresses)
    name = display_names.clean(incoming.mail.sender_name, email)
    receipt = _store(senders.as_author(writing, sender, name), filtered, thread, author, addresses)
    naming.store_name(ctx, writing, incoming.mail, author, receipt.ticket_id)
    _log_handing_in(RecordWriter(ctx, tx), receipt, email)
    return receipt


def _log_handing_in(writing: RecordWriter, receipt: Receipt, email: str) -> None:
    """Logs who handed in a mail by another author, which the API allows workers."""
    if writing.actor.worker_id:
        label = writing.label("ticket", receipt.ticket_id)
        writing.log("ticket.message.handed_in", TICKET, receipt.ticket_id, {"sender": email, "target": label})


def _take_reply(writing: RecordWriter, incoming: IncomingMail, reply: WorkerReply) -> Receipt:
    """The outcome of a worker's reply: it has no incoming message; the outgoing one is sent once it is created."""
    ticket, is_done = worker_replies.take(writing, incoming, reply)
    outcome: Outcome = "stored" if is_done else "ignored" if reply.is_automatic else "duplicate"
    receipt = Receipt(ticket["id"], ticket["mask"], ticket["latest_message_id"], False, outcome)
    if is_done:
        _log_handing_in(writing, receipt, reply.email)
    return receipt


def _store(
    writing: RecordWriter, filtered: FilteredMail, thread: Thread, author: Author, addresses: Addresses
) -> Receipt:
    is_stranger, incoming, sender = False, filtered.incoming, author.address
    ticket = thread.ticket
    if ticket is None:
        ticket = _new_ticket(writing, filtered, sender, addresses)
    else:
        is_stranger = _reply(writing, filtered, thread, author, addresses)
    notes = [*author.notes, *_notes(thread), *filtered.notes]
    message_id = storing.message(
        writing,
        incoming,
        ticket["id"],
        sender,
        notes,
        is_stranger=is_stranger or author.is_forged,
        is_first=thread.ticket is None,
        forwarded_from=_forwarded_from(writing, incoming, thread, author),
        created=_place_in_time(writing, filtered, thread),
        form=filtered.form,
    )
    repeats.remember(writing.tx, incoming, message_id, writing.now)
    if filtered.history is not None and thread.ticket is not None and not incoming.mail.is_notice:
        histories.settle_reply(writing, thread.ticket)
    if thread.ticket is None and not author.is_workers and _gets_acknowledged(writing, filtered):
        acknowledging.begin(writing, ticket["id"], message_id, sender["id"])
    label = writing.registry.type("ticket").label(ticket)
    writing.log("ticket.message.inbound", TICKET, ticket["id"], {"target": label})
    mail_filter.write_customs(writing, filtered.customs, ticket["id"], message_id)
    event_publishing.publish(
        writing,
        "mail.received",
        {
            "is_new_ticket": thread.ticket is None,
            **event_publishing.record_values("message", MESSAGE, message_id),
        },
    )
    return Receipt(ticket["id"], ticket["mask"], message_id, thread.ticket is None, "stored")


def _forwarded_from(writing: RecordWriter, incoming: IncomingMail, thread: Thread, author: Author) -> str:
    """The author of a mail that a worker forwards as a new ticket, "" for other mail."""
    if thread.ticket is not None or not author.is_workers:
        return ""
    attached = (file.content for file in incoming.mail.files if file.mime_type in ATTACHED_MAIL)
    original_author = forwarded.author_of(incoming.subject, incoming.text, attached)
    if original_author is None or original_author.address == author.address["email"]:
        return ""
    if senders.is_own(senders.records_of(writing, [original_author.address]), original_author.address):
        return ""
    name = original_author.name.replace('"', "")
    return f'"{name}" <{original_author.address}>' if name else original_author.address


def _place_in_time(writing: RecordWriter, filtered: FilteredMail, thread: Thread) -> int:
    """The time of the message in its ticket: its arrival, whatever the sender's clock says, and never before the
    message that it replies to."""
    return max(writing.now, thread.answered.created) if thread.answered else writing.now


def _new_ticket(writing: RecordWriter, filtered: FilteredMail, sender: Record, address_records: Addresses) -> Record:
    incoming = filtered.incoming
    emails = senders.everybody(incoming.mail)
    written = (email for name in emails for email in (name, addresses.without_plus(name)))
    recipient_ids = [address_records[email]["id"] for email in dict.fromkeys(written) if email in address_records]
    place = (
        {"group_id": filtered.history.group_id} if filtered.history is not None and filtered.history.group_id else None
    )
    place = place or mail_filter.place_of(writing, filtered.place) or routing.place_of(writing, recipient_ids)
    status: dict[str, Any] = {"status_id": OPEN}
    if filtered.history is not None:
        status = {"status_id": filtered.history.status_id, assignment.FIELD: assignment.NOBODY}
    ticket = storing.new_ticket(
        writing, incoming, place | status, senders.organization_of(writing, sender), sender["id"]
    )
    requester_ids = senders.first_requesters(writing, incoming, sender, address_records)
    requesters.add(writing, ticket["id"], requester_ids, is_new_ticket=True)
    if filtered.history is not None:
        histories.settle_new_ticket(writing, ticket["id"])
    return ticket


def _gets_acknowledged(writing: RecordWriter, filtered: FilteredMail) -> bool:
    """Whether a group may acknowledge the first mail of a ticket: it is recent and comes from outside. The headers that
    suppress automatic replies are checked when the acknowledgement is sent."""
    mail = filtered.incoming.mail
    is_past = filtered.history is not None or mail.date < writing.now - ACKNOWLEDGED_SECONDS
    return not (is_past or mail.is_automatic or writing.ctx.is_untold)


def _reply(writing: RecordWriter, filtered: FilteredMail, thread: Thread, author: Author, addresses: Addresses) -> bool:
    """Reopens the ticket, except for an absence notice, or a stranger's mail to a deleted ticket; returns whether the
    sender is a stranger to it."""
    ticket, mail = thread.ticket, filtered.incoming.mail
    assert ticket is not None
    is_ours = mail.bounce is not None and bounces.is_ours(writing, mail.bounce, thread, addresses)
    if mail.bounce is not None and is_ours:
        bounces.mark_failed(writing, mail.bounce, addresses)
    is_stranger = not is_ours and (author.is_forged or senders.is_stranger(writing, ticket, author.address))
    is_past = filtered.history is not None
    if not (is_past or mail.is_notice or (is_stranger and ticket["status_id"] == DELETED)):
        storing.reopen(writing, ticket)
    return is_stranger


def _is_own_mail(ctx: Context, incoming: IncomingMail, thread: Thread, addresses: Addresses) -> bool:
    """Whether a mail of this service came back to it: automatic mail, or mail from one of its own addresses to
    itself."""
    mail = incoming.mail
    if mail.loop_token == ctx.service.installation and mail.auto_submitted:
        return True
    writer = addresses.get(mail.from_address or "")
    is_own = writer is not None and writer["is_own"]
    return is_own and any(copy.is_outgoing for copy in thread.copies)


def _ignored(writing: RecordWriter, thread: Thread) -> Receipt:
    copy = next(iter(thread.copies), None)
    ticket = (threading.survivor(writing, copy.ticket_id) if copy else None) or thread.ticket
    if ticket is None:
        return Receipt(0, "", 0, False, "ignored")
    return Receipt(ticket["id"], ticket["mask"], copy.id if copy else ticket["latest_message_id"], False, "ignored")


def _again(
    ctx: Context, writing: RecordWriter, incoming: IncomingMail, copy: ReferencedMessage | None
) -> Receipt | None:
    """The receipt for a mail that is stored already, None for a new one."""
    message_id, ticket_id = (copy.id, copy.ticket_id) if copy else (0, 0)
    if not message_id:
        days = ctx.service.settings.mail_repeat_days
        message_id = repeats.find_repeat(writing.tx, incoming, ctx.now - days * repeats.DAY_SECONDS) if days else 0
        message = writing.record("message", message_id) if message_id else None
        ticket_id = message["ticket_id"] if message is not None else 0
    ticket = threading.survivor(writing, ticket_id) if ticket_id else None
    return Receipt(ticket["id"], ticket["mask"], message_id, False, "duplicate") if ticket is not None else None


def _same(
    writing: RecordWriter, incoming: IncomingMail, thread: Thread, sender: Record | None
) -> ReferencedMessage | None:
    """The message of an earlier copy: the same id, sender, words and files. Scanners and forms reuse one id for many
    mails."""
    of_sender = [copy for copy in thread.copies if sender is not None and copy.sender_id == sender["id"]]
    return next((copy for copy in of_sender if _says_the_same(writing, incoming, copy)), None)


def _says_the_same(writing: RecordWriter, incoming: IncomingMail, copy: ReferencedMessage) -> bool:
    if copy.body_digest and copy.body_digest == incoming.body_digest:
        return True
    message = writing.record("message", copy.id)
    if message is None:
        return False
    if not copy.body_digest:  # stored before digests existed
        return bool(message["content"].split() == incoming.text.split())
    # The digest may come from an earlier version of the parser.
    raw = writing.tx.first(blobs.BLOB, id=message["raw_blob_id"]) if message["raw_blob_id"] else None
    return raw is not None and raw[1] == hashlib.sha256(incoming.raw).hexdigest()


def _notes(thread: Thread) -> list[str]:
    """Notes for the message besides those of the parser."""
    if not thread.copies:
        return []
    ids = ", ".join(str(copy.id) for copy in thread.copies[:NAMED])
    return [f"the same Message-Id has arrived before, from another sender or with different text: message {ids}"]
