"""Extracts the mail inside an opaque-signed S/MIME part, `smime.p7m`.

The signature is not verified, so nothing may depend on it. Parses only the few fields before the content, in definite
and indefinite lengths. Follows RFC 5652, sections 3 and 5, RFC 8551, section 3.5.2."""

from collections.abc import Iterator

TYPES = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime"})
SIGNATURE_TYPES = frozenset({"application/pkcs7-signature", "application/x-pkcs7-signature"})  # detached
SIGNED_NOTE = "signed with S/MIME; the signature was not checked"
FILE_NAME = "smime.p7m"
MAX_PIECES = 100_000  # pieces of segmented content; programs write 1,000 bytes or more into each

_INTEGER, _OCTETS, _OBJECT, _SEQUENCE, _SET = 0x02, 0x04, 0x06, 0x30, 0x31
_OCTETS_IN_PIECES, _EXPLICIT = 0x24, 0xA0
_OID = bytes.fromhex("06092a864886f70d0107")  # PKCS #7; the next byte says which type of it
_SIGNED, _ENVELOPED, _AUTHENTICATED = b"\x02", b"\x03", bytes.fromhex("060b2a864886f70d0109100117")
_END = b"\0\0"  # content of indefinite length


def signed_content(content: bytes) -> bytes | None:
    """The signed bytes; None if `content` is not signed data, has no content, or is damaged."""
    try:
        position = _into(content, 0, _SEQUENCE)
        if not content.startswith(_OID + _SIGNED, position):
            return None
        position = _into(content, position + len(_OID) + 1, _EXPLICIT)
        position = _into(content, position, _SEQUENCE)
        for tag in (_INTEGER, _SET):
            position = _past(content, position, tag)
        return _first_content(content, _into(content, position, _SEQUENCE))
    except (IndexError, ValueError):
        return None


def is_encrypted(content: bytes) -> bool:
    """Whether reading it requires the recipient's key."""
    try:
        position = _into(content, 0, _SEQUENCE)
    except (IndexError, ValueError):
        return False
    return content.startswith((_OID + _ENVELOPED, _AUTHENTICATED), position)


def _first_content(content: bytes, position: int) -> bytes:
    position = _into(content, _past(content, position, _OBJECT), _EXPLICIT)
    if content[position] == _OCTETS_IN_PIECES:
        return b"".join(_pieces(content, position))
    return content[_into(content, position, _OCTETS) : _past(content, position, _OCTETS)]


def _pieces(content: bytes, position: int) -> Iterator[bytes]:
    start, length = _length(content, position + 1)
    end = len(content) if length is None else start + length
    position = start
    for _ in range(MAX_PIECES):
        if position >= end or (length is None and content.startswith(_END, position)):
            return
        after = _past(content, position, _OCTETS)
        yield content[_into(content, position, _OCTETS) : after]
        position = after
    raise ValueError("too many pieces")


def _into(content: bytes, position: int, tag: int) -> int:
    """The position of the value of the element at `position`. Raises ValueError if it has another tag."""
    if content[position] != tag:
        raise ValueError("another element was expected")
    return _length(content, position + 1)[0]


def _past(content: bytes, position: int, tag: int) -> int:
    """The end of the element at `position`, which must have a definite length and be complete."""
    start = _into(content, position, tag)
    length = _length(content, position + 1)[1]
    if length is None or start + length > len(content):
        raise ValueError("the element does not end")
    return start + length


def _length(content: bytes, position: int) -> tuple[int, int | None]:
    """(where the value begins, its bytes or None when its end is marked)."""
    first = content[position]
    if first < 0x80:
        return position + 1, first
    size = first & 0x7F
    if size > 8:
        raise ValueError("no such length")
    start = position + 1 + size
    return start, int.from_bytes(content[position + 1 : start], "big") if size else None
