"""Reply: an outgoing message on an existing ticket, and the changes it makes to the ticket."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from server.context import Context
from server.dataclass import dataclass
from server.errors import Invalid
from server.mail import subject_marks
from server.mail.headers import Head, header_value, ids_in
from server.mail.mail_bytes import references_of_reply, subject_of_forward, subject_of_reply
from server.mail.mask import masks_in
from server.outbox import delivery, queue_rows
from server.outbox.content import Body, body_of
from server.outbox.deliver import MailSpec
from server.outbox.delivery import Delivery
from server.outbox.sending import send_and_wait
from server.record_types.record_type import Record
from server.record_types.shared.sending_addresses import FORWARD, REPLY
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.tickets import drafts, forwarding, letter, quoting, reply_limits, requesters, send_filter, spam
from server.tickets.compose import SendResult
from server.tickets.forwarding import ForwardedMessage
from server.tickets.letter import MailFacts, Recipients
from server.tickets.mail_loops import answers_machine, is_unsent
from server.tickets.quoting import QuotedMessage
from server.tickets.recipients import recipients_of
from server.tickets.request_values import ReplyRequest, reply_request
from server.tickets.types.message_parts import stored_headers

Also = Callable[[RecordWriter], None]


@dataclass(frozen=True, slots=True)
class ReplyData:
    """The data read from the database.

    request: completed with the parts that a forward adds. answered: the message replied to. changes: columns of the
    ticket to change. original: the message that a forward includes, else the messages to quote. foreign_marks: ticket
    numbers of another helpdesk in the subject replied to. ticket_url: the address of the ticket for its customers, ""
    if the email does not contain it."""

    request: ReplyRequest
    answered: Record
    ticket: Record
    fields: Head
    facts: MailFacts
    recipients: Recipients
    changes: dict[str, Any]
    original: ForwardedMessage | tuple[QuotedMessage, ...]
    foreign_marks: tuple[str, ...] = ()
    ticket_url: str = ""


@dataclass(frozen=True, slots=True)
class ReplyPlan:
    """A reply with the data read for it and the mail built from it."""

    request: ReplyRequest
    read: ReplyData
    body: Body
    mail: MailSpec

    @property
    def is_mailed(self) -> bool:
        return not self.request.dont_send and not self.read.recipients.is_empty


def reply(ctx: Context, values: Mapping[str, Any], also: Also | None = None, check: Also | None = None) -> SendResult:
    """Replies to a message as a worker. Returns ("ticket", id) whether the mail was sent at once, is scheduled, or
    could not be sent yet.

    values: form values by name. also: called in the same transaction after the reply is written; if it raises, the
    reply is rolled back. check: called in the same transaction before anything is written; raises to forbid the reply.
    Raises Required, Invalid, Forbidden, AdminOnly, TooLarge."""
    request = reply_request(ctx, values)
    prepared = prepare(ctx, request)
    letter.require_status(ctx, request, prepared.read.facts.group)
    if prepared.is_mailed:
        changed = send_filter.apply_filters(ctx, lambda: _draft_values(prepared), leaves_now=not request.send_at)
        if changed is not None:
            prepared = prepare(ctx, _as_changed(ctx, prepared, changed))
    if request.send_at and prepared.is_mailed:
        return _schedule(ctx, prepared, also, check)

    def write(tx: Transaction) -> tuple[int, str]:
        if check is not None:
            check(RecordWriter(ctx, tx))
        saved = save(RecordWriter(ctx, tx), prepared)
        if also is not None:
            also(RecordWriter(ctx, tx))
        return saved

    draft_id, claim = ctx.service.store.write(write)
    if claim:
        send_and_wait(ctx.service, draft_id, claim, ctx.now)
    return SendResult("ticket", prepared.read.ticket["id"], _delivery(ctx, prepared, draft_id))


def _delivery(ctx: Context, prepared: ReplyPlan, draft_id: int) -> Delivery:
    if draft_id:
        return delivery.of_draft(ctx, draft_id)
    return delivery.kept(*prepared.read.recipients.notes)


def _as_changed(ctx: Context, prepared: ReplyPlan, draft: Record) -> ReplyRequest:
    """Returns the request as automations changed its draft. An unchanged owner is not set again, because another worker
    may have taken over the ticket since."""
    request = prepared.request
    changed = replace(drafts.reply_of(ctx, draft), worker_id=request.worker_id)
    if changed.owner_id == prepared.read.ticket["owner_id"]:
        return replace(changed, owner_id=request.owner_id)
    return changed


def prepare(ctx: Context, request: ReplyRequest, is_checked: bool = False) -> ReplyPlan:
    """Checks a request against the database and builds the mail. is_checked: skip permission checks, which an earlier
    step made."""
    data = ctx.service.store.read(lambda tx: _read(RecordReader(ctx, tx), request, is_checked))
    request, voice, base_url = data.request, data.facts.voice, ctx.service.base_url
    if isinstance(data.original, ForwardedMessage):
        original = forwarding.quotation_of(data.original, base_url, voice)
    else:
        original = quoting.quotation_of(data.original, base_url, voice)
    body = body_of(
        letter.with_request_url(request, data.facts, data.ticket_url), request.format, data.facts.signature, original
    )
    mail = _mail(ctx, request, data)
    if letter.has_own_files(ctx, body.html):
        inline = ctx.service.store.read(lambda tx: letter.inline_files(RecordReader(ctx, tx), body.html))
        mail = replace(mail, inline_ids=inline)
    return ReplyPlan(request, data, body, mail)


def save(writing: RecordWriter, prepared: ReplyPlan, draft_id: int = 0) -> tuple[int, str]:
    """Changes the ticket, stores the message and queues the mail.

    Returns the draft id (0 for none) and the claim to send it with. draft_id: the scheduled draft, claimed by the
    caller."""
    if prepared.is_mailed and prepared.request.is_autoreply:
        allowed = reply_limits.record_replies(writing, prepared.read.recipients)
        prepared = replace(prepared, read=replace(prepared.read, recipients=allowed))
    request, data = prepared.request, prepared.read
    ticket_id, mail = data.ticket["id"], prepared.mail
    if not request.is_applied:
        _apply(writing, prepared)
    message_id = 0
    if data.recipients.is_unsent or data.recipients.is_empty or not request.dont_keep_copy:
        message_id = letter.store_message(
            writing,
            mail,
            prepared.body,
            data.recipients,
            ticket_id,
            {
                "worker_id": request.worker_id,
                "is_not_sent": int(not prepared.is_mailed),
                "is_broadcast": int(request.is_broadcast),
                "is_forward": int(request.is_forward),
                "response_time": 0
                if request.is_autoreply or request.is_forward
                else _response_seconds(writing.now, data),
                "notes": json.dumps(data.recipients.notes),
            },
        )
    else:
        mail = replace(mail, text=prepared.body.text, html=prepared.body.html or "")
    letter.log_sent(writing, ticket_id, writing.label("ticket", ticket_id))
    if not request.is_autoreply:
        spam.train(writing, ticket_id, spam.GOOD)
    if not prepared.is_mailed:
        return 0, ""
    return letter.queue(writing, mail, data.facts.way, _draft_values(prepared), message_id, draft_id)


# -- read --------------------------------------------------------------------------------------------------------------


def _read(reading: RecordReader, request: ReplyRequest, is_checked: bool) -> ReplyData:
    answered = reading.record("message", request.message_id)
    ticket = reading.record("ticket", answered["ticket_id"]) if answered else None
    if answered is None or ticket is None:
        raise Invalid(f"message_id: there is no message {request.message_id}", field="message_id")
    if not is_checked:
        tickets = reading.registry.type("ticket")
        reading.rules.require(reading.tx, "read", tickets, ticket)
        reading.rules.require(reading.tx, "update", tickets, ticket)
    if request.is_forward:
        request = forwarding.complete_request(reading, request, answered)
    letter.check_ids(reading, request)
    if request.worker_id and not reading.lookup.exists("worker", request.worker_id):
        raise Invalid(f"worker_id: there is no worker {request.worker_id}", field="worker_id")
    group_id, bucket_id = request.group_id, request.bucket_id
    moves = bool(group_id or bucket_id)
    if not moves:
        group_id, bucket_id = ticket["group_id"], ticket["bucket_id"]
    group, bucket = letter.place_of(reading, group_id, bucket_id)
    if moves and not is_checked:
        letter.require_group(reading.ctx, group)
    fields = stored_headers.head(answered["headers"])
    facts = letter.facts_of(reading, request, group, bucket, request.worker_id, ticket_id=ticket["id"])
    original = (
        forwarding.read_message(reading, answered, ticket["subject"], request.has_html)
        if request.is_forward
        else quoting.read_messages(reading, answered, group, request.has_html)
        if quoting.is_quoting(request.content)
        else ()
    )
    return ReplyData(
        request,
        answered,
        ticket,
        fields,
        facts,
        _recipients(reading, request, ticket, answered),
        _changes(request, ticket, group, bucket),
        original,
        _foreign_marks(reading, ticket, answered, fields),
        "" if request.is_forward else letter.request_url(reading, group, ticket["mask"], request.content),
    )


def _recipients(reading: RecordReader, request: ReplyRequest, ticket: Record, answered: Record) -> Recipients:
    """The recipients, marked unsent if an automation replies to a program. A forward is not a reply."""
    ctx, fields = reading.ctx, stored_headers.head(answered["headers"])
    recipients = recipients_of(reading, request, ticket, fields)
    sender = reading.label("address", answered["sender_id"])
    answers = not request.is_forward and answers_machine(ctx, answered, fields, sender)
    return recipients.unsent() if answers or is_unsent(ctx) else recipients


def _changes(request: ReplyRequest, ticket: Record, group: Record, bucket: Record | None) -> dict[str, Any]:
    """The columns of the ticket that a reply changes."""
    changes: dict[str, Any] = {"status_id": request.status or 0, "reopen_date": request.reopen_at}
    if request.named_status is not None:
        changes["status_name_id"] = request.named_status.id
    if request.owner_id is not None:
        changes["owner_id"] = request.owner_id
    if request.group_id or request.bucket_id:
        changes |= {"group_id": group["id"], "bucket_id": bucket["id"] if bucket else 0}
    subject = _without_mask(request.subject, ticket["mask"])
    if subject and not request.is_forward:
        changes["subject"] = subject
    return changes


def _without_mask(subject: str, mask: str) -> str:
    """The subject without the ticket mask, as stored on the ticket."""
    return re.sub(rf"\[[^\[\]]*#\s*{re.escape(mask)}\s*\]\s*", "", subject, flags=re.IGNORECASE).strip()


def _foreign_marks(reading: RecordReader, ticket: Record, answered: Record, fields: Head) -> tuple[str, ...]:
    """The ticket numbers of another helpdesk in the subject of an incoming message."""
    if answered["is_outgoing"]:
        return ()
    marks = subject_marks.marks_in(header_value(fields.first("subject")))
    return tuple(mark for mark in marks if not any(_is_ours(reading, ticket, mask) for mask in masks_in(mark)))


def _is_ours(reading: RecordReader, ticket: Record, mask: str) -> bool:
    return mask == ticket["mask"].upper() or reading.find("ticket", mask=mask) is not None


def _with_marks(subject: str, marks: Sequence[str]) -> str:
    """Adds missing marks to a subject.

    >>> _with_marks("Boat [4711]", ["[4711]", "[SUPPORT-8]"])
    'Boat [4711] [SUPPORT-8]'
    """
    return " ".join([subject, *(mark for mark in marks if mark.lower() not in subject.lower())])


def _mail(ctx: Context, request: ReplyRequest, data: ReplyData) -> MailSpec:
    settings, ticket = ctx.service.settings, data.ticket
    subject = request.subject or ticket["subject"]
    if request.is_forward:
        subject = request.subject or subject_of_forward(subject)
    else:
        subject = _with_marks(subject, data.foreign_marks)
        subject = subject_of_reply(subject, settings.subject_prefix, ticket["mask"], settings.subject_mask)
    mail = letter.mail_of(ctx, request, data.facts, subject, request.worker_id, ticket["id"])
    answered_id = data.answered["message_id"].strip("<> ")
    references = [each.strip("<>") for each in ids_in(" ".join(data.fields.all("references")))]
    return replace(
        mail,
        in_reply_to=answered_id,
        references=references_of_reply(references, answered_id) if answered_id else tuple(references),
        is_autoreply=request.is_autoreply,
    )


# -- written -----------------------------------------------------------------------------------------------------------


def _apply(writing: RecordWriter, prepared: ReplyPlan) -> None:
    """Makes the changes of a ticket that take effect at once, even if the mail leaves later."""
    request, data = prepared.request, prepared.read
    ticket_id = data.ticket["id"]
    if request.to and not request.is_forward:
        addresses = [requesters.address_of(writing, each.address) for each in request.to]
        requesters.add(writing, ticket_id, letter.requester_ids(writing, addresses))
    writing.update("ticket", ticket_id, data.changes)
    letter.write_customs(writing, ticket_id, data.facts.customs)


def _response_seconds(now: int, data: ReplyData) -> int:
    return max(now - max(data.answered["created"], data.ticket["created"]), 0)


def _draft_values(prepared: ReplyPlan) -> dict[str, Any]:
    request, data = prepared.request, prepared.read
    customs = letter.customs_as_sent(data.facts.customs, request.custom)
    recipients = data.recipients
    sent = replace(request, to=recipients.to, cc=recipients.cc, bcc=recipients.bcc)
    return {
        "type": FORWARD if request.is_forward else REPLY,
        "name": request.subject or data.ticket["subject"],
        "to": drafts.joined(recipients.to),
        "params": drafts.params_of(sent, customs, request.worker_id, data.ticket),
        "ticket_id": data.ticket["id"],
        "worker_id": request.worker_id,
    }


def _schedule(ctx: Context, prepared: ReplyPlan, also: Also | None, check: Also | None) -> SendResult:
    """Applies status, owner, move, requesters and custom fields now and schedules the mail."""
    request, ticket_id = prepared.request, prepared.read.ticket["id"]
    values = _draft_values(prepared)
    params = values["params"] | {"is_applied": 1}

    def write(tx: Transaction) -> int:
        writing = RecordWriter(ctx, tx)
        if check is not None:
            check(writing)
        _apply(writing, prepared)
        writing.set("ticket", ticket_id, {"updated": ctx.now})
        due = {"is_queued": 1, "queue_delivery_date": request.send_at}
        id = writing.create("draft", {**values, "params": params, **due})
        queue_rows.put(tx, id, {"checked": queue_rows.digest(params)})
        if also is not None:
            also(RecordWriter(ctx, tx))
        ctx.service.wake_after(tx)
        return id

    draft_id = ctx.service.store.write(write)
    return SendResult("ticket", ticket_id, delivery.of_draft(ctx, draft_id))
