"""Markdown and mail HTML to safe HTML or to text. Pure functions: no database, no settings, no network.

What a browser is given comes from `clean_html`, `markdown_to_html` or `link_plain_text`, and is never edited afterwards.
"""

from server.markup.text import text_of_html

__all__ = ["text_of_html"]
