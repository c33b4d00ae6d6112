"""Asks the customer of a closed ticket for a rating, once, with one link for each score. The job is a row that closing
the ticket adds; rating and email are written in one transaction, so that a repeated job asks nobody again."""

import base64
import secrets
from typing import Any

import peewee

from server.access.service_actor import own_context
from server.context import Context, Service
from server.contexts import TICKET
from server.dataclass import dataclass
from server.errors import HelpdeskError
from server.jobs.job_queue import job
from server.mail import automatic
from server.mail.mail_bytes import new_message_id
from server.outbox import ticket_ids
from server.outbox.content import MARKDOWN, Placeholders, Signature, body_of, signature_of
from server.outbox.deliver import MailSpec
from server.outbox.sender import Sender, TransportChoice, sender_of, way_of
from server.outbox.sending import send_soon
from server.people import rating_texts
from server.people.acknowledgement_text import ABOUT
from server.people.address_names import named_address
from server.record_types.record_type import Record
from server.record_types.shared.secrets import random_text
from server.record_types.shared.sending_addresses import TRANSACTIONAL
from server.records import catalogs
from server.records.reading import RecordReader
from server.records.signed_names import signing_key
from server.records.writing import RecordWriter
from server.sign_in import late_links
from server.store.statements import slot
from server.store.tables import table_named
from server.tickets import letter, requesters
from server.tickets.acknowledging import harmless
from server.tickets.ratings import rating_links
from server.tickets.request_values import MAX_SUBJECT
from server.tickets.types.draft import TOKEN_CHARS
from server.tickets.types.message_parts import stored_headers
from server.tickets.types.rating import BAD, GOOD
from server.tickets.types.ticket_parts import rating_schedule
from server.tickets.types.ticket_parts.spam_verdict import LIKELY_SPAM, SPAM
from server.tickets.types.ticket_parts.status import CLOSED
from server.translation import N_, _, shown, speaking

ASKED = "ticket.rating.asked"
MAX_MESSAGES = 50  # received messages of a ticket among whose senders the customer is found
NONCE_BYTES = 10
DAY_SECONDS = 86400


@dataclass(frozen=True, slots=True)
class RatingRequest:
    """The data of a request for a rating. customer: the address of the recipient. subject, text: of the group in that
    language, else the usual ones, with placeholders filled in. language: of the customer, else of the group; blank if
    unknown."""

    ticket: Record
    group: Record
    customer: Record
    worker_id: int
    sender: Sender
    way: TransportChoice
    from_name: str
    signature: Signature
    subject: str
    text: str
    language: str
    address: str


@job(rating_schedule.KIND, N_("Asks the customer of a closed ticket for a rating"))
def ask(service: Service, payload: dict[str, Any], now: int) -> None:
    """Asks for a rating, unless a reason not to has come up since the ticket was closed."""
    ctx = own_context(service, now)
    signing_key(service, rating_links.KEY)  # created here at first use, not while an email is sent
    request = service.store.read(lambda tx: _read(RecordReader(ctx, tx), payload))
    if request is None:
        return
    reference_key = signing_key(service, ticket_ids.KEY)
    mail, content = _mail(ctx, request, reference_key)
    queued = service.store.write(lambda tx: _queue(RecordWriter(ctx, tx), request, mail, content))
    if queued is not None and queued[1]:
        send_soon(service, *queued, now)


def usual_text(language: str, service: Service) -> tuple[str, str]:
    """Returns subject and text of a request whose group has none, with their placeholders."""
    with speaking(catalogs.languages(service).catalog_for(language)):
        return shown(_USUAL_SUBJECT), shown(_USUAL_TEXT)


# -- read --------------------------------------------------------------------------------------------------------------


def _read(reading: RecordReader, payload: dict[str, Any]) -> RatingRequest | None:
    """Returns the request for a ticket, None if its customer must not be asked."""
    ctx, tx, registry = reading.ctx, reading.tx, reading.registry
    ticket = reading.record("ticket", int(payload["ticket_id"]))
    if ticket is None or not _may_be_asked_about(reading, ticket):
        return None
    group = reading.record("group", int(payload["group_id"])) or reading.record("group", ticket["group_id"])
    if group is None or not rating_schedule.is_asked(ctx.service.settings, group):
        return None
    customer = _customer(reading, ticket)
    if customer is None:
        return None
    is_there = ticket["group_id"] == group["id"] and ticket["bucket_id"]
    bucket = reading.record("bucket", ticket["bucket_id"]) if is_there else None
    try:
        sender = sender_of(tx, registry, group, bucket, has_html=True)
    except HelpdeskError:
        return None  # a group without a sender address
    way = way_of(tx, registry, sender.address_id)
    if way is None:
        return None  # the email would leave days later, once there is a mail server
    records = {"ticket": ticket["id"], "group": group["id"], "bucket": ticket["bucket_id"]}
    values = Placeholders(ctx, tx, records, own=ABOUT[0], shown=harmless)
    contact = reading.record("contact", customer["contact_id"]) if customer["contact_id"] else None
    language = (contact["language"] if contact else "") or group["language"]
    own = rating_texts.text_for(group["rating_texts"], language)
    subject, text = (own["subject"], own["text"]) if own else (group["rating_subject"], group["rating_text"])
    if not subject.strip() or not text.strip():
        usual = usual_text(language, ctx.service)
        subject, text = subject if subject.strip() else usual[0], text if text.strip() else usual[1]
    return RatingRequest(
        ticket,
        group,
        customer,
        int(payload["worker_id"]),
        sender,
        way,
        " ".join(values.fill(sender.name).split())[: letter.MAX_NAME],
        signature_of(sender.signature, values),
        " ".join(values.fill(subject).split())[:MAX_SUBJECT],
        values.fill(text),
        language,
        rating_links.address(ctx.service, tx, group["id"]),
    )


def _may_be_asked_about(reading: RecordReader, ticket: Record) -> bool:
    """Whether a ticket is closed, is no spam, was not merged, and has no rating yet."""
    if ticket["status_id"] != CLOSED or ticket["merged_into"]:
        return False
    if ticket["spam_training"] == SPAM or ticket["spam_score"] >= LIKELY_SPAM:
        return False
    return reading.find("rating", ticket_id=ticket["id"]) is None


def _customer(reading: RecordReader, ticket: Record) -> Record | None:
    """The first requester who wrote a message themselves and may be asked."""
    patterns = reading.setting("mail_exclude_patterns")
    checked: set[int] = set()
    for message_id, sender_id in _received(reading, ticket["id"]):
        if sender_id in checked:
            continue
        checked.add(sender_id)
        address = reading.record("address", sender_id)
        if address is None or not requesters.is_requester(reading.tx, ticket["id"], sender_id):
            continue
        if address["is_banned"] or address["is_defunct"] or address["worker_id"]:
            continue
        if not requesters.may_request(address, patterns) or _is_automatic(reading, message_id, address):
            continue
        if not was_asked(reading, address):
            return address
    return None


def _received(reading: RecordReader, ticket_id: int) -> list[tuple[int, int]]:
    """Returns id and sender of the first received messages of a ticket, without notices of programs."""
    message = table_named("message")
    return reading.tx.rows(
        lambda: (
            message.select(message.c.id, message.c.sender_id)
            .where(
                message.c.ticket_id == slot(0),
                message.c.is_outgoing == peewee.SQL("0"),
                message.c.is_notice == peewee.SQL("0"),
                message.c.is_stranger == peewee.SQL("0"),
            )
            .order_by(message.c.created, message.c.id)
            .limit(MAX_MESSAGES)
        ),
        (ticket_id,),
    )


def _is_automatic(reading: RecordReader, message_id: int, address: Record) -> bool:
    """Whether a program wrote the message, or its sender wants no automatic email."""
    message = reading.record("message", message_id)
    head = stored_headers.head(message["headers"]) if message is not None else None
    return head is None or automatic.takes_no_answer(address["email"]) or automatic.wants_no_answer(head)


def was_asked(reading: RecordReader, address: Record) -> bool:
    """Whether the customer was asked within the interval, at this address or another one of the contact."""
    since = reading.now - reading.ctx.service.settings.rating_interval_days * DAY_SECONDS
    rating = table_named("rating")

    def newest(column: str, id: int) -> int:
        value = reading.tx.value(
            lambda: rating.select(peewee.fn.MAX(rating.c.asked_at)).where(getattr(rating.c, column) == slot(0)), (id,)
        )
        return int(value or 0)

    asked_at = newest("address_id", address["id"])
    if address["contact_id"]:
        asked_at = max(asked_at, newest("contact_id", address["contact_id"]))
    return asked_at > since


# -- written -----------------------------------------------------------------------------------------------------------


def _mail(ctx: Context, request: RatingRequest, reference_key: bytes) -> tuple[MailSpec, str]:
    """Builds the email, and returns it with its text as a draft shows it."""
    links = rating_links.late_addresses(request.address)
    catalog = catalogs.languages(ctx.service).catalog_for(request.language)
    with speaking(catalog):
        labels = {GOOD: _("Good, I am satisfied"), BAD: _("Bad, I am not satisfied")}
        after = _(
            "The page that opens asks you to confirm, and takes a comment. The links work for {count} days.",
            count=rating_links.RATE_SECONDS // DAY_SECONDS,
        )
    content = _with_ways(request, [f"[{label}]({links[score]})" for score, label in labels.items()], after)
    plain = _with_ways(request, [f"{label}:\n{links[score]}" for score, label in labels.items()], after)
    body = body_of(content, MARKDOWN, request.signature, None)
    sender, group, ticket = request.sender, request.group, request.ticket
    mail = MailSpec(
        message_id=new_message_id(sender.email.rpartition("@")[2]),
        date=ctx.now,
        zone=group["timezone"] or "UTC",
        from_address_id=sender.address_id,
        from_address=sender.email,
        from_name=request.from_name,
        subject=request.subject,
        token=random_text(TOKEN_CHARS),
        references=(ticket_ids.ticket_reference(reference_key, ticket["id"], sender.email),),
        is_autoreply=True,
        is_markdown=True,
        template_id=sender.template["id"] if sender.template else 0,
        records={"worker": 0, "group": group["id"], "bucket": ticket["bucket_id"], "ticket": ticket["id"]},
        text=body_of(plain, MARKDOWN, request.signature, None).text,
        html=body.html or "",
        reply_to=group["reply_to"],
        list_headers=group["list_headers"],
        language=catalog.language,
    )
    return mail, content


def _with_ways(request: RatingRequest, ways: list[str], after: str) -> str:
    return "\n\n".join([request.text.strip(), *ways, after])


def _queue(writing: RecordWriter, request: RatingRequest, mail: MailSpec, content: str) -> tuple[int, str] | None:
    """Creates the rating and queues the email, if the customer may still be asked."""
    ticket = writing.record("ticket", request.ticket["id"])
    customer = writing.record("address", request.customer["id"])
    if ticket is None or not _may_be_asked_about(writing, ticket):
        return None
    if customer is None or was_asked(writing, customer):
        return None
    rating_id = writing.as_service().create(
        "rating",
        {
            "ticket_id": ticket["id"],
            "address_id": customer["id"],
            "contact_id": customer["contact_id"],
            "worker_id": request.worker_id,
            "group_id": request.group["id"],
            "asked_at": writing.now,
            "nonce": base64.b32encode(secrets.token_bytes(NONCE_BYTES)).decode().lower(),
        },
    )
    email = customer["email"]
    params = {"to": email, "subject": mail.subject, "content": content}
    draft = {"type": TRANSACTIONAL, "name": mail.subject, "to": email, "params": params}
    draft_id, claim = letter.queue(writing, mail, request.way, draft, 0)
    late_links.register_record(writing.tx, draft_id, rating_links.KIND, rating_id)
    names = {"customer": named_address(writing, customer["id"]), "target": writing.label("ticket", ticket["id"])}
    writing.log(ASKED, TICKET, ticket["id"], names)
    return draft_id, claim


_USUAL_SUBJECT = N_("How did we do? {{subject}}")
_USUAL_TEXT = N_("Hello,\n\nyour request “{{subject}}” ({{mask}}) was closed. Were you satisfied with our help?")
