"""The text of an article: its formats, and the safe HTML and the plain words that are made of it."""

import html

from server.errors import TooLarge
from server.fields import Field, Intake
from server.fields.base import as_text
from server.markup import clean_html, link_plain_text, markdown_to_html, text_of_html
from server.markup.links import MAX_LINKED_CHARACTERS

PLAIN, HTML, MARKDOWN = 0, 1, 2
LETTERS = {"t": PLAIN, "p": PLAIN, "h": HTML, "m": MARKDOWN}  # of text, plain, html, markdown


def format_number(raw: object) -> int | None:
    """The number of a format as sent, None for none.

    >>> format_number("Markdown"), format_number("p"), format_number(1), format_number("rtf")
    (2, 0, 1, None)
    """
    text = as_text(raw).strip().lower()
    return int(text) if text in ("0", "1", "2") else LETTERS.get(text[:1])


class ArticleFormat(Field):
    """text, html or markdown, by its first letter; `p` for plain is fine too. Stored, and understood, as 0, 1, 2."""

    type = "text"
    kind = "INTEGER"

    def initial(self) -> int:
        return PLAIN

    def read(self, raw: object, intake: Intake) -> int:
        number = format_number(raw)
        if number is None:
            raise self.bad(f"'{as_text(raw)[:50]}' is not one of text, html, markdown")
        return number

    def limits(self) -> dict[str, object]:
        return {"allowed": ["text", "html", "markdown"]}


class RenderedText(str):
    """A text whose HTML was made before it came to the one writer."""

    content_html: str
    content_format: int


def rendered(text: str, format: int) -> RenderedText:
    """A text with its HTML. Raises TooLarge naming the field."""
    found = RenderedText(text)
    found.content_html, found.content_format = to_html(text, format), format
    return found


def to_html(text: str, format: int) -> str:
    """The HTML of an article, safe to show; images of the network are shown. Raises TooLarge naming the field.

    >>> to_html("a < b\\nc", PLAIN), to_html("<b onclick='x()'>a</b>", HTML), to_html("*a*", MARKDOWN)
    ('a &lt; b<br>\\nc', '<b>a</b>', '<p><em>a</em></p>\\n')
    """
    try:
        if format == MARKDOWN:
            return markdown_to_html(text, allow_remote_images=True)
        if format == HTML:
            return clean_html(text, allow_remote_images=True)
    except TooLarge as error:
        raise TooLarge(f"content: {error.message}", field="content", **error.details) from error
    # Line by line, so that what was made safe is not edited afterwards.
    line_to_html = link_plain_text if len(text) <= MAX_LINKED_CHARACTERS else html.escape
    return "<br>\n".join(line_to_html(line) for line in text.splitlines())


def words(text: str, format: int) -> str:
    """What of an article is searched."""
    return text_of_html(text) if format == HTML else text
