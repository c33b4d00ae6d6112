"""Converts Markdown to safe HTML, for outgoing mail and comments, and to the text part of a mail."""

import re
from collections.abc import Callable
from functools import cache
from html import escape
from typing import Any

from server.errors import TooLarge
from server.markup.clean import TAGS, ImageUrl, clean_html
from server.markup.readable_text import text_of_html
from server.warming import warmed

MAX_MARKDOWN_CHARACTERS = 512 * 1024


# Excludes the two dashes above a signature, which would underline a heading.
_HEADING_LINE = r"^ {0,3}(?P<setext_1>=|-(?!-[ \t]*$)){1}(?:(?<==)=|(?<=-)-)*[ \t]*$"
# The marks of headings, links, pictures, emphasis and code, and addresses as text_of_html writes them.
_MARKS = re.compile(
    r"^ {0,3}#{1,6} +(?=[^\W\d])|!?\[([^\[\]\n]*)\]\([^()\s]*\)|(?<!\w)(\*{1,3}|`)(?=\S)([^*`\n]+)(?<=\S)\2(?!\w)"
    r"| ?<(?:https?:|mailto:)[^<>\s]*>",
    re.MULTILINE,
)
_BAR = re.compile(r"(?<!\\)\|")  # between two cells of a table
_RULE = frozenset(" \t|:-")  # characters of the line below the header of a table
_TAG = re.compile(r"</?([a-zA-Z][^\s/<>]*)[^<>]*>")
# Elements of HTML that mail must not contain: dropped instead of shown as text.
_DROPPED = frozenset(
    (
        "address applet area article aside audio base basefont body button canvas command data datalist details dialog "
        "dir embed fieldset footer form frame frameset head header hgroup html iframe input label legend link main map "
        "marquee menu meta meter nav noembed noframes noscript object optgroup option output param picture progress rp "
        "rt ruby script search section select slot source style summary svg template textarea title track video xmp"
    ).split()
)


@cache
def _renderer(keep_html: bool, single_breaks: bool) -> Callable[[str], Any]:
    """Returns a renderer of mistune; `keep_html` passes raw HTML on to the sanitizer instead of showing it as text."""
    # Imported late: it compiles many patterns, which would delay the start.
    import mistune

    from server.markup.markdown_tables import limit_tables

    class Renderer(mistune.HTMLRenderer):
        def inline_html(self, html: str) -> str:
            return _escape_unknown_tags(html) if keep_html else super().inline_html(html)

        def block_html(self, html: str) -> str:
            return f"{_escape_unknown_tags(html)}\n" if keep_html else super().block_html(html)

    # Its list of schemes lacks cid, the scheme of inline images; the sanitizer decides about schemes later.
    markdown = mistune.create_markdown(
        renderer=Renderer(escape=not keep_html, allow_harmful_protocols=["cid:"]),
        plugins=["table", "strikethrough", "url"],
        hard_wrap=single_breaks,
    )
    markdown.block.specification["setex_heading"] = _HEADING_LINE
    limit_tables(markdown)
    return markdown


def _escape_unknown_tags(html: str) -> str:
    """Returns raw HTML with unknown tags as text, such as the type in `List<String>`."""
    return _TAG.sub(lambda tag: tag[0] if _is_known(tag[1].lower()) else escape(tag[0], quote=False), html)


def _is_known(name: str) -> bool:
    return name in TAGS or name in _DROPPED


@warmed
def _usual_renderer() -> object:
    return _renderer(True, True)


_ACTIVE = re.compile(r"[<>\[\]`]")
# Every repetition is limited, so that a text of only "![" takes linear time.
_IMAGE = re.compile(
    r"""!\[([^\]\n]{0,500}+)\]
        \(\s{0,20}+<?([^\s()<>]{1,2000}+)>?(?:\s{1,20}+["'][^"'\n]{0,500}+["'])?\s{0,20}+\)""",
    re.VERBOSE,
)
# Code, in which a backslash is itself, or an escaped sign.
_ESCAPED = re.compile(r"(```.*?```|`[^`\n]+`)|\\([!-/:-@\[-`{-~])", re.DOTALL)


def markdown_to_html(
    text: str,
    *,
    allow_remote_images: bool = False,
    image_url: ImageUrl | None = None,
    keep_html: bool = False,
    new_tab: bool = True,
    single_breaks: bool = True,
) -> str:
    """Renders Markdown as HTML that is safe to show, with tables, ~~strikethrough~~ and bare URLs.

    keep_html: raw HTML is cleaned like the rest; otherwise it shows as text. single_breaks: a line end becomes a
    `<br>`, as people write mail and notes; off for texts that are wrapped in their source. The other keywords are those
    of `clean_html`; outgoing mail allows remote images. Raises TooLarge if the source exceeds MAX_MARKDOWN_CHARACTERS,
    its tables exceed MAX_TABLE_CELLS of markdown_tables.py, or the result exceeds the limit of `clean_html`.

    >>> markdown_to_html("| a |\\n|---|\\n| `x\\\\|y` |").count("<code>x|y</code>")
    1
    >>> markdown_to_html("**Hi** <script>")
    '<p><strong>Hi</strong> &lt;script&gt;</p>\\n'
    >>> markdown_to_html("Kind regards\\n<b>Ada</b> of <Boats>", keep_html=True)
    '<p>Kind regards<br>\\n<b>Ada</b> of &lt;Boats&gt;</p>\\n'
    """
    if len(text) > MAX_MARKDOWN_CHARACTERS:
        raise TooLarge(
            f"Markdown of {len(text)} characters is too long; at most {MAX_MARKDOWN_CHARACTERS} are rendered",
            limit=MAX_MARKDOWN_CHARACTERS,
        )
    rendered = _renderer(keep_html, single_breaks)(text.encode("utf-8", "replace").decode("utf-8"))
    assert isinstance(rendered, str)  # the renderer is the HTML one
    return clean_html(rendered, allow_remote_images=allow_remote_images, image_url=image_url, new_tab=new_tab)


def escape_markdown(text: str) -> str:
    """Returns a value for insertion into Markdown: nothing in it is read as HTML, a link, an image or code.

    >>> escape_markdown("[a](https://x.example) <b>")
    '\\\\[a\\\\](https://x.example) \\\\<b\\\\>'
    """
    return _ACTIVE.sub(r"\\\g<0>", text)


def _words_of_tables(text: str) -> str:
    """Puts each Markdown table on one line: its cells without bars, and without the rule below the header."""
    lines = text.split("\n")
    for rule in range(len(lines) - 1, 0, -1):
        if not ("-" in lines[rule] and "|" in lines[rule] and _RULE.issuperset(lines[rule]) and "|" in lines[rule - 1]):
            continue
        end = next((place for place in range(rule + 1, len(lines)) if "|" not in lines[place]), len(lines))
        rows = [lines[rule - 1], *lines[rule + 1 : end]]
        cells = [cell.strip().replace("\\|", "|") for row in rows for cell in _BAR.split(row)]
        lines[rule - 1 : end] = [" · ".join(filter(None, cells))]
    return "\n".join(lines)


def plain_words(text: str) -> str:
    """Returns a short text without the marks of Markdown and the addresses of links. The cells of a table are separated
    by dots.

    >>> plain_words("# See\\n**the** [list](https://x.example) of `all` <https://x.example> 2*3*4")
    'See\\nthe list of all 2*3*4'
    >>> plain_words("| Pump | Litres |\\n|------|-------:|\\n| A | 12 |\\nThanks"), plain_words("a | b")
    ('Pump · Litres · A · 12\\nThanks', 'a | b')
    """
    if "|" in text:
        text = _words_of_tables(text)
    return _MARKS.sub(lambda mark: mark[1] or mark[3] or "", text)


def markdown_to_text(text: str, html: str = "") -> str:
    """Returns the text part of a Markdown mail: the source, with images reduced to links and without backslashes before
    signs. `html`: the rendered source, which is converted instead if the source contains raw HTML.

    >>> markdown_to_text("See ![the boat](https://x.example/b.png) *now*")
    'See the boat <https://x.example/b.png> *now*'
    >>> markdown_to_text("\\\\# 2\\\\*3 `a\\\\*b`")
    '# 2*3 `a\\\\*b`'
    >>> markdown_to_text("See <b>this</b>", "<p>See <b>this</b></p>")
    'See this'
    """
    if html and any(tag[1].lower() in TAGS for tag in _TAG.finditer(text)):
        return text_of_html(html)
    plain = _IMAGE.sub(lambda image: f"{image[1]} <{image[2]}>".lstrip(), text)
    return _ESCAPED.sub(lambda match: match[1] or match[2], plain)
