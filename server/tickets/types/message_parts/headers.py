"""The stored header block of a message, read again: its fields, its ids, its texts for the index."""

import re

from server.mail import addresses, answer_names, headers

BLOCK_BYTES = 1024 * 1024
# By name of a field the part of the full-text index that it goes into.
_INDEXED = {
    "subject": "header_subject",
    "from": "header_from",
    "to": "header_to",
    "cc": "header_cc",
    "delivered-to": "header_delivered_to",
    "x-envelope-to": "header_delivered_to",
    "envelope-to": "header_delivered_to",
}
# Most blocks, such as those that we write, are of lines that need no second look.
PLAIN_CHARS = 8 * 1024
_PLAIN_BLOCK = re.compile(r"(?:[A-Za-z0-9-]++: ?+(?:[!-~][ -~]*+)?+(?:\n|\Z))*+")
_INDEXED_FIELD = re.compile(rf"^({'|'.join(_INDEXED)}): ?(.*)$", re.IGNORECASE | re.MULTILINE)
_ADDRESS_FIELDS = ("to", "cc", "bcc", "reply-to", "delivered-to", "envelope-to", "x-envelope-to")


def head(block: str) -> headers.Head:
    """The fields of a stored block, one header a line or folded. Signed names are left out: blocks that were stored
    before 2026-11 have them, and no reply may carry them on."""
    block = answer_names.without_names(block)
    return headers.split(block.encode("utf-8", "replace"), block_bytes=BLOCK_BYTES)


def as_map(block: str) -> dict[str, str]:
    """{lower-case name: decoded value}. Fields that occur several times are joined: addresses with comma and space,
    others with line ends.

    >>> as_map("To: a@x\\nTo: b@x\\nSubject: =?utf-8?q?Caf=C3=A9?=")
    {'to': 'a@x, b@x', 'subject': 'Café'}
    """
    found: dict[str, str] = {}
    for name, value in head(block).fields:
        name, value = name.lower(), headers.header_value(value)
        joint = ", " if name in _ADDRESS_FIELDS else "\n"
        found[name] = found[name] + joint + value if name in found else value
    return found


def own_id(fields: headers.Head) -> str:
    """The Message-Id with angle brackets, "" when there is none."""
    return headers.own_id(fields.first("message-id")) or ""


def answered_id(fields: headers.Head) -> str:
    """The id of the message that it answers: the first of In-Reply-To, else the last of References; "" for none."""
    answered = headers.ids_in(fields.first("in-reply-to"))
    references = headers.ids_in(" ".join(fields.all("references")))
    return next(iter([*answered[:1], *references[-1:]]), "")


def emails(fields: headers.Head, name: str) -> list[str]:
    """The addresses of every field of this lower-case name, in lower case, none twice."""
    listed = addresses.parse_list(", ".join(fields.all(name)))
    return list(dict.fromkeys(each.address.lower() for each in listed))


def index_texts(block: str) -> dict[str, str]:
    """The parts of the full-text index that are made of headers.

    >>> index_texts("Subject: A\\n  B\\nTo: a@x\\nDelivered-To: b@x\\nEnvelope-To: c@x\\nX: d\\n")
    {'header_subject': 'A B', 'header_to': 'a@x', 'header_delivered_to': 'b@x c@x'}
    """
    is_plain = len(block) <= PLAIN_CHARS and _PLAIN_BLOCK.fullmatch(block) is not None
    found: dict[str, str] = {}
    for name, value in _INDEXED_FIELD.findall(block) if is_plain else head(block).fields:
        part = _INDEXED.get(name.lower())
        if part is not None:
            value = headers.header_value(value)
            found[part] = f"{found[part]} {value}" if part in found else value
    return found
