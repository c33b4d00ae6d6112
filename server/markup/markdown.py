"""Markdown to safe HTML, for outgoing mail and for comments, and to the text part of a mail."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from server.errors import TooLarge
from server.markup.clean import ImageUrl, clean_html
from server.warming import warmed

MAX_MARKDOWN_CHARACTERS = 512 * 1024


@cache
def _renderer(escape: bool) -> Callable[[str], Any]:
    """escape: raw HTML in the source shows as text; the sanitizer alone would let harmless elements through."""
    # Patterns without number are compiled with it, which no start should wait for.
    import mistune

    from server.markup.tables import limit_tables

    # Its own list of schemes lacks cid, which is how the images of a mail are named; the sanitizer has the last word.
    made = mistune.create_markdown(
        renderer=mistune.HTMLRenderer(escape=escape, allow_harmful_protocols=["cid:"]),
        plugins=["table", "strikethrough", "url"],
    )
    limit_tables(made)
    return made


@warmed
def _usual_renderer() -> object:
    return _renderer(True)


# Every run has a length, so that a text of nothing but "![" is read in time.
_IMAGE = re.compile(
    r"""!\[([^\]\n]{0,500}+)\]
        \(\s{0,20}+<?([^\s()<>]{1,2000}+)>?(?:\s{1,20}+["'][^"'\n]{0,500}+["'])?\s{0,20}+\)""",
    re.VERBOSE,
)


def markdown_to_html(
    text: str, *, allow_remote_images: bool = False, image_url: ImageUrl | None = None, keep_html: bool = False,
    new_tab: bool = True,
) -> str:  # fmt: skip
    """The HTML of `text`, safe to show. Tables, ~~strikethrough~~ and bare URLs are understood; raw HTML shows as text,
    or is cleaned as all the rest where `keep_html` says so.

    The other keywords are those of `clean_html`; outgoing mail allows remote images. Raises TooLarge when the source is
    above MAX_MARKDOWN_CHARACTERS, its tables above MAX_TABLE_CELLS of tables.py, or the result above the limit of
    `clean_html`. Source: Outbound, Body.

    >>> markdown_to_html("| a |\\n|---|\\n| `x\\\\|y` |").count("<code>x|y</code>")
    1
    >>> markdown_to_html("**Hi** <script>")
    '<p><strong>Hi</strong> &lt;script&gt;</p>\\n'
    """
    if len(text) > MAX_MARKDOWN_CHARACTERS:
        raise TooLarge(
            f"Markdown of {len(text)} characters is too long; at most {MAX_MARKDOWN_CHARACTERS} are rendered",
            limit=MAX_MARKDOWN_CHARACTERS,
        )
    rendered = _renderer(not keep_html)(text.encode("utf-8", "replace").decode("utf-8"))
    assert isinstance(rendered, str)  # the renderer is the HTML one
    return clean_html(rendered, allow_remote_images=allow_remote_images, image_url=image_url, new_tab=new_tab)


def markdown_to_text(text: str) -> str:
    """`text` as the text part of a Markdown mail: as written, images reduced to links. Source: Outbound, Body.

    >>> markdown_to_text("See ![the boat](https://x.example/b.png) *now*")
    'See the boat <https://x.example/b.png> *now*'
    """
    return _IMAGE.sub(lambda image: f"{image[1]} <{image[2]}>".lstrip(), text)
