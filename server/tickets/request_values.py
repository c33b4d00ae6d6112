"""Parses the form values of compose, reply and incoming tickets into requests and validates each parameter.

Existence of ids and permissions are checked later, in a transaction (compose.py, reply.py). drafts.py builds the same
requests from the params of a draft."""

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from server import times
from server.context import Context
from server.dataclass import dataclass
from server.digits import id_in
from server.errors import AdminOnly, Forbidden, Invalid, Malformed, Mistakes, NotFound, Required
from server.fields.field import as_text
from server.mail.addresses import NamedAddress, parse_all, valid
from server.mail.mail_bytes import MAX_RECIPIENTS
from server.outbox.content import HTML, MARKDOWN, PLAIN
from server.records.reading import RecordReader
from server.tickets.types.ticket_parts import status_names
from server.tickets.types.ticket_parts.status_names import NamedStatus
from server.translation import N_, about_field, lazy_gettext

MAX_SUBJECT, MAX_CONTENT, MAX_FILES = 255, 16_777_215, 100
MAX_NAME, MAX_EXTERNAL_ID = 255, 255
FORMATS = {
    "": PLAIN,
    "plain": PLAIN,
    "plaintext": PLAIN,
    "text": PLAIN,
    "markdown": MARKDOWN,
    "parsedown": MARKDOWN,
    "html": HTML,
}
_BREAKS = re.compile(r"[\r\n\0]")
FALSE = frozenset(("", "0", "false", "no"))  # same words as in web/params.py, which reads dont_send first

Addresses = tuple[NamedAddress, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MailRequest:
    """The parameters that compose and reply share.

    Ids and times (Unix seconds) are 0 if absent. owner_id, status: None leaves the choice to the operation. custom:
    unconverted values by `custom_<id>`. until_answered: drop mail scheduled for later if a requester writes first.
    format: of content; PLAIN, MARKDOWN or HTML."""

    content: str
    subject: str = ""
    format: str = PLAIN
    to: Addresses = ()
    cc: Addresses = ()
    bcc: Addresses = ()
    group_id: int = 0
    bucket_id: int = 0
    owner_id: int | None = None
    status: int | None = None
    named_status: NamedStatus | None = None
    reopen_at: int = 0
    send_at: int = 0
    html_template_id: int = 0
    file_ids: tuple[int, ...] = ()
    custom: dict[str, Any] = field(default_factory=dict)
    dont_send: bool = False
    until_answered: bool = False

    @property
    def has_html(self) -> bool:
        """Whether the mail has an HTML part."""
        return self.format != PLAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposeRequest(MailRequest):
    """The parameters of compose. org_id: None for the organization of the first recipient."""

    org_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyRequest(MailRequest):
    """The parameters of a reply or forward.

    worker_id: the sending worker. with_original: a forward includes the original message, and its files unless the
    request names some. is_applied: the changes of the ticket were made when the reply was scheduled."""

    message_id: int
    worker_id: int = 0
    dont_keep_copy: bool = False
    is_forward: bool = False
    with_original: bool = False
    is_broadcast: bool = False
    is_autoreply: bool = False
    is_applied: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingRequest:
    """A ticket that a program creates for an external sender, such as the visitor who filled in a contact form.

    custom: unconverted values by `custom_<id>`. external_id: the id in the calling program, "" for none. Ids are 0 if
    absent."""

    sender: NamedAddress
    subject: str
    content: str
    format: str = PLAIN
    group_id: int = 0
    bucket_id: int = 0
    file_ids: tuple[int, ...] = ()
    custom: dict[str, Any] = field(default_factory=dict)
    external_id: str = ""


def incoming_request(values: Mapping[str, Any]) -> IncomingRequest:
    """Parses the form of a ticket from an external sender. Raises Required or Invalid, naming the parameter."""
    form = FormReader(values)
    form.require("from", "subject", "content")
    sender, name = _sender(form), form.text("name").strip()
    _one_line("name", name)
    if len(name) > MAX_NAME:
        raise Invalid(
            about_field(
                "name", lazy_gettext("at most {count} characters, this has {number}", count=MAX_NAME, number=len(name))
            ),
            field="name",
        )
    external_id = form.text("external_id").strip()
    if len(external_id) > MAX_EXTERNAL_ID:
        raise Invalid(
            about_field(
                "external_id",
                lazy_gettext(
                    "at most {count} characters, this has {number}", count=MAX_EXTERNAL_ID, number=len(external_id)
                ),
            ),
            field="external_id",
        )
    return IncomingRequest(
        sender=NamedAddress(name or sender.name, sender.address),
        subject=_subject(form.text("subject", required=True)),
        content=_content(form),
        format=_format(form),
        group_id=form.id("group_id") or 0,
        bucket_id=form.id("bucket_id") or 0,
        file_ids=_files(form),
        custom=form.custom(),
        external_id=external_id,
    )


def _sender(form: "FormReader") -> NamedAddress:
    """Returns the single address of `from`. Raises Required, Invalid."""
    text = form.text("from", required=True).strip()
    senders = form.addresses("from", 1)
    if len(senders) != 1 or not valid(senders[0].address):
        raise Invalid(f"from: '{text[:80]}' is not one email address, such as ann@example.com", field="from")
    return senders[0]


def compose_request(ctx: Context, values: Mapping[str, Any]) -> ComposeRequest:
    """Parses a compose form. Raises Required or Invalid, naming the parameter."""
    form = FormReader(values)
    form.require("subject", "content", "group_id")
    subject = _subject(form.text("subject", required=True))
    content = _content(form)
    group_id = form.id("group_id", required=True) or 0
    common = _common(ctx, form)
    if not common["dont_send"] and not common["to"]:
        raise Required(N_("to is required unless dont_send is 1"), field="to")
    return ComposeRequest(subject=subject, content=content, group_id=group_id, org_id=form.id("org_id"), **common)


def reply_request(ctx: Context, values: Mapping[str, Any]) -> ReplyRequest:
    """Parses a reply form. Raises Required, Invalid, AdminOnly."""
    form = FormReader(values)
    content = _content(form)
    message_id = form.id("message_id") or _newest_message(ctx, form)
    common = _common(ctx, form)
    request = ReplyRequest(
        subject=_subject(form.text("subject")),
        content=content,
        message_id=message_id,
        group_id=form.id("group_id") or 0,
        worker_id=_sender_worker(ctx, form),
        dont_keep_copy=form.flag("dont_keep_copy"),
        is_forward=form.flag("is_forward"),
        with_original=form.flag("is_forward") and form.flag("with_original", True),
        is_broadcast=form.flag("is_broadcast"),
        is_autoreply=form.flag("is_autoreply"),
        **common,
    )
    if request.dont_send and request.dont_keep_copy:
        raise Invalid("dont_keep_copy: with dont_send=1 nothing remains; send only one of them", field="dont_keep_copy")
    if not request.to and not request.dont_send and request.is_forward:
        raise Required("to is required to forward a message", field="to")
    return request


def _newest_message(ctx: Context, form: "FormReader") -> int:
    """Returns the id of the newest message of the ticket in `ticket_id`. Raises Required, Invalid."""
    ticket_id = form.id("ticket_id")
    if not ticket_id:
        raise Required("message_id is required, or ticket_id for the newest message of a ticket", field="message_id")
    try:
        ticket = ctx.service.store.read(lambda tx: RecordReader(ctx, tx).retrieve("ticket", ticket_id))
    except (NotFound, Forbidden):
        raise Invalid(f"ticket_id: there is no ticket {ticket_id}", field="ticket_id") from None
    if not ticket["latest_message_id"]:
        raise Invalid(f"ticket_id: ticket {ticket_id} has no message to reply to", field="ticket_id")
    return int(ticket["latest_message_id"])


class FormReader:
    """Reads form values by name and raises errors that name the parameter. null counts as absent."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def text(self, name: str, required: bool = False) -> str:
        """Returns the text. Raises Required if it is required and blank."""
        text = _as_text(name, self._values.get(name, ""))
        if required and not text.strip():
            raise Required(lazy_gettext("{field} is required", field=name), field=name)
        return text

    def require(self, *names: str) -> None:
        """Raises Required, naming all parameters that are absent or blank."""
        mistakes = Mistakes()
        for name in names:
            with mistakes.collect():
                self.text(name, required=True)
        mistakes.require_none()

    def id(self, name: str, required: bool = False) -> int | None:
        """Returns a record id, 0 for no record, None if the parameter is absent or blank."""
        if name not in self._values and not required:
            return None
        text = self.text(name, required).strip()
        return _id(name, text) if text else None

    def ids(self, name: str) -> tuple[int, ...]:
        """Returns the ids of `name[]` without duplicates; a single plain value counts as a list."""
        value = self._values.get(name)
        if value is None:
            return ()
        if isinstance(value, dict):
            raise Invalid(f"{name}: must be a list; write {name}[]=<id>", field=name)
        items = value if isinstance(value, (list, tuple)) else [value]
        texts = [as_text(item).strip() for item in items if not isinstance(item, (list, dict))]
        return tuple(dict.fromkeys(_id(name, text) for text in texts if text))

    def flag(self, name: str, default: bool = False) -> bool:
        """Returns a boolean: blank, 0, false and no are False, any other value is True."""
        return self.text(name).strip().lower() not in FALSE if name in self._values else default

    def time(self, name: str, ctx: Context) -> int:
        """Returns the Unix second of a time text in the caller's zone, 0 for a blank one."""
        text = self.text(name) if name in self._values else ""
        if not text:
            return 0
        try:
            return times.instant(text, ctx.now, ctx.tz)
        except Invalid as error:
            raise Invalid(f"{name}: {error.message}", field=name) from error

    def addresses(self, name: str, most: int) -> Addresses:
        """Parses a list of addresses without duplicates, at most `most` + 1. Raises Invalid, quoting an invalid
        address."""
        value = self._values.get(name, "")
        lines = [_as_text(name, each) for each in (value if isinstance(value, list | tuple) else [value])]
        for line in lines:
            _one_line(name, line)
        text = ", ".join(line for line in lines if line.strip())
        if not text:
            return ()
        by_email: dict[str, NamedAddress] = {}
        try:
            for each in parse_all(text, most + 1):
                by_email.setdefault(each.address.lower(), each)
        except Invalid as error:
            raise Invalid(f"{name}: {error.message}", field=name) from None
        return tuple(by_email.values())

    def custom(self) -> dict[str, Any]:
        """Returns the values of custom fields by `custom_<id>`."""
        return {name: value for name, value in self._values.items() if name.startswith("custom_")}


def recipients_within(ctx: Context, to: Addresses, cc: Addresses, bcc: Addresses) -> None:
    """Raises Invalid for more recipients than one mail may have."""
    most = max_recipients(ctx)
    for name, several in (("to", to), ("cc", cc), ("bcc", bcc)):
        if len(several) > most:
            raise Invalid(
                about_field(
                    name, lazy_gettext("an email can have at most {count} recipients; remove some", count=most)
                ),
                field=name,
            )
    if len(to) + len(cc) + len(bcc) > most:
        raise Invalid(f"to, cc and bcc: an email can have at most {most} recipients; remove some", field="to")


def max_recipients(ctx: Context) -> int:
    """Returns the limit for to, cc and bcc together."""
    return min(int(ctx.service.settings.mail_max_recipients), MAX_RECIPIENTS)


def _common(ctx: Context, form: FormReader) -> dict[str, Any]:
    most, dont_send = max_recipients(ctx), form.flag("dont_send")
    to, cc, bcc = (form.addresses(name, most) for name in ("to", "cc", "bcc"))
    recipients_within(ctx, to, cc, bcc)
    used = {each.address.lower() for each in to}
    cc = tuple(each for each in cc if each.address.lower() not in used)
    used |= {each.address.lower() for each in cc}
    status, named_status = _status(form), _named_status(ctx, form)
    if named_status is not None:
        status_names.require_state(named_status, named_status.status_id if status is None else status)
        status = named_status.status_id
    reopen_at, send_at = form.time("reopen_at", ctx), form.time("send_at", ctx)
    return {
        "format": _format(form),
        "to": to,
        "cc": cc,
        "bcc": tuple(each for each in bcc if each.address.lower() not in used),
        "bucket_id": form.id("bucket_id") or 0,
        "owner_id": form.id("owner_id"),
        "status": status,
        "named_status": named_status,
        "reopen_at": reopen_at if status in (1, 2) else 0,
        "send_at": send_at if send_at > ctx.now and not dont_send else 0,
        "html_template_id": form.id("html_template_id") or 0,
        "file_ids": _files(form),
        "custom": form.custom(),
        "dont_send": dont_send,
        "until_answered": form.flag("until_answered"),
    }


def _as_text(name: str, value: Any) -> str:
    """Converts one value to text. Raises Invalid for a list or map, Malformed for bytes that are not UTF-8."""
    if isinstance(value, (list, tuple, dict)):
        raise Invalid(about_field(name, N_("takes one value, not a list")), field=name)
    value = getattr(value, "content", value)  # a file part of a multipart form
    try:
        return value.decode() if isinstance(value, bytes) else as_text(value)
    except UnicodeDecodeError as error:
        raise Malformed(f"the value of '{name}' is not valid UTF-8", field=name) from error


def _subject(text: str) -> str:
    subject = text.strip()
    _one_line("subject", subject)
    if len(subject) > MAX_SUBJECT:
        raise Invalid(
            about_field(
                "subject",
                lazy_gettext("at most {count} characters, this has {number}", count=MAX_SUBJECT, number=len(subject)),
            ),
            field="subject",
        )
    return subject


def _one_line(name: str, text: str) -> None:
    if _BREAKS.search(text.strip()):
        raise Invalid(f"{name}: must be one line; remove line breaks and NUL characters", field=name)


def _content(form: FormReader) -> str:
    content = form.text("content", required=True).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    if len(content) > MAX_CONTENT:
        raise Invalid(
            about_field(
                "content",
                lazy_gettext("at most {count} characters, this has {number}", count=MAX_CONTENT, number=len(content)),
            ),
            field="content",
        )
    return content


def _format(form: FormReader) -> str:
    name = form.text("content_format").strip().lower()
    if name not in FORMATS:
        raise Invalid(
            f"content_format: '{name[:50]}' is not a known format; send markdown or html, or leave it out for plain "
            f"text",
            field="content_format",
        )
    return FORMATS[name]


def _status(form: FormReader) -> int | None:
    text = form.text("status").strip()
    if not text:
        return None
    if text not in ("0", "1", "2", "3"):
        raise Invalid(f"status: '{text[:50]}' is not 0 (open), 1 (waiting), 2 (closed) or 3 (deleted)", field="status")
    return int(text)


def _named_status(ctx: Context, form: FormReader) -> NamedStatus | None:
    name = form.text("status_name")
    return ctx.service.store.read(lambda tx: status_names.named(tx, name)) if name.strip() else None


def _files(form: FormReader) -> tuple[int, ...]:
    ids = form.ids("file_id")
    if len(ids) > MAX_FILES:
        raise Invalid(about_field("file_id", lazy_gettext("at most {count} files", count=MAX_FILES)), field="file_id")
    return ids


def _sender_worker(ctx: Context, form: FormReader) -> int:
    own = ctx.actor.worker_id
    worker_id = form.id("worker_id") or own
    if worker_id != own and not ctx.actor.is_admin:
        raise AdminOnly("worker_id: only administrators may reply as another worker", field="worker_id")
    return worker_id


def _id(name: str, text: str) -> int:
    id = id_in(text)
    if id is None:
        raise Invalid(
            about_field(name, lazy_gettext("'{value}' is not a record id; use digits only", value=text[:50])),
            field=name,
        )
    return id
