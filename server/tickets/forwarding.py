"""The content of a forward: a message with its header block, its HTML with pictures, and its files."""

from dataclasses import replace

from server import times
from server.context import Context
from server.contexts import MESSAGE
from server.dataclass import dataclass
from server.mail import hash_commands
from server.mail.addresses import parse_list
from server.mail.headers import header_value
from server.mail.quotation import Quotation, forward_message
from server.mail.written_dates import date_and_time
from server.record_types.record_type import Record
from server.record_types.shared import paths
from server.record_types.shared.relation_tables import ATTACHED
from server.records.reading import RecordReader
from server.store.transaction import Transaction
from server.tickets.letter import Voice
from server.tickets.message_html import stored_html
from server.tickets.quoting import safe_html
from server.tickets.request_values import ReplyRequest
from server.tickets.types.message_parts import stored_headers
from server.tickets.writers import writer
from server.translation import _, speaking


@dataclass(frozen=True, slots=True)
class ForwardedMessage:
    """A message read for forwarding. html: as stored, "" for none. head: sender, subject, To and Cc."""

    text: str
    html: str
    second: int
    head: tuple[str, str, str, str]


def complete_request(reading: RecordReader, request: ReplyRequest, message: Record) -> ReplyRequest:
    """Returns a forward with the line that stands for the original message, and with its files if the request names
    none."""
    if not request.with_original:
        return request
    content = request.content
    if not any(kind == hash_commands.ORIGINAL for kind, _piece in hash_commands.pieces(content)):
        content = f"{content.rstrip()}\n\n{hash_commands.ORIGINAL_LINE}"
    file_ids = request.file_ids or forwarded_file_ids(reading, message, request.has_html)
    return replace(request, content=content, file_ids=file_ids, with_original=False)


def files_to_forward(ctx: Context, message_id: int) -> tuple[int, ...]:
    """Returns the ids of the files that a forward of a message as Markdown attaches. Raises NotFound, Forbidden."""

    def read(tx: Transaction) -> tuple[int, ...]:
        reading = RecordReader(ctx, tx)
        return forwarded_file_ids(reading, reading.retrieve("message", message_id), has_html=True)

    return ctx.service.store.read(read)


def forwarded_file_ids(reading: RecordReader, message: Record, has_html: bool) -> tuple[int, ...]:
    """Returns the files of a message that a forward attaches. has_html: the HTML with its inline pictures is forwarded
    too."""
    inline: set[int] = set()
    if has_html:
        inline = {int(match[0].rpartition("/")[2]) for match in paths.OWN_FILE.finditer(stored_html(reading, message))}
    rows = reading.tx.find(ATTACHED, context=MESSAGE, record_id=message["id"])
    ids = [row[ATTACHED.position["attachment_id"]] for row in rows]
    files = [reading.record("attachment", id) for id in sorted(ids) if id != message["html_attachment_id"]]
    return tuple(file["id"] for file in files if file and not file["dropped"] and file["id"] not in inline)


def read_message(reading: RecordReader, message: Record, subject: str, has_html: bool) -> ForwardedMessage:
    """Reads a message to forward. subject: of its ticket, used if the message has none."""
    fields, author = stored_headers.head(message["headers"]), writer(reading, message)
    to, cc = (_readable(fields.all(name)) for name in ("to", "cc"))
    own = " ".join(header_value(fields.first("subject")).split())
    head = (_shown(author.name, author.address), own or subject, to, cc)
    return ForwardedMessage(
        message["content"], stored_html(reading, message) if has_html else "", message["created"], head
    )


def quotation_of(message: ForwardedMessage, base_url: str, voice: Voice) -> Quotation:
    """Renders the forwarded message as it appears in the mail."""
    with speaking(voice.language):
        date, time = date_and_time(message.second, times.zone(voice.zone))
        sender, subject, to, cc = message.head
        head = [
            (_("From:"), sender),
            (_("Date:"), _("{date} at {time}", date=date, time=time)),
            (_("Subject:"), subject),
            (_("To:"), to),
            (_("Cc:"), cc),
        ]
        return forward_message(message.text, safe_html(message.html, base_url), head)


def _readable(values: list[str]) -> str:
    several = [each for value in values for each in parse_list(value)]
    return ", ".join(_shown(header_value(each.name), each.address) for each in several)


def _shown(name: str, address: str) -> str:
    """A mailbox in readable form."""
    return f"{name} <{address}>" if name else address
