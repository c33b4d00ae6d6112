"""Texts made harmless for the place where they will stand, and back."""

import re
from collections.abc import Callable
from typing import Any

from server.errors import TemplateFailed, nearest
from server.markup.tokens import resolve
from server.template.filters.encodings import percent_encoded
from server.template.registry import filter
from server.template.run import Run
from server.template.shared.texts import mapped, read
from server.template.values import printed

_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#039;"})
_JS = re.compile(r"[^A-Za-z0-9,._]")
_JS_NAMES = {"\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_CSS = re.compile(r"[^A-Za-z0-9]")
_ATTRIBUTE = re.compile(r"[^A-Za-z0-9,.\-_]")
_ATTRIBUTE_NAMES = {'"': "&quot;", "&": "&amp;", "<": "&lt;", ">": "&gt;"}
_REFERENCE = re.compile(r"&(?:#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,8}|[A-Za-z][A-Za-z0-9]{1,31});")
MATCHES_A_STEP = 8


def escaped_html(text: str) -> str:
    """`&`, `<`, `>` and both quotation marks as character references."""
    return text.translate(_HTML)


def _js(match: re.Match[str]) -> str:
    char = match[0]
    if char in _JS_NAMES:
        return _JS_NAMES[char]
    units = char.encode("utf-16-be", "surrogatepass").hex().upper()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def _attribute(match: re.Match[str]) -> str:
    char = match[0]
    code = ord(char)
    if (code < 0x20 and char not in "\t\n\r") or 0x7F <= code <= 0x9F:
        return "&#xFFFD;"
    return _ATTRIBUTE_NAMES.get(char) or f"&#x{code:0{2 if code < 0x80 else 4}X};"


STRATEGIES: dict[str, Callable[[str], str]] = {
    "html": escaped_html,
    "js": lambda text: _JS.sub(_js, text),
    "css": lambda text: _CSS.sub(lambda match: f"\\{ord(match[0]):X} ", text),
    "html_attr": lambda text: _ATTRIBUTE.sub(_attribute, text),
}


@filter("e", "escape")
def escape(run: Run, value: Any, strategy: Any = "html") -> Any:
    """The text for HTML, or for js, css, url, html_attr; numbers and lists as they are. Raises TemplateFailed for
    another strategy. Source: Templates, escape."""
    name = printed(strategy)
    if name not in (*STRATEGIES, "url"):
        raise TemplateFailed(f"'escape' has no strategy '{name[:50]}'{nearest(name, (*STRATEGIES, 'url'))}")
    if not isinstance(value, str):
        return value
    if name == "url":
        return percent_encoded(run, value)
    if name != "html":
        run.budget.step(len(value) // MATCHES_A_STEP)
    return mapped(run, value, STRATEGIES[name])


@filter("unescape")
def unescape(run: Run, value: Any) -> str:
    """The text with character references such as &lt; and &#65; replaced, once. Source: Templates, unescape."""
    text = read(run, value)
    run.budget.step(text.count("&") // MATCHES_A_STEP)
    return _REFERENCE.sub(lambda match: resolve(match[0]), text)
