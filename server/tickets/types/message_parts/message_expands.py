"""Expands of a message: its HTML, and the recipients of a reply."""

from typing import Any

import peewee

from server.errors import TooLarge
from server.mail.charsets import decode
from server.markup import MAX_HTML_BYTES, clean_html
from server.outbox.sender import default_sender
from server.record_types.parts import DictionaryContext, Expand, Record
from server.record_types.shared import paths
from server.record_types.shared.relation_tables import REQUESTER
from server.store import blobs
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.tickets.types.message_parts import stored_headers

UNANSWERED = ("postmaster", "mailer-daemon")  # mailboxes without a human reader

Loaded = dict[int, dict[str, Any]]


def content_html(view: DictionaryContext, records: list[Record], form: str) -> Loaded:
    """Loads `content_html`: the sanitized HTML part; absent if there is none or it exceeds MAX_HTML_BYTES."""
    files = {record["id"]: record["html_attachment_id"] for record in records if record["html_attachment_id"]}
    attachments = view.type("attachment").table
    blob_of = {
        row[0]: row[attachments.position["blob_id"]] for row in view.tx.get_many(attachments, set(files.values()))
    }
    contents = blobs.read_many(view.tx, set(blob_of.values()), MAX_HTML_BYTES)
    loaded: Loaded = {}
    for own, file in files.items():
        content = contents.get(blob_of.get(file, 0))
        html = _safe(view, content) if content else ""
        if html:
            loaded[own] = {"content_html": html}
    return loaded


def reply_to(view: DictionaryContext, records: list[Record], form: str) -> Loaded:
    """Loads `reply_to`: the requesters that a reply is sent to."""
    return {own: {"reply_to": ", ".join(emails)} for own, emails in _requesters(view, records).items()}


def reply_cc(view: DictionaryContext, records: list[Record], form: str) -> Loaded:
    """Loads `reply_cc`: the other addresses in To and Cc, without sender addresses of the service and requesters."""
    requesters = _requesters(view, records)
    addressed = {record["id"]: _addressed(record) for record in records}
    own = _own_addresses(view)
    return {
        id: {"reply_cc": ", ".join(each for each in emails if each not in own and each not in requesters[id])}
        for id, emails in addressed.items()
    }


def _safe(view: DictionaryContext, content: bytes) -> str:
    """The sanitized HTML with images that are files of the message, without remote images."""

    def image_url(url: str) -> str | None:
        return view.address(url) if paths.OWN_FILE.fullmatch(url) else None

    try:
        return clean_html(decode(content, "utf-8"), image_url=image_url)
    except TooLarge:
        return ""


def _addressed(record: Record) -> list[str]:
    fields = stored_headers.head(record["headers"])
    sender = stored_headers.emails(fields, "reply-to") or stored_headers.emails(fields, "from")
    others = [
        *([] if record["is_outgoing"] else stored_headers.emails(fields, "to")),
        *stored_headers.emails(fields, "cc"),
    ]
    return [each for each in dict.fromkeys(others) if each not in sender]


def _requesters(view: DictionaryContext, records: list[Record]) -> dict[int, list[str]]:
    """Returns {message id: addresses that a reply without `to` is sent to}."""
    requester: Any = REQUESTER.sql
    address = table_named("address").alias("who")
    rows = view.tx.rows(
        lambda: (
            requester.select(requester.ticket_id, address.c.email)
            .join(address, on=(address.c.id == requester.address_id))
            .where(in_list(requester.ticket_id, slot(0)), address.c.mail_transport_id == 0, address.c.is_defunct == 0)
            .order_by(requester.ticket_id, address.c.id)
        ),
        ("[" + ",".join(str(id) for id in {record["ticket_id"] for record in records}) + "]",),
    )
    of_ticket: dict[int, list[str]] = {}
    for ticket_id, email in rows:
        if email.partition("@")[0] not in UNANSWERED:
            of_ticket.setdefault(ticket_id, []).append(email)
    return {record["id"]: of_ticket.get(record["ticket_id"], []) for record in records}


def _own_addresses(view: DictionaryContext) -> set[str]:
    """Returns the addresses with a mail transport, and the default sender, which may use the transport of the
    service."""
    address = table_named("address").alias("own")
    rows = view.tx.rows(
        lambda: address.select(address.c.email).where(
            peewee.SQL('"own"."mail_transport_id" > 0') | (address.c.id == slot(0))
        ),
        (default_sender(view.tx),),
    )
    return {row[0] for row in rows}


EXPANDS = (
    Expand("content_html", "text", "HTML part, sanitized; absent if there is none.", content_html),
    Expand("reply_to", "text", "Addresses a reply would go to, with comma and space between.", reply_to),
    Expand("reply_cc", "text", "Further addresses of To and Cc, with comma and space between.", reply_cc),
)
