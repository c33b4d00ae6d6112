"""Stores a mail: its original bytes, its message, its files, and the changes of the ticket."""

import json
from collections.abc import Sequence
from typing import Any

from server.contexts import MESSAGE
from server.mail import charsets, display_names, reply_names
from server.mailroom.incoming import IncomingMail
from server.mailroom.mail_filter import FormOrigin
from server.record_types.attachment import COPIED
from server.record_types.record_type import Record
from server.record_types.shared import paths
from server.record_types.shared.relation_tables import ATTACHED
from server.records.writing import RecordWriter
from server.store import blobs
from server.tickets import spam
from server.tickets.types.message_parts import counters
from server.tickets.types.ticket_parts.status import OPEN

OCTETS = "application/octet-stream"
HTML_NAME, HTML_TYPE = "original_message.html", "text/html"


def new_ticket(
    writing: RecordWriter, incoming: IncomingMail, place: dict[str, Any], org_id: int, sender_id: int
) -> Record:
    """Creates the ticket of a mail that replies to none; returns at least its id, mask and subject. place: its
    bucket_id or group_id, and further values."""
    is_taken = writing.find("ticket", mask=incoming.mask) is not None
    values = {
        "subject": incoming.subject,
        "org_id": org_id,
        "spam_score": spam.score(writing.tx, incoming.words),
        **place,
        **counters.of_first(writing, sender_id, is_outgoing=False),
    }
    id = writing.create("ticket", values if is_taken else values | {"mask": incoming.mask})
    if is_taken:  # the mask was in use
        ticket = writing.record("ticket", id)
        assert ticket is not None
        return ticket
    return {"id": id, "mask": incoming.mask, "subject": incoming.subject}


def reopen(writing: RecordWriter, ticket: Record) -> None:
    """Opens a ticket from any status, and cancels a planned reopening. The message that follows notifies of it."""
    if ticket["status_id"] != OPEN or ticket["reopen_date"]:
        writing.silent.add("ticket.status.open")
        writing.update("ticket", ticket["id"], {"status_id": OPEN, "reopen_date": 0})


def message(
    writing: RecordWriter,
    incoming: IncomingMail,
    ticket_id: int,
    sender: Record,
    notes: Sequence[str],
    *,
    is_stranger: bool,
    is_first: bool,
    created: int,
    forwarded_from: str = "",
    form: FormOrigin | None = None,
) -> int:
    """Creates the message with its files; returns its id. The record engine updates counters and pointers of the
    ticket.

    notes: besides those of the mail. is_first: whether its ticket is new. created: its time within the ticket.
    forwarded_from: the author of a mail that this one forwards. form: the contact form by which it came."""
    mail = incoming.mail
    files, html_id = _files(writing, incoming)
    id = writing.create(
        "message",
        {
            "ticket_id": ticket_id,
            "sender_id": sender["id"],
            "worker_id": sender["worker_id"],
            "is_outgoing": 0,
            "is_stranger": int(is_stranger),
            "is_notice": int(mail.is_notice and not is_first),
            "forwarded_from": forwarded_from,
            "from_name": display_names.clean(mail.sender_name, mail.sender or ""),
            "created": created,
            "sent_at": mail.sent_at,
            "content": incoming.text,
            "headers": incoming.header_text,
            "message_id": mail.message_id,
            "in_reply_to": reply_names.without_names(next(iter(incoming.references), "")),
            "hash_header_message_id": incoming.digest,
            "html_attachment_id": html_id,
            "raw_blob_id": blobs.keep(writing.tx, incoming.raw),
            "storage_size": len(incoming.text.encode()),
            "notes": json.dumps([*incoming.notes, *notes], ensure_ascii=False),
            "other_words": charsets.fit(mail.other_words),
            "body_digest": incoming.body_digest,
            "token": incoming.token,
            **({"form_id": form.form_id, "consent_version": form.consent_version} if form is not None else {}),
        },
    )
    for file_id in (*files, *filter(None, (html_id,))):
        writing.tx.insert(ATTACHED, {"attachment_id": file_id, "context": MESSAGE, "record_id": id})
    return id


def files(writing: RecordWriter, incoming: IncomingMail, uploader_id: int = 0) -> list[int]:
    """Creates the files of a mail, not yet attached to a record, and returns their ids in order. uploader_id: the
    worker who owns them."""
    return [
        _attachment(writing, file.name, file.mime_type, file.content, file.size, file.dropped, uploader_id)
        for file in incoming.mail.files
    ]


def _files(writing: RecordWriter, incoming: IncomingMail) -> tuple[list[int], int]:
    """(ids of the files, id of the HTML or 0). The HTML is stored unchanged except for its inline images, which are
    files now."""
    file_ids = files(writing, incoming)
    if not incoming.html:
        return file_ids, 0
    html = incoming.html_bytes([paths.file(id) for id in file_ids])
    return file_ids, _attachment(writing, HTML_NAME, HTML_TYPE, html)


def _attachment(
    writing: RecordWriter,
    name: str,
    mime_type: str,
    content: bytes,
    size: int = 0,
    dropped: str = "",
    uploader_id: int = 0,
) -> int:
    # As blobs: the limits and special types of uploads do not apply to mail.
    return writing.create(
        "attachment",
        {
            "name": charsets.fit(name),
            "mime_type": OCTETS if mime_type == COPIED else mime_type,
            "blob_id": blobs.keep(writing.tx, content),
            "uploader_id": uploader_id,
            **({"size": size, "dropped": dropped} if dropped else {}),
        },
    )
