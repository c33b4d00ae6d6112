"""The HTML of notes, which are Markdown."""

from functools import lru_cache

from server.errors import TooLarge
from server.markup import markdown_to_html

MAX_CHARS = 16 * 1024  # longer notes are shown as plain text
MAX_CACHED = 512  # notes; rendering one takes half a millisecond


def note_html(text: str) -> str:
    """Returns the sanitized HTML of a note, "" if it is too large."""
    return _rendered(text) if len(text) <= MAX_CHARS else ""


@lru_cache(maxsize=MAX_CACHED)
def _rendered(text: str) -> str:
    try:
        return markdown_to_html(text)
    except TooLarge:
        return ""
