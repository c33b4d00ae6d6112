"""Attachments: uploaded, and given out with what a browser needs to treat them safely."""

import base64
import binascii
import hashlib
from collections.abc import Iterator
from functools import partial
from typing import Any

from server.context import Context
from server.dataclass import dataclass
from server.errors import Invalid, NotFound
from server.record_types.base import Record
from server.records import records
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store import blobs
from server.store.transaction import Transaction

# Types that are handed out as they are; every other one as plain bytes, so that no browser runs them.
SAFE_TYPES = frozenset(
    "image/png image/jpeg image/gif image/webp text/plain text/csv application/pdf application/zip application/json "
    "audio/mpeg audio/ogg video/mp4 video/webm message/rfc822 text/calendar".split()
)
OCTETS = "application/octet-stream"
IMAGES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))  # that browsers show inside of pages


@dataclass(frozen=True)
class StoredFile:
    """A file that the caller may read. size in bytes; updated in Unix seconds."""

    id: int
    name: str
    mime_type: str
    size: int
    sha1: str
    updated: int
    blob_id: int

    @property
    def safe_type(self) -> str:
        """The type to send: its own when no browser would run it."""
        own = plain_type(self.mime_type)
        return own if own in SAFE_TYPES else OCTETS

    @property
    def is_image(self) -> bool:
        """Whether browsers show it inside of pages."""
        return plain_type(self.mime_type) in IMAGES


def plain_type(mime_type: str) -> str:
    """A MIME type without its parameters.

    >>> plain_type("Image/PNG; name=a.png")
    'image/png'
    """
    return mime_type.partition(";")[0].strip().lower()


def find(ctx: Context, id: int) -> StoredFile:
    """Raises NotFound, also for a file whose content was not kept, and Forbidden."""

    def read(tx: Transaction) -> StoredFile:
        record = RecordReader(ctx, tx).retrieve("attachment", id)
        require_kept(record)
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


def require_kept(record: Record) -> None:
    """Raises NotFound for a file of which a mail told more than is kept. record: an attachment."""
    if record["dropped"]:
        raise NotFound(f"attachment {record['id']} was not kept: {record['dropped']}")


def pieces(ctx: Context, file: StoredFile, start: int, end: int) -> Iterator[bytes]:
    """The bytes from `start` up to `end`, a piece at a time, each in a snapshot of its own: a slow client must not hold
    one open. Contents never change, so the pieces fit together."""
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
    """Keep a file; its bytes are shared with other files of the same bytes. The same content and type from the same
    worker again is the file that is there, under its first name. Raises TooLarge, Invalid, Forbidden.

    Files of other workers are not found again."""
    record_type = ctx.service.registry.type("attachment")
    sha1 = hashlib.sha1(content, usedforsecurity=False).hexdigest()

    def write(tx: Transaction) -> dict[str, Any]:
        writing = RecordWriter(ctx, tx)
        writing.rules.require_create(record_type)
        sent = {"name": name, "mime_type": mime_type or OCTETS}
        read = {field: record_type.fields[field].coerce(text, writing.intake()) for field, text in sent.items()}
        own = {"mime_type": read["mime_type"], "uploader_id": ctx.actor.worker_id}
        known = tx.first(record_type.table, storage_sha1hash=sha1, size=len(content), **own)
        if known is not None and writing.rules.may_read(tx, record_type, known[0]):
            return records.shown(ctx, tx, record_type, known[0])
        id = writing.create("attachment", read | own | {"content": content})
        return records.shown(ctx, tx, record_type, id)

    return ctx.service.store.write(write)


def decoded(content: bytes, encoding: str) -> bytes:
    """The bytes of an upload: as they are, or base64. Raises Invalid."""
    if encoding in ("", "text"):
        return content
    if encoding != "base64":
        raise Invalid(f"encoding: '{encoding[:50]}' is not text or base64", field="encoding")
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        raise Invalid("content: is not base64", field="content") from None
