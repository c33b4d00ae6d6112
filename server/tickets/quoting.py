"""The quotation of a reply: the message replied to, or the conversation up to it, as its group chose."""

from typing import Any

from server import times
from server.context import Context
from server.dataclass import dataclass
from server.errors import TooLarge
from server.mail import hash_commands
from server.mail.quotation import Quotation, quote_message
from server.markup import clean_html, escape_markdown, markdown_to_html, quoted
from server.outbox.deliver import own_file_id
from server.people.types.group import THREAD
from server.record_types.record_type import Record
from server.record_types.shared import paths
from server.records.reading import RecordReader
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.tickets import letter, message_html, requesters
from server.tickets.letter import Voice
from server.tickets.writers import writer_name
from server.translation import speaking

MAX_MESSAGES = 20  # of a conversation, the newest first
MAX_CHARACTERS = 100_000  # of their texts
MAX_QUOTED_HTML = 512 * 1024  # characters; above it texts are quoted
# Foreign mail uses tables for layout; an inline style exempts them from the borders that outbox/frame.py adds.
OWN_LOOK = "table { border-collapse: separate }"


@dataclass(frozen=True, slots=True)
class QuotedMessage:
    """A message to quote. html: as stored, "" for none. is_own: written by the team."""

    text: str
    html: str
    author: str
    second: int
    is_own: bool


def is_quoting(content: str) -> bool:
    """Whether a content has the line that stands for the quotation."""
    return any(kind == hash_commands.ORIGINAL for kind, _piece in hash_commands.pieces(content))


def read_messages(reading: RecordReader, message: Record, group: Record, has_html: bool) -> tuple[QuotedMessage, ...]:
    """Reads the messages that a reply to a message quotes, newest first. has_html: for an HTML part, too."""
    is_thread = group["quoted_history"] == THREAD
    found = [message, *(_before(reading, message) if is_thread else ())]
    messages: list[QuotedMessage] = []
    left = MAX_CHARACTERS
    for each in found:
        text = each["content"][:left]
        html = message_html.stored_html(reading, each) if has_html else ""
        is_own = bool(each["is_outgoing"])
        if is_thread and any(kind == "quote" for kind, _part in quoted.parts(text)):
            text = _own_words(text)
            html = _rendered(text) if is_own and html else ""
        messages.append(QuotedMessage(text, html, writer_name(reading, each), each["created"], is_own))
        left -= len(text)
        if left <= 0:
            break
    return tuple(messages)


def quotation_of(messages: tuple[QuotedMessage, ...], base_url: str, voice: Voice) -> Quotation:
    """Renders messages as the email quotes them, each below a line with its author and time."""
    is_large = sum(len(each.html) for each in messages) > MAX_QUOTED_HTML
    with speaking(voice.language):
        quotations = [
            quote_message(
                each.text,
                each.author,
                each.second,
                times.zone(voice.zone),
                "" if is_large else safe_html(each.html, base_url),
            )
            for each in messages
        ]
    return Quotation("\n\n".join(each.text for each in quotations), "".join(each.html for each in quotations))


def of_reply(ctx: Context, message_id: int, *, is_markdown: bool = False) -> Quotation:
    """Returns the quotation in a reply of the caller to a message. is_markdown: its text is Markdown, to be edited.
    Raises NotFound, Forbidden."""

    def read(tx: Transaction) -> tuple[tuple[QuotedMessage, ...], Voice]:
        reading = RecordReader(ctx, tx)
        message = reading.retrieve("message", message_id)
        ticket = reading.record("ticket", message["ticket_id"])
        group = reading.record("group", ticket["group_id"]) if ticket else None
        worker = reading.record("worker", ctx.actor.worker_id)
        assert group is not None
        voice = letter.voice_of(ctx, group, worker, ctx.actor.timezone or "UTC")
        return read_messages(reading, message, group, has_html=not is_markdown), voice

    messages, voice = ctx.service.store.read(read)
    if is_markdown:
        messages = tuple(each if each.is_own else _escaped(each) for each in messages)
    return quotation_of(messages, ctx.service.base_url, voice)


def safe_html(html: str, base_url: str) -> str:
    """The sanitized HTML of a message within another; pictures of the service get full addresses, by which delivery
    finds them. Returns "" if it is too large."""
    if not html:
        return ""

    def image_url(url: str) -> str | None:
        if paths.OWN_FILE.fullmatch(url):
            return f"{base_url}{url}"
        return url if own_file_id(base_url, url) else None

    try:
        return clean_html(html, allow_remote_images=True, image_url=image_url, look=OWN_LOOK)
    except TooLarge:
        return ""


def _before(reading: RecordReader, message: Record) -> list[Record]:
    """The messages before a message that its recipients may know, newest first: those of the ticket's requesters, and
    those that the team sent to one of them."""
    ids = set(requesters.ids_of(reading.tx, message["ticket_id"]))
    emails = {reading.label("address", id).lower() for id in ids}
    rows = reading.tx.rows(_earlier, (message["ticket_id"], message["created"], message["id"]))
    earlier = [each for (id,) in rows if (each := reading.record("message", id)) is not None]
    return [each for each in earlier if _is_known(each, ids, emails)]


def _is_known(message: Record, ids: set[int], emails: set[str]) -> bool:
    if not message["is_outgoing"]:
        return message["sender_id"] in ids
    return not emails.isdisjoint(requesters.recipients_in(message["headers"]))


def _earlier() -> Any:
    table = table_named("message")
    message = table.c
    query = table.select(message.id).where(
        message.ticket_id == slot(0),
        message.created <= slot(1),
        message.id != slot(2),
        message.is_not_sent == 0,
        message.is_forward == 0,
        message.is_autoreply == 0,
        message.is_notice == 0,
    )
    return query.order_by(message.created.desc(), message.id.desc()).limit(MAX_MESSAGES - 1)


def _own_words(text: str) -> str:
    return "\n".join(part for kind, part in quoted.parts(text) if kind != "quote").strip("\n")


def _rendered(markdown: str) -> str:
    return markdown_to_html(markdown, allow_remote_images=True, keep_html=True)


def _escaped(message: QuotedMessage) -> QuotedMessage:
    return QuotedMessage(escape_markdown(message.text), "", message.author, message.second, message.is_own)
