"""The text of an article: its formats, and its conversion to safe HTML and plain words."""

import html

from server.errors import TooLarge
from server.fields import Field, Intake
from server.fields.field import as_text
from server.markup import clean_html, link_plain_text, markdown_to_html, text_of_html
from server.markup.plain_links import MAX_LINKED_CHARACTERS

PLAIN, HTML, MARKDOWN = 0, 1, 2
LETTERS = {"t": PLAIN, "p": PLAIN, "h": HTML, "m": MARKDOWN}  # first letters of text, plain, html, markdown


def format_number(raw: object) -> int | None:
    """The number of a submitted format, None for an unknown one.

    >>> format_number("Markdown"), format_number("p"), format_number(1), format_number("rtf")
    (2, 0, 1, None)
    """
    text = as_text(raw).strip().lower()
    return int(text) if text in ("0", "1", "2") else LETTERS.get(text[:1])


class ArticleFormat(Field):
    """text, html or markdown, by its first letter; `p` for plain is accepted. Stored as 0, 1, 2, which are accepted
    too."""

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
    """A text whose HTML was rendered before the write."""

    content_html: str
    content_format: int


def rendered(text: str, format: int) -> RenderedText:
    """Renders a text. Raises TooLarge naming the field."""
    result = RenderedText(text)
    result.content_html, result.content_format = to_html(text, format), format
    return result


def to_html(text: str, format: int) -> str:
    """Renders an article as safe HTML, with remote images. Raises TooLarge naming the field.

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
    # Line by line, so that escaped text is not edited afterwards.
    line_to_html = link_plain_text if len(text) <= MAX_LINKED_CHARACTERS else html.escape
    return "<br>\n".join(line_to_html(line) for line in text.splitlines())


def words(text: str, format: int) -> str:
    """The searchable text of an article."""
    return text_of_html(text) if format == HTML else text
