"""The HTML of a message as a page shows it: sanitized, with remote images only on request."""

from server.context import Context
from server.dataclass import dataclass
from server.errors import NotFound
from server.mail.charsets import decode
from server.markup import MAX_HTML_BYTES, clean_html, is_colored
from server.outbox.deliver import own_file_id
from server.record_types.shared import paths
from server.records.reading import RecordReader
from server.store import blobs
from server.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class MessageBody:
    """html: safe to show in a frame without scripts. has_remote_images: whether remote images were left out.
    is_colored: whether it has colours of its own."""

    html: str
    has_remote_images: bool
    is_colored: bool


def message_html(ctx: Context, message_id: int, with_remote_images: bool = False) -> MessageBody:
    """Returns the HTML part of a message. Raises NotFound if it has none or one above MAX_HTML_BYTES, Forbidden,
    TooLarge."""

    def read(tx: Transaction) -> bytes:
        reader = RecordReader(ctx, tx)
        message = reader.retrieve("message", message_id)
        file = reader.record("attachment", message["html_attachment_id"]) if message["html_attachment_id"] else None
        return b"" if file is None else blobs.read_many(tx, {file["blob_id"]}, MAX_HTML_BYTES).get(file["blob_id"], b"")

    content = ctx.service.store.read(read)
    if not content:
        raise NotFound(f"message {message_id} has no HTML that can be shown")
    left_out: list[str] = []
    base_url = ctx.service.base_url

    def image_url(url: str) -> str | None:
        if paths.OWN_FILE.fullmatch(url):
            return f"{base_url}{url}"
        if id := own_file_id(base_url, url):
            return f"{base_url}{paths.file(id)}"
        if url.lower().startswith(("http://", "https://")):
            left_out.append(url)
        return None

    html = clean_html(decode(content, "utf-8"), allow_remote_images=with_remote_images, image_url=image_url)
    return MessageBody(html, bool(left_out) and not with_remote_images, is_colored(html))
