"""The initial content of a reply form: recipients, subject, ticket status, and the placeholder lines for the signature
and the forwarded message."""

from typing import Any

from server.context import Context
from server.dataclass import dataclass
from server.errors import NotFound
from server.mail.hash_commands import ORIGINAL_LINE
from server.mail.mail_bytes import subject_of_forward
from server.outbox.deliver import own_file
from server.record_types.record_type import Record
from server.record_types.shared.sending_addresses import UNTIL_ANSWERED
from server.records import records
from server.tickets import forwarding

SIGNATURE, ORIGINAL = "#signature", ORIGINAL_LINE
WAITING = "1"  # the status of a ticket after a reply


@dataclass(frozen=True, slots=True)
class ReplyStart:
    """values: {parameter of a reply: text} without blank ones. file_ids: the attached files."""

    values: dict[str, str]
    file_ids: tuple[int, ...] = ()


def of_reply(ctx: Context, ticket: Record, kind: str, message_id: int, *, has_signature: bool) -> ReplyStart:
    """Returns the initial values of a reply, a forward or a note. message_id: the message replied to or forwarded, 0
    for none. The caller becomes the owner of a ticket without one."""
    values = {"status": WAITING, UNTIL_ANSWERED: "1"}
    if not ticket["owner_id"]:
        values["owner_id"] = str(ctx.actor.worker_id)
    if kind == "note" or not message_id:
        return ReplyStart(values)
    signature = f"\n\n{SIGNATURE}" if has_signature else ""
    if kind == "forward":
        values |= {
            "content": f"{signature}\n\n{ORIGINAL}",
            "subject": subject_of_forward(str(ticket["subject"])),
            "status": str(ticket["status_id"]),
        }
        return ReplyStart(values, tuple(forwarding.files_to_forward(ctx, message_id)))
    message = records.retrieve(ctx, "message", message_id, "reply_to,reply_cc")
    to, cc = str(message.get("reply_to") or ""), str(message.get("reply_cc") or "")
    return ReplyStart(values | {"to": to, "cc": cc, "content": signature})


def of_resending(ctx: Context, ticket: Record, message_id: int) -> ReplyStart:
    """Returns the initial values to send a sent message again after editing; the ticket keeps its status. Raises
    NotFound."""
    message = records.retrieve(ctx, "message", message_id, "headers,content,attachments")
    if message["ticket_id"] != ticket["id"] or not message["is_outgoing"]:
        raise NotFound("this ticket has no such message")
    headers: dict[str, Any] = message.get("headers") or {}
    values = {name: " ".join(str(headers.get(name) or "").split()) for name in ("to", "cc")}
    values |= {"content": str(message["content"]), "status": str(ticket["status_id"]), UNTIL_ANSWERED: "1"}
    html = message["html_attachment_id"]
    files = message.get("attachments") or []
    attachments = files if isinstance(files, list) else files.values()
    inline = {int(match[1]) for match in own_file(ctx.service.base_url).finditer(values["content"])}
    return ReplyStart(values, tuple(each["id"] for each in attachments if each["id"] not in (html, *inline)))


def typed_text(content: str) -> str:
    """Returns the text that the worker typed, "" for a signature alone."""
    return "" if content.strip() == SIGNATURE else content
