"""Recognizes parts that are encrypted or signed with OpenPGP. Follows RFC 3156, sections 4 and 5, and RFC 9580, section
6.2."""

CONTROL_TYPES = frozenset({"application/pgp-encrypted"})  # the part "Version: 1", which holds nothing else
SIGNATURE_TYPE = "application/pgp-signature"  # of a part beside the one that it signs
SIGNED_NOTE = "signed with OpenPGP; the signature was not checked"
ENCRYPTED_NOTE = "encrypted with OpenPGP; only the recipient's key opens it"
_ARMOR = b"-----BEGIN PGP MESSAGE-----"
_ARMOR_WITHIN = 4096  # bytes from the beginning of a part, where a program may write a line first


def is_control_part(mime_type: str, content: bytes) -> bool:
    return mime_type in CONTROL_TYPES and len(content) < 200 and b"version" in content.lower()


def is_encrypted(content: bytes) -> bool:
    """Whether `content` is, or begins with, an armored message."""
    at = content.find(_ARMOR, 0, _ARMOR_WITHIN)
    return at == 0 or (at > 0 and content[at - 1 : at] == b"\n")
