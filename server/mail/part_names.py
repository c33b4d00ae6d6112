"""Names of the files of a mail: the name that a part declares, else one that describes its content."""

import re
import secrets

from server.file_names import safe_name
from server.mail import headers
from server.markup.image_headers import image_type

NAME_CHARACTERS = 80  # length of a subject that is used as a file name
MESSAGE_FIELDS, MESSAGE_HEAD_BYTES = 100, 16 * 1024  # bytes of an attached message that are searched for its subject
MESSAGE_TYPES = ("message/rfc822", "message/global", "message/news")
STATUS_TYPES = ("message/delivery-status", "message/global-delivery-status")

CALENDAR_TYPES = frozenset({"text/calendar", "application/ics"})
# The title of an appointment, RFC 5545, section 3.8.1.12.
_SUMMARY = re.compile(rb"^SUMMARY(?:;[^:\r\n]{0,200})?:([^\r\n]{1,200})", re.IGNORECASE | re.MULTILINE)
SUMMARY_WITHIN = 64 * 1024  # bytes of a calendar that are searched for a title
OCTETS = "application/octet-stream"
PDF, PDF_START = "application/pdf", b"%PDF-"
# Types that pages show; many programs declare none.
_TYPE_OF_SUFFIX = {"pdf": PDF, "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif"}
_MESSAGE_SUFFIXES = (".eml", ".msg", ".mht", ".txt")
_SUFFIX_OF_IMAGE = {"jpeg": "jpg", "pjpeg": "jpg", "svg+xml": "svg", "x-png": "png", "tiff": "tif", "bmp": "bmp"}
_SUFFIX_OF_TYPE = {
    "text/plain": ".txt", "text/html": ".html", "text/csv": ".csv", "text/vcard": ".vcf", "text/x-vcard": ".vcf",
    "text/xml": ".xml", "text/rfc822-headers": ".txt", "application/pdf": ".pdf", "application/zip": ".zip",
    "application/json": ".json", "application/xml": ".xml", "application/rtf": ".rtf", "application/msword": ".doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.ms-excel": ".xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "audio/mpeg": ".mp3", "audio/wav": ".wav", "audio/x-wav": ".wav", "audio/amr": ".amr", "audio/mp4": ".m4a",
    "audio/ogg": ".ogg", "video/mp4": ".mp4", "video/quicktime": ".mov", "video/3gpp": ".3gp",
}  # fmt: skip


def own_name(head: headers.Head, parameters: dict[str, str]) -> str:
    """The file name that a part gives itself, safe to show; "" when it has none. parameters: of its type."""
    disposition = head.first("content-disposition")
    name = headers.parameters(disposition)[1].get("filename", "") if disposition else ""
    name = name or parameters.get("name", "")
    return clean_name(name) if name else ""


def clean_name(name: str) -> str:
    """A name with its encoded words decoded, safe to show; "" when nothing is left."""
    return safe_name(headers.one_line(name[: headers.FIELD_BYTES]))


def for_file(name: str, mime_type: str, content_id: str | None, content: bytes) -> str:
    """The name of a file. name: its own, cleaned, "" for none."""
    name = name or _made_name(mime_type, content_id, content)
    if mime_type in MESSAGE_TYPES and not name.lower().endswith(_MESSAGE_SUFFIXES):
        return f"{name}.eml"  # mail programs open a message by that
    return name


def type_of(name: str, content: bytes) -> str:
    """The MIME type of a file that does not declare one, by its name and its first bytes.

    >>> type_of("Offer.PDF", b"%PDF-1.7"), type_of("page.pdf", b"<script>")
    ('application/pdf', 'application/octet-stream')
    """
    by_name = _TYPE_OF_SUFFIX.get(name.rpartition(".")[2].lower())
    by_content = PDF if content.startswith(PDF_START) else image_type(content)
    return by_content if by_content == by_name else OCTETS


def random_text() -> str:
    return base36(secrets.randbits(40))


def base36(number: int) -> str:
    digits = ""
    while number > 0:
        number, rest = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[rest] + digits
    return digits or "0"


def _made_name(mime_type: str, content_id: str | None, content: bytes) -> str:
    kind, _, subtype = mime_type.partition("/")
    if kind == "image":
        suffix = _SUFFIX_OF_IMAGE.get(subtype, subtype)
        return clean_name(f"{content_id}.{suffix}" if content_id else "") or f"image_{random_text()}.{suffix}"
    if mime_type in CALENDAR_TYPES:
        title = _SUMMARY.search(content, 0, SUMMARY_WITHIN)
        words = title[1].decode("utf-8", "replace").replace("\\", "")[:NAME_CHARACTERS] if title else ""
        return clean_name(f"{words}.ics" if words.strip() else "") or f"calendar_{random_text()}.ics"
    if mime_type == "message/feedback-report":
        return f"feedback_report_{random_text()}.txt"
    if mime_type in MESSAGE_TYPES:
        subject = headers.split(content, 0, None, MESSAGE_FIELDS, MESSAGE_HEAD_BYTES).first("subject")
        return clean_name(headers.one_line(subject)[:NAME_CHARACTERS]) or f"attached_message_{random_text()}"
    if mime_type in STATUS_TYPES:
        return f"delivery_status_{random_text()}.txt"
    return f"unnamed_attachment_{random_text()}{_SUFFIX_OF_TYPE.get(mime_type, '')}"
