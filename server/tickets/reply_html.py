"""The HTML of messages that workers sent, for a page that shows it without a frame."""

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from server.context import Context
from server.mail.charsets import decode
from server.markup import clean_html
from server.outbox.deliver import own_file_id
from server.record_types.shared import paths
from server.records import records
from server.store import blobs
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.store.transaction import Transaction

MAX_BYTES = 16 * 1024  # of one message; larger ones have a frame
MAX_CACHED = 256  # messages; cleaning takes a millisecond for each
OWN_FILES = re.compile(r'<img src="/files/([0-9]+)')
# The look that a mail brings along belongs into a frame; pages allow no inline styles.
_LOOK = re.compile(r'<(?:font|center)\b|<[^>]* (?:style|bgcolor|background|color|align|width|border)="')


def read(ctx: Context, attachment_ids: Iterable[int]) -> dict[int, str]:
    """Reads the HTML parts of messages that the caller may read. Returns sanitized HTML by the id of the attachment;
    leaves out what needs a frame: large HTML, and HTML with a look of its own or remote images."""
    ids = list(attachment_ids)
    if not ids:
        return {}
    contents = records.reading(ctx, lambda tx: _contents(tx, ids))
    base_url = ctx.service.base_url
    return {id: html for id, content in contents.items() if (html := _plain_look(content, base_url))}


def _contents(tx: Transaction, ids: list[int]) -> dict[int, bytes]:
    blob_ids: dict[int, int] = dict(tx.rows(_blob_ids, (json.dumps(ids),)))
    contents = blobs.read_many(tx, set(blob_ids.values()), MAX_BYTES)
    return {id: contents[blob_id] for id, blob_id in blob_ids.items() if blob_id in contents}


def _blob_ids() -> Any:
    attachment = table_named("attachment")
    return attachment.select(attachment.c.id, attachment.c.blob_id).where(in_list(attachment.c.id, slot(0)))


@lru_cache(maxsize=MAX_CACHED)
def _plain_look(content: bytes, base_url: str) -> str:
    """Returns the sanitized HTML, "" if it needs a frame."""
    left_out: list[str] = []

    def image_url(url: str) -> str | None:
        if paths.OWN_FILE.fullmatch(url):
            return url
        if id := own_file_id(base_url, url):
            return paths.file(id)
        left_out.append(url)
        return None

    html = clean_html(decode(content, "utf-8"), image_url=image_url)
    return "" if left_out or _LOOK.search(html) else html
