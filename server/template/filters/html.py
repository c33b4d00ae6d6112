"""HTML: from Markdown, to text, without its tags. server/markup makes HTML safe for a browser."""

import re
from typing import Any

from server.errors import TemplateFailed, TooLarge
from server.markup import markdown_to_html as rendered
from server.markup import text_of_html
from server.template.registry import filter
from server.template.run import Rendering
from server.template.shared.text_values import SLOW_CHARS_A_STEP, read, read_text, substituted
from server.template.values import printed, truthy, whole

MAX_MARKDOWN_CHARS = 64 * 1024  # a table that consists only of bars takes 30 microseconds a character
STEPS_A_MARKDOWN_CHAR = 15
STEPS_A_TAG = 5
_BETWEEN = re.compile(r">\s+<")
_EMPTY_LINES = re.compile(r"\n{2,}")
_TAG = re.compile(r"<(?=[A-Za-z/!?<])")
_INSIDE = re.compile(r"[<>\"']")
_NAME = re.compile(r"</?([A-Za-z][^\s/>]*)")


@filter("spaceless")
def spaceless(run: Rendering, value: Any) -> str:
    """The text without white space between tags and at its ends."""
    return substituted(run, read(run, value), _BETWEEN, lambda _: "><").strip()


@filter("html_to_text")
def html_to_text(run: Rendering, value: Any, truncate: Any = 50_000) -> str:
    """The text of an HTML page, with a line for each paragraph. truncate: the number of characters of HTML that are
    read. Empty if the value is not text."""
    html, most = read_text(run, value), max(whole(truncate), 0)
    if html is None:
        return ""
    if len(html) > most:
        html = html[:most]
        if html.rfind("<") > html.rfind(">"):  # half a tag would be read as text
            html = html[: html.rfind("<")]
    run.budget.step(html.count("<") * STEPS_A_TAG + len(html) // SLOW_CHARS_A_STEP)
    plain = text_of_html(html)
    run.budget.text(len(plain))
    return _EMPTY_LINES.sub("\n", plain) + "\n" if plain else ""


@filter("markdown_to_html")
def markdown_to_html(run: Rendering, value: Any, is_untrusted: Any = True) -> str:
    """The safe HTML of a Markdown text. HTML in an untrusted text is displayed as text; in a trusted one, harmless
    elements are rendered. Raises TemplateFailed for a text that is too long."""
    text, untrusted = read(run, value), truthy(is_untrusted)
    if len(text) > MAX_MARKDOWN_CHARS:
        raise TemplateFailed(f"'markdown_to_html' takes at most {MAX_MARKDOWN_CHARS:,} characters, not {len(text):,}")
    run.budget.step(len(text) * STEPS_A_MARKDOWN_CHAR)
    try:
        return rendered(text, allow_remote_images=not untrusted, keep_html=not untrusted).removesuffix("\n")
    except TooLarge as error:
        raise TemplateFailed(error.message) from None


@filter("striptags")
def striptags(run: Rendering, value: Any, allowed: Any = "") -> str:
    """The text without tags and comments, except for the tags named in `allowed`, such as `<b><i>`."""
    text = read(run, value)
    names = {name.lower() for name in _NAME.findall(printed(allowed))}
    parts, place = [], 0
    while (tag := _TAG.search(text, place)) is not None:
        end = _end_of_tag(run, text, tag.start())
        parts.append(text[place : tag.start()])
        name = _NAME.match(text, tag.start())
        if name is not None and name[1].lower() in names:
            parts.append(text[tag.start() : end])
        place = end
    return "".join([*parts, text[place:]])


def _end_of_tag(run: Rendering, text: str, start: int) -> int:
    """Returns the position after the tag or comment that begins at `start`, including the tags inside it; the end of
    the text if it is not closed."""
    if text.startswith("<!--", start):
        run.budget.step()
        end = text.find("-->", start + 4)
        return end + 3 if end >= 0 else len(text)
    depth, place = 0, start
    while (mark := _INSIDE.search(text, place)) is not None:
        run.budget.step()
        place = mark.end()
        if mark[0] in "\"'":
            place = text.find(mark[0], place) + 1 or len(text)
        elif mark[0] == "<":
            depth += 1
        else:
            depth -= 1
            if not depth:
                return place
    return len(text)
