"""Links in plain text: for bodies, comments and other text that a page shows as it was written. Not for HTML.

Written here since bleach's linkifier needs more than a minute for 100 KB of `a.a.a.`, in one regular expression that
holds the interpreter all that time.
"""

import re
from html import escape

MAX_LINKED_CHARACTERS = 100 * 1024   # longer text is escaped only
MAX_URL_CHARACTERS = 2_000

# No quotes, brackets, backslashes and direction marks: they end a URL in text, or disguise it.
_URL_CHARACTER = r"[^\s<>\"`{}|\\^\x00-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
_LINKED = re.compile(
    rf"""(?P<url>\b(?:https?://|www\.(?=\w)){_URL_CHARACTER}{{1,{MAX_URL_CHARACTERS}}}+)
      |(?P<mail>(?<![\w.+@-])[a-zA-Z0-9_][a-zA-Z0-9_.+-]{{0,63}}+
        @[a-zA-Z0-9][a-zA-Z0-9-]{{0,62}}+(?:\.[a-zA-Z0-9][a-zA-Z0-9-]{{0,62}}+){{1,8}}+)""",
    re.VERBOSE | re.IGNORECASE,
)
_CLOSING = {")": "(", "]": "["}


def link_plain_text(text: str) -> str:
    """`text` as HTML: escaped, with links to http, https, www and mail addresses. Line ends stay as they are.

    Above MAX_LINKED_CHARACTERS nothing is linked. Never raises. Source: decisions, limits.

    >>> link_plain_text("a < b, see www.x.example.")
    'a &lt; b, see <a href="http://www.x.example" target="_blank" rel="noopener noreferrer nofollow">www.x.example</a>.'
    """
    if len(text) > MAX_LINKED_CHARACTERS:
        return escape(text)
    parts = []
    position = 0
    for match in _LINKED.finditer(text):
        shown = _without_punctuation(match[0])
        parts += [escape(text[position : match.start()]), _link(shown, is_mail=match["mail"] is not None)]
        position = match.start() + len(shown)
    return "".join(parts) + escape(text[position:])


def _link(shown: str, is_mail: bool) -> str:
    if is_mail:
        url = f"mailto:{shown}"
    else:
        url = shown if shown[:4].lower() == "http" else f"http://{shown}"
    return f'<a href="{escape(url)}" target="_blank" rel="noopener noreferrer nofollow">{escape(shown)}</a>'


def _without_punctuation(url: str) -> str:
    """`url` without what belongs to the sentence around it: stops, quotes, and brackets that it does not open."""
    end = len(url)
    while end and (url[end - 1] in ".,;:!?'*" or _is_unopened(url[:end])):
        end -= 1
    return url[:end]


def _is_unopened(url: str) -> bool:
    opening = _CLOSING.get(url[-1])
    return opening is not None and url.count(url[-1]) > url.count(opening)
