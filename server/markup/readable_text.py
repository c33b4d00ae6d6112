"""Extracts readable text from the HTML of a mail that has no text part. For display as HTML, see clean.py."""

import re
from dataclasses import field

from server.dataclass import dataclass
from server.markup.html_tokens import HtmlToken, HtmlTokenKind, tokens

MAX_TEXT_SOURCE = 512 * 1024  # characters of HTML; the whole is stored as an attachment
MAX_INDENT = 6  # levels of lists; deeper ones are indented like this one

_PARAGRAPHS = frozenset(("p h1 h2 h3 h4 h5 h6 ul ol dl table blockquote pre hr figure").split())
_LINES = frozenset(
    (
        "div li tr dt dd section article header footer address center caption figcaption form fieldset tbody thead "
        "tfoot main nav aside body head html"
    ).split()
)
_CELLS = frozenset({"td", "th"})
_LINK = re.compile(r"(?:https?|mailto|tel|ftp):", re.IGNORECASE)
_BLANK = re.compile(r"[ \t\r\n\f\xa0]+")


def text_of_html(html: str) -> str:
    """Returns the text of `html`: links as `label <url>`, list marks, blank lines between blocks, no styles and
    scripts.

    Reads at most MAX_TEXT_SOURCE characters, in linear time; never raises.

    >>> text_of_html('<p>See <a href="https://x.example/a">the page</a></p><ul><li>one<li>two</ul>')
    'See the page <https://x.example/a>\\n\\n- one\\n- two'
    """
    page = _TextOutput()
    for token in tokens(_head(html)):
        if token.kind is HtmlTokenKind.TEXT:
            page.text(token.value)
        elif token.kind is HtmlTokenKind.START:
            page.start(token)
        else:
            page.end(token.value)
    page.close_link()
    return "".join(page.parts).strip()


def _head(html: str) -> str:
    """Returns the beginning of long HTML, cut after a tag if possible, so that no partial tag shows as text."""
    if len(html) <= MAX_TEXT_SOURCE:
        return html
    return html[: html.rfind(">", 0, MAX_TEXT_SOURCE) + 1 or MAX_TEXT_SOURCE]


@dataclass
class _TextOutput:
    """The text so far, and the whitespace that is due before the next word."""

    parts: list[str] = field(default_factory=list)
    breaks: int = 0  # line ends due before the next word
    space: bool = False  # a blank due before the next word
    is_fresh: bool = True  # nothing written yet, or only a list mark
    pre: int = 0  # open <pre>
    lists: list[int] = field(default_factory=list)  # per open list: next number, or 0 for marks
    link: str = ""
    link_from: int = 0  # length of `parts` where the label starts

    def start(self, token: HtmlToken) -> None:
        name = token.value
        self._block(name)
        if name == "br":
            self._break(min(self.breaks + 1, 2))
        elif name == "hr":
            self._write("---")
            self._break(2)
        elif name in ("ul", "ol"):
            self.lists.append(1 if name == "ol" else 0)
        elif name == "li":
            self._mark()
        elif name in _CELLS:
            self.space = True
        elif name == "img":
            self.text(token.attributes.get("alt", ""))
        elif name == "a":
            self._open_link(token.attributes.get("href", "").strip())
        elif name == "pre":
            self.pre += 1

    def end(self, name: str) -> None:
        if name == "a":
            self.close_link()
        elif name in ("ul", "ol") and self.lists:
            self.lists.pop()
        elif name == "pre" and self.pre:
            self.pre -= 1
        self._block(name)

    def text(self, text: str) -> None:
        text = text.replace("\0", "")
        if self.pre:
            self._write(text.replace("\r\n", "\n").replace("\r", "\n"))
            return
        words = _BLANK.sub(" ", text)
        if words.startswith(" "):
            self.space = True
        if words.strip(" "):
            self._write(words.strip(" "))
            self.space = words.endswith(" ")

    def close_link(self) -> None:
        url, self.link = self.link, ""
        if not url:
            return
        label = "".join(self.parts[self.link_from :]).strip()
        if label not in (url, url.removeprefix("mailto:"), url.removeprefix("tel:"), url.rstrip("/")):
            self.space = self.space or bool(label)
            self._write(f"<{url}>")

    def _open_link(self, url: str) -> None:
        self.close_link()
        if _LINK.match(url) and not _BLANK.search(url):
            self.link, self.link_from = url, len(self.parts)

    def _block(self, name: str) -> None:
        if name in _PARAGRAPHS:
            self._break(1 if self.lists else 2)
        elif name in _LINES:
            self._break(1)

    def _break(self, count: int) -> None:
        if not self.is_fresh:
            self.breaks = max(self.breaks, count)

    def _mark(self) -> None:
        number = self.lists[-1] if self.lists else 0
        if number:
            self.lists[-1] += 1
        indent = "  " * (min(len(self.lists), MAX_INDENT) - 1)
        self.is_fresh = False
        self._break(1)
        self._write(f"{indent}{number}. " if number else f"{indent}- ")
        self.is_fresh = True

    def _write(self, text: str) -> None:
        if not text:
            return
        if self.parts and self.breaks:
            self.parts.append("\n" * self.breaks)
        elif self.parts and self.space and not self.is_fresh:
            self.parts.append(" ")
        self.parts.append(text)
        self.breaks, self.space, self.is_fresh = 0, False, False
