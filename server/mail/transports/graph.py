"""Sends mail through a mailbox at Microsoft Graph.

A mail that fits into one request is sent as it is ("sendMail" with MIME). A larger one becomes a draft from its MIME
without files, which are then uploaded one by one. Either way the headers are those of the MIME. Before each attempt the
mailbox is searched for the Message-ID: after a lost response nobody else knows whether the mail was sent."""

import base64
import json
import quopri
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from typing import Any
from urllib.parse import quote

from server.dataclass import dataclass
from server.errors import Invalid, Required, nearest
from server.mail import headers
from server.mail.addresses import format_address, parse_list
from server.mail.graph_client import (
    FORBIDDEN,
    MISSING,
    READ_WRITE,
    SEND,
    SENDER_DENIED,
    TOO_LARGE,
    UNAUTHORIZED,
    GraphClient,
    GraphFailed,
    quoted_id,
    service_url,
)
from server.mail.mail_bytes import ascii_address
from server.mail.part_names import own_name
from server.mail.transports import DeliveryReport, Sign, TransportFailed, unsigned
from server.mail.transports.transport_params import account_param, number_param, text_param
from server.outbound import AccountAccess, OutboundResponse
from server.outbound.urls import HttpUrl
from server.translation import lazy_gettext

DEFAULT_TIMEOUT_SECONDS = 30
MAX_TIMEOUT_SECONDS = 300
MAX_MIME_BYTES = 3_000_000  # 4 MB in base64, the limit of a request
MAX_POSTED_FILE_BYTES = 3_000_000  # larger files need an upload session, which accepts none below 2 MB
PART_BYTES = 10 * 320 * 1024  # size of an uploaded part: a multiple of 320 KiB, below 4 MB
MAX_TRIES = 3  # attempts for each part of an upload
MAX_SECONDS = 900  # for an email with all its files
MAX_COPIES = 10  # mails with one Message-ID that are looked at
MAX_ADDRESSES = 500  # in one header

_KEYS = ("host", "username", "connected_account", "timeout")
_RECIPIENTS = "ErrorInvalidRecipients"
_RECIPIENT_FIELDS = ("toRecipients", "ccRecipients", "bccRecipients")
_REFUSED = frozenset(
    (
        _RECIPIENTS,
        "ErrorMessageSizeExceeded",
        "ErrorMimeContentInvalid",
        "ErrorMimeContentInvalidBase64String",
        "RequestBodyRead",
    )
)
_TOO_SMALL = "ErrorAttachmentSizeShouldNotBeLessThanMinimumSize"
_RANGE = re.compile(r"(\d{1,18})")


@dataclass(frozen=True, slots=True)
class GraphSettings:
    """Connection settings. host: "" for Microsoft's. username: the address of the mailbox. account: connected account
    whose token is used; the caller of send puts the access with it into `access`."""

    host: str
    username: str
    account: str
    timeout_seconds: int = DEFAULT_TIMEOUT_SECONDS
    access: AccountAccess | None = field(default=None, repr=False)


def settings_from(params: Mapping[str, object]) -> GraphSettings:
    """The settings in a transport's `params`: host, username, connected_account (its id or uri), timeout (seconds).
    Raises Required or Invalid, with the key in `field`."""
    for key in params:
        if key not in _KEYS:
            raise Invalid(
                f"'{key[:100]}' is not a setting of Microsoft Graph{nearest(key[:100], _KEYS)}", field=key[:100]
            )
    settings = GraphSettings(
        text_param(params, "host"),
        text_param(params, "username"),
        account_param(params),
        number_param(params, "timeout", DEFAULT_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS),
    )
    service_url(settings.host)
    if not settings.username:
        raise Required(lazy_gettext("enter the address of the mailbox that sends"), field="username")
    if not settings.account:
        raise Required(
            lazy_gettext("choose a connected account: Microsoft Graph accepts no password"), field="connected_account"
        )
    return settings


def params_from(values: Mapping[str, str]) -> dict[str, str]:
    """The `params` of a transport from the fields of a form, without blank ones."""
    return {name: text for name in _KEYS if (text := values.get(name, "").strip()) not in ("", "0")}


def send(
    settings: GraphSettings, envelope_from: str, recipients: Sequence[str], raw: bytes, sign: Sign = unsigned
) -> DeliveryReport:
    """Sends a mail to the recipients, and leaves out others in its To and Cc. The service chooses the envelope sender.

    Returns the recipients that the service refuses. Raises TransportFailed if it accepts none."""
    mailbox = _mailbox(settings)
    message_id = headers.split(raw, 0).first("message-id").strip()
    refusals: dict[str, str] = {}
    remaining = list(recipients)
    while True:
        try:
            mailbox.send_once(message_id, _addressed(raw, remaining), remaining, sign)
            return DeliveryReport(refusals)
        except GraphFailed as error:
            unknown = _refused_recipients(error, remaining)
            refusals |= dict.fromkeys(unknown, error.message)
            remaining = [each for each in remaining if each not in refusals]
            if not unknown or not remaining:
                raise _failed(error, mailbox, DeliveryReport(refusals)) from error


def probe(settings: GraphSettings) -> None:
    """Opens the mailbox without sending mail. Raises TransportFailed."""
    mailbox = _mailbox(settings)
    try:
        mailbox.open()
    except GraphFailed as error:
        raise _failed(error, mailbox, DeliveryReport()) from error


class _Mailbox:
    """is_open: whether it has responded, so that a later failure may be due to the mail."""

    def __init__(self, client: GraphClient) -> None:
        self._client = client
        self.is_open = False
        self._ends_at = time.monotonic() + MAX_SECONDS

    def open(self) -> str:
        """Returns the id of the folder of drafts."""
        url = self._client.url("mailFolders/drafts", "$select=id")
        return self._id(self._client.json("GET", url, permission=READ_WRITE))

    def send_once(self, message_id: str, raw: bytes, recipients: Sequence[str], sign: Sign) -> None:
        """Sends a mail unless the mailbox has sent it to these recipients before."""
        if self._was_sent(message_id, recipients):
            return
        content = _with_bcc(sign(raw), recipients) if len(raw) <= MAX_MIME_BYTES else raw
        if len(content) <= MAX_MIME_BYTES:
            self._client.mime(self._client.url("sendMail"), base64.b64encode(content), SEND)
        else:
            self._send_large(message_id, raw, recipients)

    # -- earlier attempts ----------------------------------------------------------------------------------------------

    def _was_sent(self, message_id: str, recipients: Sequence[str]) -> bool:
        """Whether the mailbox has sent a mail with this id to any of the recipients: an attempt reaches all or none of
        its own. Deletes drafts of it that were left behind."""
        text = quote(message_id.replace("'", "''"), safe="")
        names = ",".join(("id", "isDraft", "parentFolderId", *_RECIPIENT_FIELDS))
        query = f"$filter=internetMessageId%20eq%20'{text}'&$select={names}&$top={MAX_COPIES}"
        copies = self._client.json("GET", self._client.url("messages", query), permission=READ_WRITE).get("value")
        if not isinstance(copies, list) or not all(isinstance(each, dict) for each in copies):
            raise self._client.not_graph()
        self.is_open = True
        addresses = {ascii_address(each).lower() for each in recipients}
        left_behind = [each for each in copies if each.get("isDraft")]
        if any(addresses & set(_recipients_of(each)) for each in copies if not each.get("isDraft")):
            return True
        drafts = self.open() if left_behind else ""
        for each in left_behind:
            if each.get("parentFolderId") != drafts:
                raise GraphFailed(lazy_gettext("an earlier attempt to send the email is not completed yet"))
            self._delete(self._id(each))
        return False

    # -- large mails ---------------------------------------------------------------------------------------------------

    def _send_large(self, message_id: str, raw: bytes, recipients: Sequence[str]) -> None:
        mail, files = _without_files(raw)
        content = _with_bcc(mail, recipients)
        if len(content) > MAX_MIME_BYTES:
            raise GraphFailed(
                lazy_gettext(
                    "the text of the email is too large: Microsoft Graph accepts {size} bytes", size=MAX_MIME_BYTES
                ),
                TOO_LARGE,
            )
        draft = self._client.mime(self._client.url("messages"), base64.b64encode(content), READ_WRITE)
        id = self._id(draft)
        try:
            if draft.get("internetMessageId") != message_id:
                change = {"internetMessageId": message_id}
                self._client.json("PATCH", self._message(id), change, permission=READ_WRITE)
            for each in files:
                self._attach(id, each)
        except GraphFailed:
            with suppress(GraphFailed):  # the next attempt deletes it
                self._delete(id)
            raise
        self._client.json("POST", self._message(id, "/send"), permission=SEND)

    def _attach(self, id: str, file: "_File") -> None:
        if len(file.content) >= MAX_POSTED_FILE_BYTES:
            try:
                self._upload(id, file)
                return
            except GraphFailed as error:
                if error.code != _TOO_SMALL:
                    raise
        content = base64.b64encode(file.content).decode()
        kind = {
            "@odata.type": "#microsoft.graph.fileAttachment",
            "contentBytes": content,
            "contentType": file.mime_type,
        }
        self._client.json("POST", self._message(id, "/attachments"), kind | file.as_item(), permission=READ_WRITE)

    def _upload(self, id: str, file: "_File") -> None:
        """Uploads a file in parts. After an error, asks which part is missing."""
        item = {"attachmentType": "file", "size": len(file.content), "contentType": file.mime_type, **file.as_item()}
        url = self._message(id, "/attachments/createUploadSession")
        session = self._client.json("POST", url, {"AttachmentItem": item}, permission=READ_WRITE)
        upload = self._client.upload_url(session.get("uploadUrl"))
        start, fails = 0, 0
        while start < len(file.content):
            if time.monotonic() > self._ends_at:
                raise GraphFailed(
                    lazy_gettext("the files were not uploaded within {seconds} seconds", seconds=MAX_SECONDS)
                )
            try:
                following = self._put(upload, file.content, start)
            except GraphFailed:
                fails += 1
                if fails == MAX_TRIES:
                    raise
                following = self._missing_part(upload)
            else:
                fails = 0 if following > start else fails + 1
            if fails == MAX_TRIES:
                raise self._client.not_graph()
            start = following

    def _put(self, upload: HttpUrl, content: bytes, start: int) -> int:
        """Uploads one part; returns the position of the next."""
        part = content[start : start + PART_BYTES]
        end = start + len(part)
        range_ = {
            "content-type": "application/octet-stream",
            "content-range": f"bytes {start}-{end - 1}/{len(content)}",
        }
        response = self._client.put(upload, "PUT", range_, part)
        if response.status == 201 or (response.status == 200 and end == len(content)):
            return len(content)
        if response.status in (200, 202):
            return self._next_range(response.body)
        raise self._upload_refused(response)

    def _missing_part(self, upload: HttpUrl) -> int:
        response = self._client.put(upload, "GET", {})
        if response.status != 200:
            raise self._upload_refused(response)
        return self._next_range(response.body)

    def _upload_refused(self, response: OutboundResponse) -> GraphFailed:
        """The error for a part that is refused. A session that has ended says nothing about the token or the mail."""
        error = self._client.refusal(response, READ_WRITE)
        if error.wait_seconds or error.status == TOO_LARGE:
            return error
        answer = f"{response.status} {error.code} {error.text}".strip()
        return GraphFailed(lazy_gettext("the upload of a file failed: {answer}", answer=answer))

    def _next_range(self, body: bytes) -> int:
        try:
            ranges = {name.lower(): value for name, value in json.loads(body).items()}["nextexpectedranges"]
            match = _RANGE.match(ranges[0])
            assert match is not None
            return int(match[1])
        except (ValueError, LookupError, TypeError, AttributeError, AssertionError, RecursionError):
            raise self._client.not_graph() from None

    def _delete(self, id: str) -> None:
        try:
            self._client.json("DELETE", self._message(id), permission=READ_WRITE)
        except GraphFailed as error:
            if error.status != MISSING:
                raise

    def _message(self, id: str, path: str = "") -> HttpUrl:
        return self._client.url(f"messages/{quoted_id(id)}{path}")

    def _id(self, entry: Mapping[str, Any]) -> str:
        try:
            quoted_id(entry.get("id"))
        except ValueError:
            raise self._client.not_graph() from None
        return str(entry["id"])


@dataclass(frozen=True, slots=True)
class _File:
    """A file of a mail. content_id: of an image inside the HTML, "" for an attachment."""

    name: str
    mime_type: str
    content: bytes
    content_id: str

    def as_item(self) -> dict[str, Any]:
        return {"name": self.name} | ({"isInline": True, "contentId": self.content_id} if self.content_id else {})


def _mailbox(settings: GraphSettings) -> _Mailbox:
    assert settings.access is not None  # the outbox signs requests with the connected account
    return _Mailbox(GraphClient(settings.host, settings.username, settings.access, settings.timeout_seconds))


def _failed(error: GraphFailed, mailbox: _Mailbox, report: DeliveryReport) -> TransportFailed:
    """The failure of an attempt. Whatever concerns all mail of the mailbox makes it unreachable."""
    is_about_mail = mailbox.is_open and not error.wait_seconds and error.status != UNAUTHORIZED
    if error.status == FORBIDDEN:
        is_about_mail = error.code in SENDER_DENIED
    is_permanent = is_about_mail and (
        error.status in (400, FORBIDDEN, TOO_LARGE, 422) or error.code in _REFUSED or bool(report.refused)
    )
    return TransportFailed(
        error.message,
        is_permanent,
        is_unreachable=not is_about_mail,
        report=report,
        wait_seconds=error.wait_seconds,
        code=error.status,
    )


def _recipients_of(copy: Mapping[str, Any]) -> list[str]:
    """The addresses that a mail in the mailbox was sent to."""
    fields = [copy.get(name) for name in _RECIPIENT_FIELDS]
    entries = [entry for each in fields if isinstance(each, list) for entry in each]
    addresses = [entry["emailAddress"] for entry in entries if isinstance(entry, dict) and "emailAddress" in entry]
    return [str(each.get("address")).lower() for each in addresses if isinstance(each, dict)]


def _refused_recipients(error: GraphFailed, recipients: Sequence[str]) -> list[str]:
    """The recipients that a refusal names."""
    if error.code != _RECIPIENTS:
        return []
    text = error.text.lower()
    return [
        each
        for each in recipients
        if re.search(rf"(?<![\w.+-]){re.escape(ascii_address(each).lower())}(?![\w-])", text)
    ]


# -- the mail ----------------------------------------------------------------------------------------------------------


def _addressed(raw: bytes, recipients: Sequence[str]) -> bytes:
    """The mail without addresses in To and Cc that are not to get it: the service sends it to all that it finds
    there."""
    wanted_addresses = {ascii_address(each).lower() for each in recipients}
    head, line, body = raw.partition(b"\r\n\r\n")
    fields = []
    for each in re.split(rb"\r\n(?![ \t])", head):
        name, _, value = each.decode("utf-8").partition(":")
        if name.lower() in ("to", "cc"):
            addresses = parse_list(value, MAX_ADDRESSES)
            remaining = [pair for pair in addresses if ascii_address(pair.address).lower() in wanted_addresses]
            if not remaining:
                continue
            if len(remaining) < len(addresses):
                texts = [format_address(headers.header_value(pair.name), pair.address) for pair in remaining]
                each = f"{name}: ".encode() + ",\r\n ".join(texts).encode()
        fields.append(each)
    return b"\r\n".join(fields) + line + body


def _with_bcc(raw: bytes, recipients: Sequence[str]) -> bytes:
    """The mail with a Bcc for the recipients that its To and Cc do not show. The service removes it."""
    head = headers.split(raw, 0)
    visible = {
        ascii_address(pair.address).lower() for each in head.all("to", "cc") for pair in parse_list(each, MAX_ADDRESSES)
    }
    blind = [address for each in recipients if (address := ascii_address(each)).lower() not in visible]
    return b"Bcc: " + ",\r\n ".join(blind).encode() + b"\r\n" + raw if blind else raw


def _without_files(raw: bytes) -> tuple[bytes, list[_File]]:
    """Splits an email of the outbox: returns it without files and inline images, and these."""
    head_bytes, _, body = raw.partition(b"\r\n\r\n")
    head = headers.split(head_bytes + b"\r\n\r\n", 0)
    mime_type, parameters = headers.parameters(head.first("content-type"))
    boundary = parameters.get("boundary", "").encode()
    if not mime_type.startswith("multipart/") or not boundary:
        return raw, []
    preamble, *parts, end = (b"\r\n" + body).split(b"\r\n--" + boundary)
    texts, files = [], []
    for each in parts:
        file = _file(each.removeprefix(b"\r\n"))
        if file is not None:
            files.append(file)
            continue
        part, inside = _without_files(each.removeprefix(b"\r\n"))
        texts.append(b"\r\n" + part)
        files += inside
    lines = (b"\r\n--" + boundary).join([preamble, *texts, end])
    return head_bytes + b"\r\n\r\n" + lines.removeprefix(b"\r\n"), files


def _file(part: bytes) -> _File | None:
    """The file in a part, None for text of the mail."""
    head_bytes, _, body = part.partition(b"\r\n\r\n")
    head = headers.split(head_bytes + b"\r\n\r\n", 0)
    mime_type, parameters = headers.parameters(head.first("content-type"))
    name = own_name(head, parameters)
    if not name or mime_type.startswith("multipart/"):
        return None
    encoding = head.first("content-transfer-encoding").strip().lower()
    if encoding == "base64":
        body = base64.b64decode(body)
    elif encoding == "quoted-printable":
        body = quopri.decodestring(body)
    is_inline = headers.parameters(head.first("content-disposition"))[0].lower() == "inline"
    content_id = head.first("content-id").strip().strip("<>") if is_inline else ""
    return _File(name, mime_type or "application/octet-stream", body, content_id)
