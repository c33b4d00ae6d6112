"""Attachments: uploads, and downloads with a content type that is safe for browsers."""

import base64
import binascii
import hashlib
from collections.abc import Iterator
from functools import partial
from typing import Any

from server.context import Context
from server.dataclass import dataclass
from server.errors import Invalid, NotFound
from server.record_types.record_type import Record
from server.records import records
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store import blobs
from server.store.transaction import Transaction

# Types sent unchanged. All others are sent as plain bytes, so that browsers do not execute them.
SAFE_TYPES = frozenset(
    "image/png image/jpeg image/gif image/webp text/plain text/csv application/pdf application/zip application/json "
    "audio/mpeg audio/ogg video/mp4 video/webm message/rfc822 text/calendar application/ics".split()
)
OCTETS = "application/octet-stream"
PDF = "application/pdf"
TEXTS = frozenset("text/plain text/csv application/json message/rfc822 text/calendar application/ics".split())
IMAGES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))  # types that browsers show inline


@dataclass(frozen=True)
class StoredFile:
    """A file that the caller may read. size: bytes. updated: Unix seconds."""

    id: int
    name: str
    mime_type: str
    size: int
    sha1: str
    updated: int
    blob_id: int

    @property
    def safe_type(self) -> str:
        """The content type to send: the file's own if browsers do not execute it."""
        own = plain_type(self.mime_type)
        return own if own in SAFE_TYPES else OCTETS

    @property
    def preview(self) -> str:
        """How pages can show it: `image`, `pdf`, `text` or ""."""
        return preview_of(self.mime_type)


def plain_type(mime_type: str) -> str:
    """A MIME type without its parameters.

    >>> plain_type("Image/PNG; name=a.png")
    'image/png'
    """
    return mime_type.partition(";")[0].strip().lower()


def preview_of(mime_type: str) -> str:
    """Returns how pages show a file of this type: `image`, `pdf` or `text`, "" if they cannot.

    >>> preview_of("image/png"), preview_of("text/csv; charset=utf-8"), preview_of("text/html")
    ('image', 'text', '')
    """
    own = plain_type(mime_type)
    return "image" if own in IMAGES else "pdf" if own == PDF else "text" if own in TEXTS else ""


def find(ctx: Context, id: int) -> StoredFile:
    """Returns a file. Raises Forbidden, and NotFound, also for a file whose content was not stored."""

    def read(tx: Transaction) -> StoredFile:
        record = RecordReader(ctx, tx).retrieve("attachment", id)
        require_content(record)
        return StoredFile(
            id,
            record["name"],
            record["mime_type"],
            record["size"],
            record["storage_sha1hash"],
            record["updated"],
            record["blob_id"],
        )

    return records.reading(ctx, read)


def require_content(record: Record) -> None:
    """Raises NotFound if the content of an attachment was not stored, as for files of a mail that was too large."""
    if record["dropped"]:
        raise NotFound(f"attachment {record['id']} was not stored: {record['dropped']}")


def pieces(ctx: Context, file: StoredFile, start: int, end: int) -> Iterator[bytes]:
    """Yields the bytes from `start` up to `end` in pieces, each read in its own snapshot, so that a slow client does
    not hold one open. Content is immutable, so the pieces are consistent."""
    place = start
    while place < end:
        stop = min((place // blobs.PIECE_BYTES + 1) * blobs.PIECE_BYTES, end)
        piece = ctx.service.store.read(partial(_read_piece, file.blob_id, place, stop))
        if not piece:
            return
        yield piece
        place += len(piece)


def _read_piece(blob_id: int, start: int, end: int, tx: Transaction) -> bytes:
    return b"".join(blobs.pieces(tx, blob_id, start, end))


def upload(ctx: Context, name: str, mime_type: str, content: bytes) -> dict[str, Any]:
    """Stores a file; equal bytes are stored once. If the same worker uploads the same content and type again, the
    existing file is returned, under its first name. Files of other workers are not reused. Raises TooLarge, Invalid,
    Forbidden."""
    record_type = ctx.service.registry.type("attachment")
    sha1 = hashlib.sha1(content, usedforsecurity=False).hexdigest()

    def write(tx: Transaction) -> dict[str, Any]:
        writing = RecordWriter(ctx, tx)
        writing.rules.require_create(record_type)
        sent = {"name": name, "mime_type": mime_type or OCTETS}
        read = {field: record_type.fields[field].coerce(text, writing.intake()) for field, text in sent.items()}
        own = {"mime_type": read["mime_type"], "uploader_id": ctx.actor.worker_id}
        row = tx.first(record_type.table, storage_sha1hash=sha1, size=len(content), **own)
        if row is not None and writing.rules.may_read(tx, record_type, row[0]):
            return records.shown(ctx, tx, record_type, row[0])
        id = writing.create("attachment", read | own | {"content": content})
        return records.shown(ctx, tx, record_type, id)

    return ctx.service.store.write(write)


def decoded(content: bytes, encoding: str) -> bytes:
    """The bytes of an upload, which may be base64. Raises Invalid."""
    if encoding in ("", "text"):
        return content
    if encoding != "base64":
        raise Invalid(f"encoding: '{encoding[:50]}' is not text or base64", field="encoding")
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise Invalid("content: is not base64", field="content") from None
