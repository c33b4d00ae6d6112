"""Creates tickets that programs submit for a person outside, such as the sender of a contact form.

They follow the path of an email, but submitted values never become headers or join an existing ticket."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from server.context import Context
from server.mail import mail_bytes
from server.mail.mail_bytes import OutFile, OutgoingMail
from server.mailroom import receiving, threading
from server.mailroom.receiving import Receipt
from server.markup import clean_html, markdown_to_html, text_of_html
from server.outbox.content import HTML, MARKDOWN
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.settings import VERSION
from server.store import blobs
from server.store.tables import Column, Table
from server.store.transaction import Transaction
from server.tickets import letter
from server.tickets.letter import Customs
from server.tickets.request_values import IncomingRequest, incoming_request

EXTERNAL_TICKET = Table(
    "external_ticket",
    [Column("external_id", "TEXT"), Column("ticket_id")],
    key=("external_id",),
)  # ids that other programs chose


def create(ctx: Context, values: Mapping[str, Any]) -> Receipt:
    """Creates a ticket from a form; a repeated `external_id` returns the ticket created first.

    values: form values by name. Raises Required, Invalid, Forbidden, TooLarge, and Rejected as receive does."""
    request = incoming_request(values)
    ticket_id = ctx.service.store.read(lambda tx: _known(RecordReader(ctx, tx), request))
    if ticket_id is not None:
        return ticket_id
    place, customs, files = ctx.service.store.read(lambda tx: _checked(RecordReader(ctx, tx), request))
    take = receiving.ready(ctx, composed_mail(ctx, request, files), place=place)

    def write(tx: Transaction) -> Receipt:
        writing = RecordWriter(ctx, tx)
        known = _known(writing, request)
        if known is not None:
            return known
        receipt = take(tx)
        if receipt.ticket_id:
            letter.write_customs(writing, receipt.ticket_id, customs)
            if request.external_id:
                tx.put(EXTERNAL_TICKET, {"external_id": request.external_id, "ticket_id": receipt.ticket_id})
        return receipt

    return ctx.service.store.write(write)


def _known(reading: RecordReader, request: IncomingRequest) -> Receipt | None:
    """The ticket with the external id, or the one that it was merged into; None for a new id."""
    row = reading.tx.first(EXTERNAL_TICKET, external_id=request.external_id) if request.external_id else None
    ticket = threading.survivor(reading, row[1]) if row is not None else None
    if ticket is None:
        return None
    is_readable = reading.may_read("ticket", ticket["id"])
    return Receipt(ticket["id"], ticket["mask"], ticket["latest_message_id"], False, "duplicate", is_readable)


def _checked(
    reading: RecordReader, request: IncomingRequest
) -> tuple[dict[str, int], Customs, list[tuple[str, str, bytes]]]:
    """The place of the ticket ({} for the usual routing), its custom values, and the files: name, type, bytes."""
    reading.rules.require_create(reading.registry.type("ticket"))
    place: dict[str, int] = {}
    if request.group_id or request.bucket_id:
        group, bucket = letter.place_of(reading, request.group_id, request.bucket_id)
        letter.require_group(reading.ctx, group)
        place = {"bucket_id": bucket["id"]} if bucket is not None else {"group_id": group["id"]}
    read = [
        (each["name"], each["mime_type"], b"".join(blobs.pieces(reading.tx, each["blob_id"], 0, each["size"])))
        for each in letter.mailable_files(reading, request.file_ids)
    ]
    return place, letter.customs_of(reading, request.custom), read


def composed_mail(ctx: Context, request: IncomingRequest, files: list[tuple[str, str, bytes]]) -> bytes:
    """Returns the form as an email. It is composed like outgoing mail, because the `email` package would decode encoded
    words in submitted text, line breaks included. files: name, type, bytes."""
    text, html = request.content, None
    if request.format == HTML:
        html = clean_html(request.content)
        text = text_of_html(html)
    elif request.format == MARKDOWN:
        html = markdown_to_html(request.content)
    host = urlsplit(ctx.service.base_url).hostname or "localhost"
    return mail_bytes.compose(
        OutgoingMail(
            message_id=mail_bytes.new_message_id(host),
            date=ctx.now,
            from_name=request.sender.name,
            from_address=request.sender.address,
            to=(),
            subject=request.subject,
            text=text,
            html=html,
            installation="",
            version=VERSION,
            files=tuple(OutFile(*each) for each in files),
            is_stored=True,
        )
    )
