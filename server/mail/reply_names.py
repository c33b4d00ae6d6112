"""The format of signed names, which identify replies of workers to mail about a ticket, and their removal from text.

A name works like a password for one reply, so no stored or displayed text contains it. notifying/reply_ids.py signs
and checks names. The codes of links with which customers rate are removed too, since customers quote them in replies:
workers would rate in their place. tickets/ratings/rating_links.py signs those."""

import re

from server.late_pattern import late_pattern

REMOVED = "signed-name-removed"
# Kind, ticket, worker, day, random letters (absent in names made before 2026-11), signature.
_NAME = r"(?<![a-z0-9])([nr])-(\d{1,15})-(\d{1,15})-(\d{1,6})-(?:([a-z2-7]{6})-)?([a-z2-7]{24})(?![a-z0-9])"
NAME = late_pattern(_NAME)
_IN_TEXT = late_pattern(_NAME, re.IGNORECASE)
_PART = late_pattern(r"-\d{1,15}-\d")  # every name has such a part, which is found twenty times as fast
_RATING = late_pattern(r"(rate(?:/|%2[Ff]))[a-z2-7]{16}-[a-z2-7]{24}")  # also in addresses that a mail server rewrote
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
_RATING_IN_BYTES = late_pattern(
    rb"(rate(?:/|%2[Ff]))" + _BREAK + rb"(?:[a-z2-7]" + _BREAK + rb"){16}-" + _BREAK + _LETTERS
)


def without_names(text: str) -> str:
    """The text with each signed name, and each code of a link to rate, replaced.

    >>> without_names("<r-5-2-20780-abcdefghijklmnopqrstuvwx.1a@desk.example>")
    '<signed-name-removed.1a@desk.example>'
    >>> without_names("https://desk.example/rate/abcdefghijklmnop-abcdefghijklmnopqrstuvwx/bad")
    'https://desk.example/rate/signed-name-removed/bad'
    """
    if _PART.search(text) is not None:
        text = _IN_TEXT.sub(REMOVED, text)
    return _RATING.sub(_without_code, text)


def _without_code(link: re.Match[str]) -> str:
    return f"{link[1]}{REMOVED}"


def bytes_without_names(raw: bytes) -> bytes:
    """The bytes of a mail with each signed name and code replaced, also across a line break. Those in base64 are not
    recognized."""
    return _RATING_IN_BYTES.sub(rb"\1" + REMOVED.encode(), _IN_BYTES.sub(REMOVED.encode(), raw))
