"""Converts Markdown and the HTML of mail to safe HTML or to text. Pure functions: no database, settings or network.

Browsers receive the output of `clean_html`, `markdown_to_html` or `link_plain_text` unchanged."""

from server.markup.clean import MAX_HTML_BYTES, clean_html, is_colored
from server.markup.markdown import escape_markdown, markdown_to_html, markdown_to_text, plain_words
from server.markup.plain_links import link_plain_text
from server.markup.plain_text import text_to_html
from server.markup.readable_text import text_of_html

__all__ = [
    "MAX_HTML_BYTES",
    "clean_html",
    "escape_markdown",
    "is_colored",
    "link_plain_text",
    "markdown_to_html",
    "markdown_to_text",
    "plain_words",
    "text_of_html",
    "text_to_html",
]
