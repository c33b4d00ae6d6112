"""Links in plain text: in bodies, comments and other text that a page shows verbatim. Not for HTML.

bleach creates the links, one word at a time and with patterns of ours. With its own patterns, and the text as a whole,
100 KB of `a.a.a.` take more than a minute, in one regular expression that holds the interpreter lock."""

import re
from collections.abc import Iterable, MutableMapping
from functools import cache
from html import escape
from typing import Any

from server.late_pattern import late_pattern
from server.warming import warmed

MAX_LINKED_CHARACTERS = 100 * 1024  # longer text is only escaped
MAX_WORD_CHARACTERS = 2_000  # longer words are only escaped; tracking links in mail exceed 1,000

_WORD = late_pattern(r"(\s+)")
# Excludes quotes, brackets, backslashes and direction marks, which end or disguise a URL. Parentheses: only in pairs.
_CHARACTER = r"[^\s<>\"`{}|\\^()\x00-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
# The lookbehind excludes the punctuation of the surrounding sentence.
_URL = late_pattern(rf"\b(?:https?://|www\.(?=\w))(?:{_CHARACTER}|\({_CHARACTER}*+\))+(?<![].,;:!?'*])", re.IGNORECASE)
_MAIL = late_pattern(
    r"""(?<![\w.+@/-])[a-zA-Z0-9_][a-zA-Z0-9_.+-]{0,63}+
        @[a-zA-Z0-9][a-zA-Z0-9-]{0,62}+(?:\.[a-zA-Z0-9][a-zA-Z0-9-]{0,62}+){1,8}+""",
    re.VERBOSE,
)

Attributes = MutableMapping[tuple[str | None, str], str]  # {(namespace, name): value}, the format of bleach
Token = dict[str, Any]


def link_plain_text(text: str) -> str:
    """Returns `text` as HTML: escaped, with links for http, https, www and mail addresses. Line ends are unchanged.

    Above MAX_LINKED_CHARACTERS there are no links. Never raises.

    >>> link_plain_text("a < b, see www.x.example.")
    'a &lt; b, see <a href="http://www.x.example" target="_blank" rel="noopener noreferrer nofollow">www.x.example</a>.'
    """
    if len(text) > MAX_LINKED_CHARACTERS:
        return escape(text)
    return "".join(_linked(word) if _may_link(word) else escape(word) for word in _WORD.split(text))


def _may_link(word: str) -> bool:
    return len(word) <= MAX_WORD_CHARACTERS and ("@" in word or "://" in word or "." in word)


def _linked(word: str) -> str:
    tokens: Iterable[Token] = [{"type": "Characters", "data": word}]
    linker = _linker()
    if "://" not in word:  # in a URL, a seeming mail address is a login
        tokens = linker.handle_email_addresses(tokens)
    return "".join(_html(token) for token in linker.handle_links(tokens))


def _html(token: Token) -> str:
    # Not bleach's serializer, which would decode entities in plain text.
    if token["type"] == "Characters":
        return escape(token["data"])
    if token["type"] == "EndTag":
        return "</a>"
    attributes = "".join(f' {name}="{escape(value)}"' for (_, name), value in token["data"].items())
    return f"<a{attributes}>"


def _says_nothing_about_us(attributes: Attributes, new: bool = False, /) -> Attributes:
    attributes[None, "rel"] = "noopener noreferrer nofollow"
    return attributes


_NO_SOURCE: Any = ()


@warmed
@cache
def _linker() -> Any:
    """Returns the shared linker. It has no state: only two of its methods are used, which take their input as an
    argument."""
    # Imported late: it loads an HTML parser, a twentieth of the start time.
    from bleach.callbacks import target_blank
    from bleach.linkifier import LinkifyFilter

    return LinkifyFilter(
        _NO_SOURCE, callbacks=[target_blank, _says_nothing_about_us], parse_email=True, url_re=_URL, email_re=_MAIL
    )
