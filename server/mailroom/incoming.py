"""Prepares a mail for storing: does all slow work that needs no database, before the write begins."""

import hashlib
import re
import secrets
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from typing import Any
from urllib.parse import unquote, urlsplit

from server.context import Service
from server.dataclass import dataclass
from server.mail import charsets, headers, mask, parse, reply_names, spam_score
from server.mail.authentication import DmarcResult, dmarc_result
from server.mail.parse import Mail, ParseLimits

SUBJECT_CHARACTERS = 255
TOKEN_BYTES = 5  # bytes; two characters each in the text
_CID = re.compile(r"cid:([^\s\"'<>()]{1,500})", re.IGNORECASE)


# Headers that hosts prepend differ with each delivery.
_TRACE = re.compile(
    rb"(?:(?:Return-Path|Delivered-To|Envelope-To|X-Original-To|Received)[ \t]*:[^\n]*+\n(?:[ \t][^\n]*+\n)*+)*+",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class IncomingMail:
    """A parsed mail, and the values derived from it alone.

    subject, text, header_text: as stored. references: ids of mails that this may reply to, the likeliest first;
    bounced: the id of a bounced mail, which precedes those. masks: candidates for the ticket's mask, the likeliest
    first. html: pieces of the HTML, and between them the places in mail.files of inline images. notes: sentences.
    bytes_digest: "" for a mail with an id. body_digest: of words, HTML and files. dmarc: verdict of our own host on its
    From. mask, token: random values for a new ticket and its message; the mask may be in use already."""

    raw: bytes
    mail: Mail
    subject: str
    text: str
    header_text: str
    digest: str
    bytes_digest: str
    body_digest: str
    dmarc: DmarcResult
    references: tuple[str, ...]
    bounced: str | None
    masks: tuple[str, ...]
    words: tuple[str, ...]
    html: tuple[str | int, ...]
    notes: tuple[str, ...]
    mask: str
    token: str

    @property
    def own_id(self) -> str | None:
        """The id that identifies a second copy; an id that was generated here cannot occur twice."""
        return None if self.mail.message_id_was_made else self.mail.message_id

    def html_bytes(self, url_of_file: list[str]) -> bytes:
        """The HTML with the addresses of its images, in the order of mail.files."""
        text = "".join(each if isinstance(each, str) else url_of_file[each] for each in self.html)
        return text.encode("utf-8", "replace")


def read(service: Service, raw: bytes, now: int) -> IncomingMail:
    """Parses a mail. Raises only Required for an empty mail, TooLarge above max_mail_bytes."""
    settings = service.settings
    limits = ParseLimits(mail_bytes=settings.max_mail_bytes, file_bytes=settings.mail_file_bytes)
    mail = parse.parse(raw, now, limits, urlsplit(service.base_url).hostname or "localhost")
    return IncomingMail(
        raw=raw,
        bytes_digest=_digest(raw) if mail.message_id_was_made else "",
        body_digest=_digest_of_body(mail),
        dmarc=dmarc_result(mail.headers, {each.lower() for each in settings.mail_authserv_ids}),
        digest=hashlib.sha1(mail.message_id.encode("utf-8", "replace"), usedforsecurity=False).hexdigest(),
        bounced=mail.bounce.original_message_id if mail.bounce else None,
        mask=_mask(settings.mail_mask_pattern, now),
        token=secrets.token_hex(TOKEN_BYTES),
        notes=tuple(map(charsets.fit, mail.notes)),
        **_what_follows(mail),
    )


def again(incoming: IncomingMail, mail: Mail) -> IncomingMail:
    """Derives the values again after the parsed mail was changed; its bytes stay the original ones."""
    return replace(incoming, **_what_follows(mail))


def _what_follows(mail: Mail) -> dict[str, Any]:
    """Values derived from parts of a mail that automations may change before it is stored."""
    subject, text = charsets.fit(mail.subject), reply_names.without_names(charsets.fit(mail.text))
    return {
        "mail": mail,
        "subject": subject[:SUBJECT_CHARACTERS].rstrip() or parse.NO_SUBJECT,
        "text": text,
        "header_text": reply_names.without_names(charsets.fit(mail.header_text)),
        "references": tuple(dict.fromkeys((*mail.in_reply_to, *reversed(mail.references), *_receipt_of(mail)))),
        "masks": tuple(mask.masks_in(subject)),
        "words": tuple(sorted(spam_score.words(f"{subject}\n{text}"))),
        "html": _pieces(mail),
    }


def _receipt_of(mail: Mail) -> list[str]:
    """The ids of mails that this is a receipt of, which other headers often lack (RFC 8098, 3.2.5)."""
    parts = (file.content for file in mail.files if file.mime_type == "message/disposition-notification")
    return [id for part in parts for id in headers.ids_in(headers.split(part.lstrip()).first("original-message-id"))]


def _digest_of_body(mail: Mail) -> str:
    """A digest of the content, independent of its encoding in transit: words and HTML without blanks, and files."""
    said = hashlib.sha256(" ".join(mail.text.split()).encode("utf-8", "replace"))
    said.update(b"\0" + " ".join((mail.html or "").split()).encode("utf-8", "replace"))
    for file in mail.files:
        said.update(b"\0" + hashlib.sha256(file.content).digest() + str(file.size).encode())
    return said.hexdigest()


def _digest(raw: bytes) -> str:
    """A digest that is the same for each delivery of a mail: without the headers that hosts prepend."""
    trace = _TRACE.match(raw)
    return hashlib.sha256(raw[trace.end() if trace else 0 :]).hexdigest()


def _mask(pattern: str, now: int) -> str:
    return mask.new_mask(pattern, today=datetime.fromtimestamp(now, UTC).date())


def _pieces(mail: Mail) -> tuple[str | int, ...]:
    """The HTML, split where it refers to a file of the same mail: `cid:` and the file's Content-ID."""
    if mail.html is None:
        return ()
    html = reply_names.without_names(mail.html)
    # A file whose content was dropped has no address.
    by_id = {
        file.content_id.lower(): place for place, file in enumerate(mail.files) if file.content_id and not file.dropped
    }
    if not by_id:
        return (html,)
    pieces: list[str | int] = []
    position = 0
    for match in _CID.finditer(html):
        place = by_id.get(unquote(unescape(match[1])).lower())
        if place is not None:
            pieces += (html[position : match.start()], place)
            position = match.end()
    return (*pieces, html[position:])
