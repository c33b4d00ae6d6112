"""The format of signed names, which identify replies of workers to mail about a ticket, and their removal from text.

A name works like a password for one reply, so no stored or displayed text contains it. notifying/reply_ids.py signs
and checks names."""

import re

from server.late_pattern import late_pattern

REMOVED = "signed-name-removed"
# Kind, ticket, worker, day, random letters (absent in names made before 2026-11), signature.
_NAME = r"(?<![a-z0-9])([nr])-(\d{1,15})-(\d{1,15})-(\d{1,6})-(?:([a-z2-7]{6})-)?([a-z2-7]{24})(?![a-z0-9])"
NAME = late_pattern(_NAME)
_IN_TEXT = late_pattern(_NAME, re.IGNORECASE)
# Quoted-printable and some programs break lines within a name.
_BREAK = rb"(?:=?\r?\n[ \t]*)?"
_LETTERS = rb"(?:[a-z2-7]" + _BREAK + rb"){23}[a-z2-7]"
_IN_BYTES = late_pattern(
    rb"(?<![a-z0-9])[nr]-(?:\d{1,15}-"
    + _BREAK
    + rb"){3}(?:[a-z2-7]{6}-"
    + _BREAK
    + rb")?"
    + _LETTERS
    + rb"(?![a-z0-9])",
    re.IGNORECASE,
)


def without_names(text: str) -> str:
    """The text with each signed name replaced.

    >>> without_names("<r-5-2-20780-abcdefghijklmnopqrstuvwx.1a@desk.example>")
    '<signed-name-removed.1a@desk.example>'
    """
    return _IN_TEXT.sub(REMOVED, text)


def bytes_without_names(raw: bytes) -> bytes:
    """The bytes of a mail with each signed name replaced, also across a line break. Names in base64 are not
    recognized."""
    return _IN_BYTES.sub(REMOVED.encode(), raw)
