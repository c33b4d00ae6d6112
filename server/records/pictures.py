"""Pictures of records: the uploaded image, or initials on a colour that depends on the id."""

import unicodedata
from html import escape

from server.context import Context
from server.dataclass import dataclass
from server.errors import NotFound
from server.markup.image_headers import image_header
from server.markup.plain_svg import SVG_TYPE, looks_like_svg
from server.record_types.traits import Avatars
from server.records import records
from server.store import blobs
from server.store.transaction import Transaction

# White text has a contrast of at least 4.5:1 on each (WCAG 2.2, 1.4.3).
COLOURS = ("#0b5f8a", "#1d6b3a", "#7d4e00", "#ab1f2d", "#3c4ba8", "#6b2f86", "#00666b", "#5a5149")
SIDE = 100  # pixels of a picture with initials
LABEL = "_label"


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture. content: the bytes of an image. is_given: whether it was uploaded, so that its version changes with
    it."""

    content: bytes
    content_type: str
    version: int
    is_given: bool


def picture(ctx: Context, uri: str, id: int) -> Picture:
    """Returns the picture of a record that the caller may read. Raises Forbidden, and NotFound, also for a type without
    pictures."""
    record_type = ctx.service.registry.type(uri)
    if not record_type.has(Avatars):
        raise NotFound(f"records of type '{record_type.uri}' have no pictures")
    label = str(records.retrieve(ctx, record_type.uri, id, LABEL)[LABEL])

    def read(tx: Transaction) -> tuple[int, bytes]:
        row = tx.get(record_type.table, id)
        version = int(row[record_type.table.position["image_blob_id"]]) if row is not None else 0
        return version, blobs.read(tx, version) if version else b""

    version, content = ctx.service.store.read(read)
    if content:
        return Picture(content, type_of(content), version, True)
    return Picture(drawn(label, id).encode(), SVG_TYPE, 0, False)


def type_of(content: bytes) -> str:
    """Returns the media type of an uploaded picture by its bytes."""
    header = image_header(content)
    return header.type if header is not None else SVG_TYPE if looks_like_svg(content) else "application/octet-stream"


def drawn(label: str, id: int) -> str:
    """An SVG with the initials of a label."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE} {SIDE}" width="{SIDE}" height="{SIDE}">'
        f'<rect width="{SIDE}" height="{SIDE}" fill="{COLOURS[id % len(COLOURS)]}"/>'
        f'<text x="50" y="50" dy="0.35em" text-anchor="middle" font-family="system-ui, sans-serif" font-size="42" '
        f'fill="#fff">{escape(initials(label))}</text></svg>'
    )


def initials(label: str) -> str:
    """The first letters of the first and the last word; a question mark if there are none.

    >>> initials("Mara Lindqvist"), initials("acme"), initials("Zoë 🛠️ van den Berg"), initials("— 7"), initials("")
    ('ML', 'A', 'ZB', '7', '?')
    """
    letters = [word[0] for word in label.split() if unicodedata.category(word[0])[0] in "LN"]
    chosen = [letters[0], letters[-1]] if len(letters) > 1 else letters
    return "".join(chosen).upper()[:2] or "?"
