"""Splits HTML into tags and text, in linear time for any input. For the modules of this folder; it neither decides what
is safe (clean.py) nor builds a tree.

`html.parser` is not suitable for mail: unclosed comments and tags take it quadratic time while it holds the interpreter
lock."""

import html as entities
import re
from collections.abc import Iterator
from dataclasses import field
from enum import Enum

from server.dataclass import dataclass
from server.late_pattern import late_pattern

MAX_ATTRIBUTES = 40  # per tag; the time of the sanitizer grows with the square of their number
MAX_REFERENCE_DIGITS = 20  # in &#...; more are not a character, and `int` raises for thousands of digits

# Their content up to the end tag is neither markup nor readable text.
UNREADABLE = frozenset({"script", "style", "title", "iframe", "noembed", "noframes", "xmp"})

# Possessive quantifiers do not backtrack, and the group of attributes accepts every character except ">", so a match
# fails only at the end of the text. There the scan stops, so nothing is read twice.
_TAG = late_pattern(
    r"""<(/?)([a-zA-Z][^\s/>]*+)
        ((?:[\s/]++|[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+))?+)*+)>""",
    re.VERBOSE,
)
_ATTRIBUTE = late_pattern(r"""([^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>]*+)))?+""")
_MARKUP = late_pattern(r"<(?=[a-zA-Z/!?])")
_DECLARATION = late_pattern(r"<(?:[!?]|/(?![a-zA-Z]))")
_COMMENT_END = late_pattern(r"--!?>")
_UNREADABLE_END = {name: late_pattern(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in UNREADABLE}
_ENDLESS_REFERENCE = late_pattern(rf"&#[xX]?+[0-9a-fA-F]{{{MAX_REFERENCE_DIGITS},}}+;?")


class HtmlTokenKind(Enum):
    TEXT = "text"
    START = "start"
    END = "end"


@dataclass(frozen=True, slots=True)
class HtmlToken:
    """A piece of HTML. `value`: the text with entities resolved, or the name of the element in lower case.
    `attributes`: those of a start tag, with names in lower case and entities resolved; the first of equal names."""

    kind: HtmlTokenKind
    value: str
    attributes: dict[str, str] = field(default_factory=dict)


def tokens(html: str) -> Iterator[HtmlToken]:
    """Yields the tags and texts of `html` in order. Omits comments, declarations and the elements in UNREADABLE with
    their content; an unclosed tag is text, with everything after it. Never raises."""
    position = 0
    while (markup := _MARKUP.search(html, position)) is not None:
        start = markup.start()
        if start > position:
            yield HtmlToken(HtmlTokenKind.TEXT, resolve(html[position:start]))
        tag = _TAG.match(html, start)
        if tag is not None:
            name = tag[2].lower()
            yield (
                HtmlToken(HtmlTokenKind.END, name)
                if tag[1]
                else HtmlToken(HtmlTokenKind.START, name, _attributes(tag[3]))
            )
            position = _after_unreadable(html, tag.end(), name) if not tag[1] else tag.end()
        elif _DECLARATION.match(html, start):
            position = _after_declaration(html, start)
        else:
            position = start
            break
        if position < 0:
            return
    if position < len(html):
        yield HtmlToken(HtmlTokenKind.TEXT, resolve(html[position:]))


def start_tag(html: str, position: int) -> tuple[str, dict[str, str], int]:
    """Returns the start tag at a position: its name in lower case, its attributes and its end; ("", {}, position) if
    there is none."""
    tag = _TAG.match(html, position)
    return (tag[2].lower(), _attributes(tag[3]), tag.end()) if tag and not tag[1] else ("", {}, position)


def resolve(text: str) -> str:
    """Returns `text` with character references replaced.

    >>> resolve("a &lt; b &#65;")
    'a < b A'
    """
    return entities.unescape(_ENDLESS_REFERENCE.sub("\ufffd", text)) if "&" in text else text


def _attributes(source: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(source):
        name = match[1].lower()
        if name not in values:
            values[name] = resolve(match[2] or match[3] or match[4] or "")
        if len(values) == MAX_ATTRIBUTES:
            break
    return values


def _after_unreadable(html: str, position: int, name: str) -> int:
    """Returns the position after the start tag `name` and its unreadable content; -1 if the element is not closed."""
    if name not in UNREADABLE:
        return position
    end = _UNREADABLE_END[name].search(html, position)
    return end.start() if end else -1


def _after_declaration(html: str, start: int) -> int:
    """Returns the position after a comment, doctype or processing instruction; -1 if it is not closed."""
    if html.startswith("<!--", start):
        # From start + 2, because "<!-->" is a whole comment.
        end = _COMMENT_END.search(html, start + 2)
        return end.end() if end else -1
    return html.find(">", start) + 1 or -1
