"""Parses the stored header block of a message: fields, ids, and texts for the index."""

import re

from server.mail import addresses, headers, reply_names

BLOCK_BYTES = 1024 * 1024
# {header name: part of the full-text index}
_INDEXED = {
    "subject": "header_subject",
    "from": "header_from",
    "to": "header_to",
    "cc": "header_cc",
    "delivered-to": "header_delivered_to",
    "x-envelope-to": "header_delivered_to",
    "envelope-to": "header_delivered_to",
}
# Most blocks, such as generated ones, are unfolded lines of ASCII and skip the parser.
PLAIN_CHARS = 8 * 1024
_PLAIN_BLOCK = re.compile(r"(?:[A-Za-z0-9-]++: ?+(?:[!-~][ -~]*+)?+(?:\n|\Z))*+")
_INDEXED_FIELD = re.compile(rf"^({'|'.join(_INDEXED)}): ?(.*)$", re.IGNORECASE | re.MULTILINE)
_ADDRESS_FIELDS = ("to", "cc", "bcc", "reply-to", "delivered-to", "envelope-to", "x-envelope-to")


def head(block: str) -> headers.Head:
    """Parses a stored block, one header a line or folded. Removes signed names, which blocks stored before 2026-11
    contain, because no reply may pass them on."""
    block = reply_names.without_names(block)
    return headers.split(block.encode("utf-8", "replace"), block_bytes=BLOCK_BYTES)


def as_map(block: str) -> dict[str, str]:
    """Returns {lower-case name: decoded value}. Repeated fields are joined, addresses with ", ", others with line
    breaks.

    >>> as_map("To: a@x\\nTo: b@x\\nSubject: =?utf-8?q?Caf=C3=A9?=")
    {'to': 'a@x, b@x', 'subject': 'Café'}
    """
    values: dict[str, str] = {}
    for name, value in head(block).fields:
        name, value = name.lower(), headers.header_value(value)
        joint = ", " if name in _ADDRESS_FIELDS else "\n"
        values[name] = values[name] + joint + value if name in values else value
    return values


def own_id(fields: headers.Head) -> str:
    """Returns the Message-ID with angle brackets, "" for none."""
    return headers.own_id(fields.first("message-id")) or ""


def answered_id(fields: headers.Head) -> str:
    """Returns the id of the message it replies to: the first in In-Reply-To, else the last in References; "" for
    none."""
    answered = headers.ids_in(fields.first("in-reply-to"))
    references = headers.ids_in(" ".join(fields.all("references")))
    return next(iter([*answered[:1], *references[-1:]]), "")


def emails(fields: headers.Head, name: str) -> list[str]:
    """Returns the addresses of all fields of a lower-case name, in lower case, without duplicates."""
    parsed = addresses.parse_list(", ".join(fields.all(name)))
    return list(dict.fromkeys(each.address.lower() for each in parsed))


def index_texts(block: str) -> dict[str, str]:
    """Returns the parts of the full-text index that come from headers.

    >>> index_texts("Subject: A\\n  B\\nTo: a@x\\nDelivered-To: b@x\\nEnvelope-To: c@x\\nX: d\\n")
    {'header_subject': 'A B', 'header_to': 'a@x', 'header_delivered_to': 'b@x c@x'}
    """
    is_plain = len(block) <= PLAIN_CHARS and _PLAIN_BLOCK.fullmatch(block) is not None
    texts: dict[str, str] = {}
    for name, value in _INDEXED_FIELD.findall(block) if is_plain else head(block).fields:
        part = _INDEXED.get(name.lower())
        if part is not None:
            value = headers.header_value(value)
            texts[part] = f"{texts[part]} {value}" if part in texts else value
    return texts
