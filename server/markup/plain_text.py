"""Converts plain text to HTML for mail: paragraphs, line breaks and links, and quotations marked by `>`."""

import re
from html import escape

from server.markup.plain_links import MAX_LINKED_CHARACTERS, link_plain_text

MAX_QUOTE_DEPTH = 20  # levels; deeper quotations are shown at this one
_MARKS = re.compile(r"(?:>\s?){1,200}")
_BLANKS = re.compile(r"^ +| {2,}")


def text_to_html(text: str) -> str:
    """Returns the HTML of plain text, safe to show; nothing in it is read as Markdown or HTML.

    >>> text_to_html("See a < b\\n\\n> Is it?\\n>> Yes.")
    '<p>See a &lt; b</p>\\n<blockquote><p>Is it?</p>\\n<blockquote><p>Yes.</p>\\n</blockquote></blockquote>'
    """
    to_html = link_plain_text if len(text) <= MAX_LINKED_CHARACTERS else escape
    parts: list[str] = []
    depth = 0
    paragraph: list[str] = []

    def end_paragraph() -> None:
        if paragraph:
            parts.append(f"<p>{'<br>'.join(paragraph)}</p>\n")
            paragraph.clear()

    for line in text.replace("\r\n", "\n").replace("\r", "\n").strip("\n").split("\n"):
        quoted, rest = _split_marks(line)
        if quoted != depth:
            end_paragraph()
            parts.append("<blockquote>" * (quoted - depth) + "</blockquote>" * (depth - quoted))
            depth = quoted
        if rest.strip():
            paragraph.append(to_html(_spaced(rest)))
        else:
            end_paragraph()
    end_paragraph()
    return "".join(parts) + "</blockquote>" * depth


def _split_marks(line: str) -> tuple[int, str]:
    marks = _MARKS.match(line)
    if marks is None:
        return 0, line
    return min(marks[0].count(">"), MAX_QUOTE_DEPTH), line[marks.end() :]


def _spaced(line: str) -> str:
    """Returns a line whose indentation and columns are as wide in HTML as in the text."""
    return _BLANKS.sub(_hard_blanks, line.expandtabs(4).rstrip())


def _hard_blanks(blanks: re.Match[str]) -> str:
    count = len(blanks[0])
    return "\xa0" * (count - 1) + " " if blanks.start() else "\xa0" * count
