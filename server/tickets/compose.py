"""Compose: creates a ticket with an outgoing message."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from server.context import Context
from server.dataclass import dataclass
from server.errors import Invalid
from server.mail.mail_bytes import subject_of_compose
from server.mail.mask import new_mask
from server.outbox import delivery, queue_rows
from server.outbox.content import Body, body_of, needs_ticket_url
from server.outbox.deliver import MailSpec
from server.outbox.delivery import Delivery
from server.outbox.sending import send_and_wait
from server.record_types.record_type import Record
from server.record_types.shared import brands
from server.record_types.shared.sending_addresses import COMPOSE
from server.records import activity
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.tickets import drafts, letter, requesters, send_filter, spam
from server.tickets.letter import TICKET, MailFacts, Recipients
from server.tickets.mail_loops import NOTE, is_unsent
from server.tickets.request_values import ComposeRequest, compose_request
from server.tickets.types.message_parts import counters
from server.tickets.types.ticket_parts import status_names
from server.tickets.types.ticket_parts.status import WORDS
from server.translation import N_, about_field

NO_REQUESTS = N_("names the address of the ticket, but customers of this group do not see their requests")


@dataclass(frozen=True, slots=True)
class SendResult:
    """The record that a send operation returns, a ticket or a queued draft, and the state of the mail."""

    uri: str
    id: int
    delivery: Delivery


@dataclass(frozen=True, slots=True)
class ComposePlan:
    """A compose request with the data read for it and the mail built from it. worker_id: the sending worker. mask:
    generated for the new ticket. request_url: its address for the customers, "" if they do not see their requests."""

    request: ComposeRequest
    facts: MailFacts
    body: Body
    mail: MailSpec
    worker_id: int
    mask: str
    request_url: str = ""


def compose(ctx: Context, values: Mapping[str, Any]) -> SendResult:
    """Creates a ticket and sends its first message. Returns ("ticket", id).

    Returns ("draft", id) if `send_at` is in the future, or if a mail server refused the mail; the mail is queued then.
    Mail that no mail server accepted or refused within two seconds, or for which there is no mail server, is queued
    too, but the result is the ticket, because the draft is deleted when the mail leaves.

    values: form values by name. Raises Required, Invalid, Forbidden, TooLarge."""
    request = compose_request(ctx, values)
    prepared = prepare(ctx, request, ctx.actor.worker_id)
    letter.require_status(ctx, request, prepared.facts.group)
    if not request.dont_send:
        recipients = Recipients(request.to, request.cc, request.bcc)
        changed = send_filter.apply_filters(
            ctx, lambda: _draft_values(prepared, recipients), leaves_now=not request.send_at
        )
        if changed is not None:
            prepared = prepare(ctx, drafts.compose_of(ctx, changed), ctx.actor.worker_id)
    if request.send_at:
        return _schedule(ctx, prepared)
    ticket_id, draft_id, claim = ctx.service.store.write(lambda tx: save(RecordWriter(ctx, tx), prepared))
    is_refused = bool(claim) and send_and_wait(ctx.service, draft_id, claim, ctx.now) is False
    result = delivery.of_draft(ctx, draft_id) if draft_id else delivery.kept(*([NOTE] if is_unsent(ctx) else []))
    return SendResult("draft", draft_id, result) if is_refused else SendResult("ticket", ticket_id, result)


def prepare(ctx: Context, request: ComposeRequest, worker_id: int, is_checked: bool = False) -> ComposePlan:
    """Checks a request against the database and builds the mail. is_checked: skip permission checks, which an earlier
    step made."""

    # Generated here rather than on the writer thread, which would block on the random numbers of the system.
    mask = new_mask(ctx.service.settings.mail_mask_pattern, today=datetime.fromtimestamp(ctx.now, UTC).date())

    def read(tx: Transaction) -> tuple[MailFacts, str]:
        reading = RecordReader(ctx, tx)
        if not is_checked:
            reading.rules.require_create(reading.registry.type("ticket"))
        group, bucket = letter.place_of(reading, request.group_id, request.bucket_id)
        if not is_checked:
            letter.require_group(ctx, group)
        letter.check_ids(reading, request)
        if request.org_id and not reading.lookup.exists("org", request.org_id):
            raise Invalid(f"org_id: there is no org {request.org_id}", field="org_id")
        url = brands.request_address(ctx.service, tx, group["id"], mask)
        if not url and needs_ticket_url(request.content):
            raise Invalid(about_field("content", NO_REQUESTS), field="content")
        return letter.facts_of(reading, request, group, bucket, worker_id, request_url=url), url

    facts, url = ctx.service.store.read(read)
    body = body_of(letter.with_request_url(request, facts, url), request.format, facts.signature, None)
    mail = letter.mail_of(ctx, request, facts, request.subject, worker_id, 0)
    if letter.has_own_files(ctx, body.html):
        inline = ctx.service.store.read(lambda tx: letter.inline_files(RecordReader(ctx, tx), body.html))
        mail = replace(mail, inline_ids=inline)
    return ComposePlan(request, facts, body, mail, worker_id, mask, url)


def save(writing: RecordWriter, prepared: ComposePlan, draft_id: int = 0) -> tuple[int, int, str]:
    """Creates the ticket and the message and queues the mail.

    Returns the ids of ticket and draft (0 for none) and the claim to send it with. draft_id: the scheduled draft,
    claimed by the caller."""
    request, facts = prepared.request, prepared.facts
    addresses = [requesters.address_of(writing, each.address) for each in request.to]
    ticket_id = writing.create("ticket", _ticket_values(writing, prepared, addresses))
    ticket = writing.record("ticket", ticket_id)
    assert ticket is not None
    requesters.add(writing, ticket_id, letter.requester_ids(writing, addresses), is_new_ticket=True)
    letter.write_customs(writing, ticket_id, facts.customs)
    settings = writing.ctx.service.settings
    subject = subject_of_compose(request.subject, settings.subject_prefix, ticket["mask"], settings.subject_mask)
    recipients = Recipients(request.to, request.cc, request.bcc)
    if is_unsent(writing.ctx):
        recipients = recipients.unsent()
    is_mailed = not request.dont_send and not recipients.is_empty
    mail = replace(prepared.mail, subject=subject, records={**prepared.mail.records, "ticket": ticket_id})
    message_id = letter.store_message(
        writing,
        mail,
        _body_of_ticket(writing, prepared, ticket),
        recipients,
        ticket_id,
        {
            "worker_id": prepared.worker_id,
            "is_not_sent": int(not is_mailed),
            "notes": json.dumps(recipients.notes),
        },
    )
    _log(writing, prepared, ticket)
    if not is_mailed:
        return ticket_id, 0, ""
    draft = _draft_values(prepared, recipients, ticket) | {"ticket_id": ticket_id}
    draft_id, claim = letter.queue(writing, mail, facts.way, draft, message_id, draft_id)
    return ticket_id, draft_id, claim


def _body_of_ticket(writing: RecordWriter, prepared: ComposePlan, ticket: Record) -> Body:
    """Returns the text of the mail with the address of the ticket, whose number is another one if the generated number
    was taken."""
    if ticket["mask"] == prepared.mask or not prepared.request_url:
        return prepared.body
    url = brands.request_address(writing.ctx.service, writing.tx, prepared.facts.group["id"], ticket["mask"])
    body = prepared.body
    html = body.html.replace(prepared.request_url, url) if body.html else body.html
    return replace(body, text=body.text.replace(prepared.request_url, url), html=html)


def _ticket_values(writing: RecordWriter, prepared: ComposePlan, addresses: list[Record]) -> dict[str, Any]:
    request, facts = prepared.request, prepared.facts
    is_free = writing.find("ticket", mask=prepared.mask) is None
    return {
        "mask": prepared.mask if is_free else "",
        "spam_training": spam.GOOD,
        "subject": request.subject,
        "group_id": facts.group["id"],
        "bucket_id": facts.bucket["id"] if facts.bucket else 0,
        "status_id": request.status or 0,
        "status_name_id": request.named_status.id if request.named_status is not None else 0,
        "reopen_date": request.reopen_at,
        "owner_id": request.owner_id or 0,
        "org_id": _org_id(writing, addresses) if request.org_id is None else request.org_id,
        **counters.of_first(writing, prepared.mail.from_address_id, is_outgoing=True),
    }


def _org_id(writing: RecordWriter, addresses: list[Record]) -> int:
    """The organization of the first recipient's address, else of its contact."""
    if not addresses:
        return 0
    contact_id = addresses[0]["contact_id"]
    contact = writing.record("contact", contact_id) if contact_id and not addresses[0]["org_id"] else None
    return int(addresses[0]["org_id"] or (contact["org_id"] if contact else 0))


def _log(writing: RecordWriter, prepared: ComposePlan, ticket: Record) -> None:
    """Logs the place of the ticket, the requested status and the message."""
    facts, status, name = prepared.facts, prepared.request.status, status_names.shown(writing.tx, ticket)
    target = writing.registry.type("ticket").label(ticket)
    bucket = facts.bucket["name"] if facts.bucket else ""
    variables = {"target": target, "group": facts.group["name"], "bucket": bucket}
    entries = [("ticket.moved", variables)]
    if status is not None:
        names = {"status_name": name} if name else {}
        entries.append((f"ticket.status.{WORDS[status]}", {"target": target, "status": WORDS[status], **names}))
    activity.log_several(writing, TICKET, ticket["id"], [*entries, (letter.SENT, {"target": target})])


def _draft_values(prepared: ComposePlan, recipients: Recipients, ticket: Record | None = None) -> dict[str, Any]:
    request = prepared.request
    customs = letter.customs_as_sent(prepared.facts.customs, request.custom)
    return {
        "type": COMPOSE,
        "name": request.subject,
        "to": drafts.joined(recipients.to),
        "params": drafts.params_of(request, customs, prepared.worker_id, ticket),
        "worker_id": prepared.worker_id,
    }


def _schedule(ctx: Context, prepared: ComposePlan) -> SendResult:
    """Creates the draft only; ticket and message are created when it is due."""
    request = prepared.request
    values = _draft_values(prepared, Recipients(request.to, request.cc, request.bcc))

    def write(tx: Transaction) -> int:
        writing = RecordWriter(ctx, tx)
        id = writing.create("draft", {**values, "is_queued": 1, "queue_delivery_date": request.send_at})
        queue_rows.put(tx, id, {"checked": queue_rows.digest(values["params"])})
        ctx.service.wake_after(tx)
        return id

    draft_id = ctx.service.store.write(write)
    return SendResult("draft", draft_id, delivery.of_draft(ctx, draft_id))
