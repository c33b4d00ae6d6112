"""Composes outgoing mail: turns checked values into the bytes for a mail server, and builds subjects of replies.

Sender and recipients are chosen in outbox, delivery is in transports/; Bcc is unknown here. The header is written here
and not by `email`, whose folding encodes long ids and the commas between recipients."""

import binascii
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from email import policy
from email.header import Header
from email.message import EmailMessage
from email.utils import format_datetime

from server.dataclass import dataclass
from server.errors import Invalid, TooLarge
from server.host_names import ascii_host
from server.late_pattern import late_pattern
from server.mail import headers
from server.mail.addresses import encoded, format_address, parse_list, valid
from server.mail.part_names import OCTETS
from server.translation import lazy_gettext

MAX_RECIPIENTS = 100  # To and Cc together
MAX_REFERENCES = 20
MAX_ID_CHARACTERS = 900  # an id cannot be folded, and a line may have 998
LONGEST_NAME = "X-Svc-Installation"  # the longest name of a header that has free text
UNFOLDED_CHARACTERS = 76 - len(f"{LONGEST_NAME}: ")  # RFC 2822, section 2.1.1, as the package counts
MAX_WORD_CHARACTERS = 200  # longer words of a subject are encoded, which can be folded
MAX_FILE_NAME_CHARACTERS = 200
MAX_FILES_BYTES = 25 * 1024 * 1024

_POLICY = policy.SMTP.clone(cte_type="7bit")
_LAST_BLANK = late_pattern(rb"(?m)^([^\r\n]{74,75})(=20|=09)(?=\r\n)")  # binascii does not count it into the line
_TEXT_HEAD = (
    b'Content-Type: text/plain; charset="utf-8"\r\n'
    b"Content-Transfer-Encoding: quoted-printable\r\n"
    b"MIME-Version: 1.0\r\n\r\n"
)
_BINARY_HEAD = _TEXT_HEAD.replace(b"quoted-printable", b"binary")  # lines may be long (RFC 2045, section 2.9)
_FORBIDDEN = late_pattern(r"[\r\n\0]")
_CONTROL = late_pattern(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
_ID = late_pattern(rf"[!-;=?-~]{{1,{MAX_ID_CHARACTERS}}}")
_MIME_TYPE = late_pattern(r"([A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126})/([A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126})")
# The group gives back: Python before 3.11.5 loses characters when one that does not fails half way.
_FORWARD_MARKS = late_pattern(r"\A(?:\s*+(?:fwd?|wg|tr|rv|vs|enc)\s*+:)*\s*+", re.IGNORECASE)
_REPLY_MARKS = late_pattern(r"\A(?:\s*+re\s*+:)*\s*+", re.IGNORECASE)

AUTOREPLY_HEADERS = (
    ("Auto-Submitted", "auto-replied"),
    ("Precedence", "auto_reply"),
    ("X-Auto-Response-Suppress", "All"),
)
GENERATED_HEADERS = (("Auto-Submitted", "auto-generated"),)  # Auto-Submitted of other automatic mail


@dataclass(frozen=True, slots=True)
class OutFile:
    """A file to send. `content_id`, without angle brackets: an image that the HTML shows as `cid:<content_id>`."""

    name: str
    mime_type: str
    content: bytes
    content_id: str | None = None


@dataclass(frozen=True, slots=True)
class OutgoingMail:
    """A mail to send. Ids with or without angle brackets; `date` in unix seconds, written in `tz`; `to` and `cc` are
    (name or "", address); `references` oldest first; `installation` names this service to itself, against loops;
    `is_stored` for mail that is stored here and not sent, whose plain text needs no encoding."""

    message_id: str
    date: int
    from_name: str
    from_address: str
    to: tuple[tuple[str, str], ...]
    subject: str
    text: str
    installation: str
    version: str
    tz: tzinfo = UTC
    cc: tuple[tuple[str, str], ...] = ()
    html: str | None = None
    files: tuple[OutFile, ...] = ()
    in_reply_to: str | None = None
    references: tuple[str, ...] = ()
    is_autoreply: bool = False
    is_generated: bool = False
    reply_to: str = ""
    list_headers: tuple[tuple[str, str], ...] = ()
    is_stored: bool = False


def compose(mail: OutgoingMail) -> bytes:
    """The mail as bytes with CRLF line ends, pure ASCII unless a mailbox name is not.

    Raises Invalid, with `field`, for CR, LF or NUL in what goes into a header, for a bad address and for more than
    MAX_RECIPIENTS; TooLarge for files above MAX_FILES_BYTES. Ids of strangers that cannot stand in a header are left
    out.
    """
    total_bytes = sum(len(file.content) for file in mail.files)
    if total_bytes > MAX_FILES_BYTES:
        raise TooLarge(
            f"files of {total_bytes} bytes are too large for an email; send at most {MAX_FILES_BYTES}",
            limit=MAX_FILES_BYTES,
        )
    head = "".join(f"{name}: {value}\r\n" for name, value in _headers(mail))
    if mail.html is None and not mail.files:  # 0.5 ms less than by the package, a quarter of a contact form
        lines = _lines(_clean_text(mail.text))
        body = _BINARY_HEAD + lines if mail.is_stored else _TEXT_HEAD + _quoted_printable(lines)
        return head.encode("utf-8") + body
    return head.encode("utf-8") + _body(mail).as_bytes(policy=_POLICY)


def automatic_headers(is_autoreply: bool, is_generated: bool) -> tuple[tuple[str, str], ...]:
    """Headers that mark automatic mail: automatic replies and other mail of a program (RFC 3834)."""
    return AUTOREPLY_HEADERS if is_autoreply else GENERATED_HEADERS if is_generated else ()


def mailer(version: str) -> str:
    """The value of X-Mailer."""
    return f"Helpdesk {version}"


def new_message_id(domain: str) -> str:
    """A new id, 32 hex digits and the domain, without angle brackets."""
    return f"{secrets.token_hex(16)}@{_ascii_domain(domain)}"


def ascii_address(address: str) -> str:
    """The address with its domain IDNA-encoded. The mailbox is unchanged; beyond ASCII it needs SMTPUTF8.

    >>> ascii_address("ann@münchen.example")
    'ann@xn--mnchen-3ya.example'
    """
    mailbox, at, domain = address.rpartition("@")
    return mailbox + at + _ascii_domain(domain)


def ascii_head(raw: bytes) -> bytes:
    """A mail with non-ASCII recipients shown by name only, for servers without SMTPUTF8. Those recipients get no mail,
    and the others see who they are. Follows RFC 6857, section 3.1.3."""
    head, line, body = raw.partition(b"\r\n\r\n")
    fields = re.split(rb"\r\n(?![ \t])", head)
    return b"\r\n".join(map(_ascii_field, fields)) + line + body


def _ascii_field(field: bytes) -> bytes:
    name, _, value = field.decode("utf-8").partition(":")
    if field.isascii() or name.lower() not in ("to", "cc"):
        return field
    lines = [
        format_address(headers.header_value(each), address) if address.isascii() else f"{encoded(address)} :;"
        for each, address in parse_list(value, MAX_RECIPIENTS)
    ]
    return f"{name}: ".encode() + ",\r\n ".join(lines).encode()


def references_of_reply(references: Sequence[str], message_id: str) -> tuple[str, ...]:
    """The References of a reply: those of the original message and its id, at most MAX_REFERENCES, including the first.

    >>> references_of_reply(["a@x", "b@x"], "c@x")
    ('a@x', 'b@x', 'c@x')
    """
    return _first_and_latest([*references, message_id])


def subject_of_compose(subject: str, prefix: str = "", mask: str = "", with_mask: bool = False) -> str:
    """The subject of a new ticket's mail.

    >>> subject_of_compose("Forklift battery", "Depot", "JKQ-75671-699", with_mask=True)
    '[Depot #JKQ-75671-699] Forklift battery'
    """
    if not with_mask or not mask:
        return subject
    return f"[{prefix} #{mask}] {subject}" if prefix else f"[#{mask}] {subject}"


def subject_of_reply(subject: str, prefix: str = "", mask: str = "", with_mask: bool = False) -> str:
    """The subject of a reply: `Re: ` once, and the mask once.

    >>> subject_of_reply("RE: re: [#A-1-2] Forklift", "Depot", "A-1-2", with_mask=True)
    'Re: [Depot #A-1-2] Forklift'
    """
    bare = _REPLY_MARKS.sub("", subject)
    if with_mask and mask:
        bare = re.sub(rf"\[[^\[\]]{{0,255}}#\s*{re.escape(mask)}\s*\]\s*", "", bare, flags=re.IGNORECASE)
        bare = _REPLY_MARKS.sub("", bare)
    return "Re: " + subject_of_compose(bare, prefix, mask, with_mask)


def subject_of_forward(subject: str) -> str:
    """The default subject of a forwarded message: `Fwd: ` once.

    >>> subject_of_forward("WG: Fwd: Forklift"), subject_of_forward("Re: Forklift")
    ('Fwd: Forklift', 'Fwd: Re: Forklift')
    """
    return "Fwd: " + _FORWARD_MARKS.sub("", subject)


def _headers(mail: OutgoingMail) -> Iterable[tuple[str, str]]:
    if len(mail.to) + len(mail.cc) > MAX_RECIPIENTS:
        raise Invalid(
            lazy_gettext("an email can have at most {count} recipients; remove some", count=MAX_RECIPIENTS), field="to"
        )
    yield "Message-ID", f"<{_own_id(mail.message_id)}>"
    yield "Date", format_datetime(datetime.fromtimestamp(mail.date, mail.tz))
    yield "Subject", _unstructured("subject", mail.subject)
    yield "From", _mailboxes("from", [(mail.from_name, mail.from_address)])
    if mail.reply_to:
        yield "Reply-To", _mailboxes("reply_to", [("", mail.reply_to)])
    if mail.to:
        yield "To", _mailboxes("to", mail.to)
    if mail.cc:
        yield "Cc", _mailboxes("cc", mail.cc)
    yield "X-Mailer", _unstructured("version", mailer(mail.version))
    if mail.installation:
        yield "X-Svc-Installation", _unstructured("installation", mail.installation)
    references = _first_and_latest(_ids("references", mail.references))
    if references:
        yield "References", "\r\n ".join(f"<{reference}>" for reference in references)
    for answered in _ids("in_reply_to", [mail.in_reply_to] if mail.in_reply_to else []):
        yield "In-Reply-To", f"<{answered}>"
    yield from automatic_headers(mail.is_autoreply, mail.is_generated)
    for name, value in mail.list_headers:
        _refuse_line_breaks("list_headers", value)
        yield name, value


def _body(mail: OutgoingMail) -> EmailMessage:
    """The MIME tree: mixed(alternative(text, related(HTML, inline images)), files), as little of it as is needed."""
    message = EmailMessage(policy=_POLICY)
    message.set_content(_clean_text(mail.text), charset="utf-8", cte="quoted-printable")
    files = [_checked(file) for file in mail.files]
    if mail.html is not None:
        message.add_alternative(_clean_text(mail.html), subtype="html", charset="utf-8", cte="quoted-printable")
        _add_inline(message, [file for file in files if file.content_id])
    for file in files:
        if mail.html is None or not file.content_id:
            message.add_attachment(file.content, *file.mime_type.split("/"), filename=file.name)
    return message


def _lines(text: str) -> bytes:
    """The text with CRLF line ends, and one at its end."""
    return (text if text.endswith("\n") else f"{text}\n").encode("utf-8").replace(b"\n", b"\r\n")


def _quoted_printable(lines: bytes) -> bytes:
    """Encodes lines (RFC 2045, section 6.7)."""
    encoded_lines = binascii.b2a_qp(lines, istext=True)
    return _LAST_BLANK.sub(rb"\1=\r\n\2", encoded_lines)


def _add_inline(message: EmailMessage, files: Iterable[OutFile]) -> None:
    html = message.get_body(("html",))
    assert isinstance(html, EmailMessage)  # it is already there
    for file in files:
        html.add_related(
            file.content,
            *file.mime_type.split("/"),
            disposition="inline",
            filename=file.name,
            cid=f"<{file.content_id}>",
        )


def _checked(file: OutFile) -> OutFile:
    """The file with a name, type and id that can stand in a header; an id that cannot is dropped."""
    _refuse_line_breaks("file name", file.name)
    _refuse_line_breaks("file type", file.mime_type)
    _refuse_line_breaks("content id", file.content_id or "")
    match = _MIME_TYPE.fullmatch(file.mime_type.strip())
    # A mail inside a mail would have to be parsed to be sent, and programs on the way change what it holds.
    is_plain = match is not None and match[1].lower() not in ("message", "multipart")
    content_id = (file.content_id or "").strip("<> ")
    return replace(
        file,
        name=_short_name(_CONTROL.sub(" ", file.name).strip() or "file"),
        mime_type=file.mime_type.strip().lower() if is_plain else OCTETS,
        content_id=content_id if _ID.fullmatch(content_id) else None,
    )


def _short_name(name: str) -> str:
    if len(name) <= MAX_FILE_NAME_CHARACTERS:
        return name
    stem, dot, extension = name.rpartition(".")
    if not dot or len(extension) > 20:
        return name[:MAX_FILE_NAME_CHARACTERS]
    return stem[: MAX_FILE_NAME_CHARACTERS - len(extension) - 1] + dot + extension


def _clean_text(text: str) -> str:
    return text.replace("\r", "").replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def _mailboxes(field: str, mailboxes: Sequence[tuple[str, str]]) -> str:
    return ",\r\n ".join(_mailbox(field, name, address) for name, address in mailboxes)


def _mailbox(field: str, name: str, address: str) -> str:
    _refuse_line_breaks(field, name)
    _refuse_line_breaks(field, address)
    if not valid(address):
        raise Invalid(f"'{address[:100]}' is not an email address; use name@host", field=field)
    written = format_address(_CONTROL.sub(" ", name).strip(), ascii_address(address))
    # Between encoded words, which is where a long name can be folded; a reader drops what stands there.
    return written.replace("?= =?", "?=\r\n =?") if written.startswith("=?") else written


def _ascii_domain(domain: str) -> str:
    # One that has no such form stays, and the mail then needs SMTPUTF8.
    try:
        return ascii_host(domain)
    except UnicodeError:
        return domain


def _unstructured(field: str, value: str) -> str:
    """A header value of free text, folded. Encoded where it is not ASCII, or would be taken for encoded."""
    _refuse_line_breaks(field, value)
    line = _CONTROL.sub(" ", value).strip()
    is_plain = line.isascii() and "=?" not in line and max(map(len, line.split()), default=0) <= MAX_WORD_CHARACTERS
    if is_plain and len(line) <= UNFOLDED_CHARACTERS:  # 70 microseconds less than by the package
        return line
    # The longest name that is written with it, which only shortens the first line.
    header = Header(line, "us-ascii" if is_plain else "utf-8", header_name=LONGEST_NAME)
    return header.encode(linesep="\r\n")


def _own_id(message_id: str) -> str:
    _refuse_line_breaks("message_id", message_id)
    bare = message_id.strip("<> ")
    if not _ID.fullmatch(bare):
        raise Invalid(f"'{message_id[:100]}' is not a Message-ID; use letters, digits and @", field="message_id")
    return bare


def _ids(field: str, ids: Iterable[str]) -> list[str]:
    for message_id in ids:
        _refuse_line_breaks(field, message_id)
    return [bare for message_id in ids if _ID.fullmatch(bare := message_id.strip("<> \t"))]


def _first_and_latest(ids: Sequence[str]) -> tuple[str, ...]:
    unique = tuple(dict.fromkeys(ids))
    return unique if len(unique) <= MAX_REFERENCES else (unique[0], *unique[1 - MAX_REFERENCES :])


def _refuse_line_breaks(field: str, value: str) -> None:
    if _FORBIDDEN.search(value):
        raise Invalid(f"{field} must be one line; remove line breaks and NUL characters", field=field)
