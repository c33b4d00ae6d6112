"""Escapes texts for HTML, JavaScript, CSS and URLs, and back."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from server.errors import TemplateFailed, nearest
from server.markup.html_tokens import resolve
from server.template.filters.encodings import percent_encoded
from server.template.registry import filter
from server.template.run import Rendering
from server.template.shared.text_values import EachCharacter, mapped, read, substituted
from server.template.values import printed

_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#039;"})
_JS_NAMES = {"\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ATTRIBUTE_NAMES = {'"': "&quot;", "&": "&amp;", "<": "&lt;", ">": "&gt;"}
_REFERENCE = re.compile(r"&(?:#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,8}|[A-Za-z][A-Za-z0-9]{1,31});")


def _is_plain(char: str, others: str = "") -> bool:
    return (char.isascii() and char.isalnum()) or char in others


def _js(char: str) -> str:
    if _is_plain(char, ",._"):
        return char
    if char in _JS_NAMES:
        return _JS_NAMES[char]
    units = char.encode("utf-16-be", "surrogatepass").hex().upper()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def _css(char: str) -> str:
    return char if _is_plain(char) else f"\\{ord(char):X} "


def _attribute(char: str) -> str:
    if _is_plain(char, ",.-_"):
        return char
    code = ord(char)
    if (code < 0x20 and char not in "\t\n\r") or 0x7F <= code <= 0x9F:
        return "&#xFFFD;"
    return _ATTRIBUTE_NAMES.get(char) or f"&#x{code:0{2 if code < 0x80 else 4}X};"


CHANGES: dict[str, Callable[[str], str]] = {"js": _js, "css": _css, "html_attr": _attribute}
STRATEGIES = ("html", "url", *CHANGES)


@filter("e", "escape")
def escape(run: Rendering, value: Any, strategy: Any = "html") -> Any:
    """The text escaped for HTML, or for js, css, url or html_attr; numbers and lists are unchanged. Raises
    TemplateFailed for another strategy."""
    name = printed(strategy)
    if name not in STRATEGIES:
        raise TemplateFailed(f"'escape' has no strategy '{name[:50]}'{nearest(name, STRATEGIES)}")
    if not isinstance(value, str):
        return value
    if name == "url":
        return percent_encoded(run, value)
    table: Mapping[int, str] = _HTML if name == "html" else EachCharacter(CHANGES[name])
    return mapped(run, value, lambda part: part.translate(table))


@filter("unescape")
def unescape(run: Rendering, value: Any) -> str:
    """The text with character references such as &lt; and &#65; replaced, once."""
    return substituted(run, read(run, value), _REFERENCE, lambda match: resolve(match[0]))
