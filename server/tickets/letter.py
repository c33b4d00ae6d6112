"""The steps that compose and reply share: check ids, build the mail, store the message, queue the draft.

Facts are read first, in a snapshot; text and HTML are built outside of any transaction; then everything is written in
one transaction (compose.py, reply.py)."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from email.utils import format_datetime
from typing import Any

from server import times
from server.context import Context
from server.contexts import MESSAGE, TICKET
from server.dataclass import dataclass
from server.errors import Forbidden, Invalid, TooLarge
from server.mail import list_headers
from server.mail.mail_bytes import MAX_FILES_BYTES, automatic_headers, mailer, new_message_id
from server.outbox import queue_rows
from server.outbox.content import (
    Body,
    Placeholders,
    Signature,
    needs_ticket_url,
    signature_of,
    with_ticket_link,
    with_ticket_url,
)
from server.outbox.deliver import MailSpec, own_file
from server.outbox.outcome import park
from server.outbox.sender import Sender, TransportChoice, sender_of, way_of
from server.record_types.record_type import Record
from server.record_types.shared import brands, custom
from server.record_types.shared.relation_tables import ATTACHED
from server.record_types.shared.secrets import random_text
from server.record_types.traits.custom_field_trait import write_values
from server.records import catalogs
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.settings import VERSION
from server.tickets import requesters
from server.tickets.mail_loops import NOTE
from server.tickets.request_values import Addresses, MailRequest
from server.tickets.types.draft import TOKEN_CHARS
from server.tickets.types.ticket_parts import status_names
from server.translation import ENGLISH, Catalog, _, about_field, lazy_gettext, speaking

SENT = "ticket.message.outbound"
HTML_NAME = "original_message.html"
MAX_NAME = 255
MAX_INLINE = 50  # inline images in one mail

Customs = list[tuple[custom.FieldDefinition, custom.ValueSetChange]]


@dataclass(frozen=True, slots=True)
class MailFacts:
    """The data read from the database before anything is written.

    from_name: placeholders are filled in. way: None for no mail server. zone: of the Date header. voice: of the texts
    that the service adds to the mail."""

    group: Record
    bucket: Record | None
    sender: Sender
    from_name: str
    signature: Signature
    way: TransportChoice | None
    customs: Customs
    zone: str
    voice: "Voice"


@dataclass(frozen=True, slots=True)
class Voice:
    """Language and time zone of a group's mail: as set on the group, else on the writing worker."""

    language: Catalog
    zone: str


@dataclass(frozen=True, slots=True)
class Recipients:
    """The recipients of a mail. notes: which requesters are left out, and why. is_unsent: the message is stored with
    these recipients but not sent."""

    to: Addresses
    cc: Addresses = ()
    bcc: Addresses = ()
    notes: tuple[str, ...] = ()
    is_unsent: bool = False

    @property
    def is_empty(self) -> bool:
        return self.is_unsent or not (self.to or self.cc or self.bcc)

    def unsent(self) -> "Recipients":
        """Returns a copy for mail that is not sent because an automation wrote it."""
        return replace(self, notes=(*self.notes, NOTE), is_unsent=True)


# -- read --------------------------------------------------------------------------------------------------------------


def place_of(reading: RecordReader, group_id: int, bucket_id: int) -> tuple[Record, Record | None]:
    """Returns the group and bucket of these ids. The bucket determines the group; a group alone means its default
    bucket.

    Raises Invalid for ids that do not exist."""
    group = reading.record("group", group_id) if group_id else None
    if group is None and (group_id or not bucket_id):
        raise Invalid(f"group_id: there is no group {group_id}", field="group_id")
    if bucket_id:
        bucket = reading.record("bucket", bucket_id)
        if bucket is None:
            raise Invalid(f"bucket_id: there is no bucket {bucket_id}", field="bucket_id")
        group = reading.record("group", bucket["group_id"])
    else:
        assert group is not None
        bucket = reading.find("bucket", group_id=group["id"], is_default=1)
    if group is None:
        raise Invalid(f"bucket_id: bucket {bucket_id} is in no group", field="bucket_id")
    return group, bucket


def require_status(ctx: Context, request: MailRequest, group: Record) -> None:
    """Raises Invalid if the group of the ticket does not use the name of the status that a request sets."""
    named = request.named_status
    if named is not None:
        ctx.service.store.read(lambda tx: status_names.require_group(RecordReader(ctx, tx), named, group["id"]))


def require_group(ctx: Context, group: Record) -> None:
    """Raises Forbidden unless the caller may read the tickets of a group."""
    groups = ctx.actor.reads_groups
    if not ctx.actor.is_admin and groups is not None and group["id"] not in groups:
        raise Forbidden(f"you may not read the tickets of group {group['id']}; choose another group")


def check_ids(reading: RecordReader, request: MailRequest) -> None:
    """Raises Invalid for a template, owner or file that does not exist or may not be read, TooLarge if the files are
    too large for a mail."""
    if request.html_template_id:
        _exists(reading, "html_template", request.html_template_id, "html_template_id")
    if request.owner_id:
        _exists(reading, "worker", request.owner_id, "owner_id")
    mailable_files(reading, request.file_ids)


def mailable_files(reading: RecordReader, ids: Sequence[int]) -> list[Record]:
    """Returns the files of a mail. Raises Invalid for one that does not exist or may not be read, TooLarge if they are
    too large for a mail."""
    files = reading.registry.type("attachment")
    mailable = []
    for id in ids:
        file = reading.record("attachment", id)
        if file is None or not reading.rules.may_read(reading.tx, files, id):
            raise Invalid(f"file_id: there is no attachment {id} that you may read", field="file_id")
        if file["dropped"]:
            raise Invalid(f"file_id: attachment {id} was not stored: {file['dropped']}", field="file_id")
        mailable.append(file)
    total = sum(each["size"] for each in mailable)
    most = min(reading.ctx.service.settings.max_attachment_bytes, MAX_FILES_BYTES)
    if total > most:
        raise TooLarge(
            f"file_id: {total} bytes are too large for an email; at most {most}", field="file_id", limit=most
        )
    return mailable


def facts_of(
    reading: RecordReader,
    request: MailRequest,
    group: Record,
    bucket: Record | None,
    worker_id: int,
    *,
    ticket_id: int = 0,
    request_url: str = "",
) -> MailFacts:
    """Reads sender, signature and transport of a mail from a bucket. request_url: the address of a new ticket for its
    customers. Raises Invalid."""
    tx, ctx, registry = reading.tx, reading.ctx, reading.registry
    sender = sender_of(tx, registry, group, bucket, request.html_template_id, has_html=request.has_html)
    records = {"worker": worker_id, "group": group["id"], "bucket": bucket["id"] if bucket else 0, "ticket": ticket_id}
    values = Placeholders(ctx, tx, records, request_url=request_url)
    worker = reading.record("worker", worker_id) if worker_id else None
    zone = (worker["timezone"] if worker else "") or ctx.actor.timezone or "UTC"
    return MailFacts(
        group,
        bucket,
        sender,
        " ".join(values.fill(sender.name).split())[:MAX_NAME],
        signature_of(sender.signature, values),
        None if request.dont_send else way_of(tx, registry, sender.address_id),
        customs_of(reading, request.custom),
        zone,
        voice_of(ctx, group, worker, zone),
    )


def voice_of(ctx: Context, group: Record, worker: Record | None, zone: str = "UTC") -> Voice:
    """Returns the voice of a group's mail. zone: the fallback if neither the group nor the worker has one."""
    language = group["language"] or (worker["language"] if worker else "")
    catalog = catalogs.languages(ctx.service).catalog_for(language) if language else ENGLISH
    return Voice(catalog, group["timezone"] or (worker["timezone"] if worker else "") or zone)


def request_url(reading: RecordReader, group: Record, mask: str, content: str) -> str:
    """Returns the address of a ticket for its customers if an email of the group contains it: its text names it, or the
    group ends its email with it. "" otherwise, and if the customers do not see their requests."""
    if not (group["links_to_requests"] or needs_ticket_url(content)):
        return ""
    return brands.request_address(reading.ctx.service, reading.tx, group["id"], mask)


def with_request_url(request: MailRequest, facts: MailFacts, address: str) -> str:
    """Returns the text of an email with the address of the ticket for its customers: where the text names it, else at
    its end if the group wants that. "" leaves the text unchanged."""
    if not address:
        return request.content
    content = with_ticket_url(request.content, request.format, address)
    if address in content or not facts.group["links_to_requests"]:
        return content
    with speaking(facts.voice.language):
        return with_ticket_link(content, request.format, _("View your request"), address)


def customs_of(reading: RecordReader, sent: Mapping[str, Any]) -> Customs:
    """Checks custom values of a ticket; a field that takes several gets them added. Raises UnknownField, Invalid."""
    if not sent:
        return []
    rest = dict(sent)
    customs = custom.take(reading.tx, reading.registry.type("ticket"), rest)
    if rest:
        name = next(iter(rest))
        raise Invalid(f"'{name[:80]}' is not a custom field of ticket", field=name)
    intake = reading.intake()
    return [(field, custom.coerce(field, name, raw, intake, adds=True)) for field, name, raw in customs]


def customs_as_sent(customs: Customs, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Returns custom values for the params of a draft, dates as Unix seconds."""
    dates: dict[str, Any] = {}
    for field, coerced in customs:
        if field.kind == "E":
            dates |= dict.fromkeys((field.uri, f"custom_{field.id}"), next(iter(coerced.values), ""))
    return {name: dates.get(name, value) for name, value in sent.items()}


def inline_files(reading: RecordReader, html: str | None) -> tuple[int, ...]:
    """Returns the ids of files of the service that the HTML of a mail shows and its writer may read."""
    if html is None:
        return ()
    files = reading.registry.type("attachment")
    file_ids = dict.fromkeys(int(match[1]) for match in own_file(reading.ctx.service.base_url).finditer(html))
    readable = (id for id in list(file_ids)[:MAX_INLINE] if reading.rules.may_read(reading.tx, files, id))
    return tuple(id for id in readable if reading.record("attachment", id) is not None)


def has_own_files(ctx: Context, html: str | None) -> bool:
    """Whether the HTML refers to files of the service, so that inline_files needs a transaction."""
    return html is not None and own_file(ctx.service.base_url).search(html) is not None


# -- written -----------------------------------------------------------------------------------------------------------


def mail_of(
    ctx: Context, request: MailRequest, facts: MailFacts, subject: str, worker_id: int, ticket_id: int
) -> MailSpec:
    """Builds the mail of a request on a ticket, with a new Message-ID."""
    bucket_id = facts.bucket["id"] if facts.bucket else 0
    records = {"worker": worker_id, "group": facts.group["id"], "bucket": bucket_id, "ticket": ticket_id}
    group = facts.group
    more = {
        "records": records,
        "reply_to": group["reply_to"],
        "list_headers": group["list_headers"],
        "language": facts.voice.language.language,
    }
    return mail_from(ctx, request, facts.sender, facts.from_name, facts.zone, subject, more)


def mail_from(
    ctx: Context,
    request: MailRequest,
    sender: Sender,
    from_name: str,
    zone: str,
    subject: str | None = None,
    more: Mapping[str, Any] | None = None,
) -> MailSpec:
    """Builds the mail of a request from a sender. subject: overrides the request's. more: further fields of
    MailSpec."""
    return MailSpec(
        message_id=new_message_id(sender.email.rpartition("@")[2]),
        date=ctx.now,
        zone=zone,
        from_address_id=sender.address_id,
        from_address=sender.email,
        from_name=from_name,
        subject=request.subject if subject is None else subject,
        is_generated=ctx.depth > 0,
        is_markdown=request.has_html,
        template_id=sender.template["id"] if sender.template and request.has_html else 0,
        token=random_text(TOKEN_CHARS),
        file_ids=request.file_ids,
        **(more or {}),
    )


def headers_of(mail: MailSpec, recipients: Recipients) -> str:
    """Returns the headers to store with a message: readable, one per line, with Bcc."""
    ids = [f"<{each}>" for each in mail.references]
    lines = [
        ("Message-ID", f"<{mail.message_id}>"),
        ("Date", format_datetime(datetime.fromtimestamp(mail.date, times.zone(mail.zone)))),
        ("Subject", mail.subject),
        ("From", _shown(mail.from_name, mail.from_address)),
        ("Reply-To", mail.reply_to),
        ("To", ", ".join(_shown(*each) for each in recipients.to)),
        ("Cc", ", ".join(_shown(*each) for each in recipients.cc)),
        ("Bcc", ", ".join(_shown(*each) for each in recipients.bcc)),
        ("X-Mailer", mailer(VERSION)),
        ("References", " ".join(ids)),
        ("In-Reply-To", f"<{mail.in_reply_to}>" if mail.in_reply_to else ""),
        *automatic_headers(mail.is_autoreply, mail.is_generated),
        *list_headers.parse(mail.list_headers),
    ]
    return "".join(f"{name}: {value}\n" for name, value in lines if value)


def store_message(
    writing: RecordWriter, mail: MailSpec, body: Body, recipients: Recipients, ticket_id: int, values: dict[str, Any]
) -> int:
    """Stores a mail as an outgoing message with its HTML and files, and returns the message id."""
    html_id = 0
    if body.html is not None:
        html_id = writing.create(
            "attachment",
            {
                "name": HTML_NAME,
                "mime_type": "text/html",
                "content": body.html.encode("utf-8", "replace"),
                "uploader_id": values["worker_id"],
            },
        )
    message: dict[str, Any] = {
        "ticket_id": ticket_id,
        "content": body.text,
        "headers": headers_of(mail, recipients),
        "message_id": f"<{mail.message_id}>",
        "in_reply_to": f"<{mail.in_reply_to}>" if mail.in_reply_to else "",
        "hash_header_message_id": hashlib.sha1(f"<{mail.message_id}>".encode(), usedforsecurity=False).hexdigest(),
        "sender_id": mail.from_address_id,
        "token": mail.token,
        "is_outgoing": 1,
        "created": writing.now,
        "html_attachment_id": html_id,
        "html_template_id": mail.template_id,
        "is_autoreply": int(mail.is_autoreply),
        **values,
    }
    id = writing.create("message", message)
    # Who may read the message may see the pictures in it.
    for file_id in dict.fromkeys((*mail.file_ids, *mail.inline_ids, *([html_id] if html_id else []))):
        writing.tx.add(ATTACHED, {"attachment_id": file_id, "context": MESSAGE, "record_id": id})
    return id


def queue(
    writing: RecordWriter,
    mail: MailSpec,
    way: TransportChoice | None,
    draft: dict[str, Any],
    message_id: int,
    draft_id: int = 0,
) -> tuple[int, str]:
    """Queues a mail as a draft. Returns the draft id and the caller's claim, "" if the mail must wait for a mail server
    or for an earlier mail on its ticket.

    draft_id: an existing draft that the caller has claimed."""
    tx = writing.tx
    row: dict[str, Any] = {
        "mail": queue_rows.text_of(mail.as_data()),
        "message_id": message_id,
        "from_address_id": mail.from_address_id,
    }
    if draft_id:
        writing.update("draft", draft_id, draft)
        queue_rows.change(tx, draft_id, row)
        return draft_id, ""
    due = {"is_queued": 1, "queue_delivery_date": writing.now, "token": mail.token}
    draft_id = writing.create("draft", due | draft)
    if way is None:
        queue_rows.put(tx, draft_id, row)
        park(writing, draft_id, mail.from_address)
        return draft_id, ""
    if queue_rows.is_held_up(writing, draft_id):
        queue_rows.put(tx, draft_id, row)
        return draft_id, ""
    claimed = queue_rows.new_claim_values(writing.now)
    queue_rows.put(tx, draft_id, row | claimed)
    return draft_id, str(claimed["claimed_by"])


def requester_ids(writing: RecordWriter, addresses: list[Record]) -> list[int]:
    """Returns the addresses that may become requesters: neither sender addresses of the service nor excluded ones."""
    patterns = writing.setting("mail_exclude_patterns")
    return [each["id"] for each in addresses if requesters.may_request(each, patterns)]


def write_customs(writing: RecordWriter, ticket_id: int, customs: Customs) -> None:
    """Stores checked custom values of a ticket."""
    write_values(writing, writing.registry.type("ticket"), ticket_id, customs)


def log_sent(writing: RecordWriter, ticket_id: int, target: str) -> None:
    """Logs a sent message in the activity of its ticket. target: the ticket's label."""
    writing.log(SENT, TICKET, ticket_id, {"target": target})


def _exists(reading: RecordReader, uri: str, id: int, field: str) -> None:
    if not reading.lookup.exists(uri, id):
        raise Invalid(about_field(field, lazy_gettext("there is no {type} {id}", type=uri, id=id)), field=field)


def _shown(name: str, address: str) -> str:
    """A mailbox in readable form."""
    if not name:
        return address
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}" <{address}>'
