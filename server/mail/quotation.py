"""The quotation of a message, as text and as HTML: in a reply, a notification, a forwarded mail.

Texts are in the current language (translation.py)."""

from collections.abc import Iterable
from datetime import tzinfo
from html import escape

from server.dataclass import dataclass
from server.mail.written_dates import date_and_time
from server.markup import text_to_html
from server.translation import _


@dataclass(frozen=True, slots=True)
class Quotation:
    """`html` is sanitized."""

    text: str
    html: str


def quote_message(text: str, sender: str, second: int, zone: tzinfo, html: str = "") -> Quotation:
    """Quotes a message below a line with its author and time. `second`: Unix seconds, shown in `zone`. `html`:
    sanitized, "" for plain text.

    >>> from datetime import UTC
    >>> quote_message("Hello\\n\\nworld", "Ann Kite", 1_795_647_788, UTC).text
    'On 25 November 2026 at 23:03, Ann Kite wrote:\\n> Hello\\n>\\n> world'
    """
    date, time = date_and_time(second, zone)
    head = _("On {date} at {time}, {name} wrote:", date=date, time=time, name=" ".join(sender.split()))
    body = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n").rstrip()
    marked = (f"> {line}" if line else ">" for line in body.split("\n"))
    return Quotation(
        "\n".join([head, *marked]), f"<p>{escape(head)}</p>\n<blockquote>{html or text_to_html(body)}</blockquote>\n"
    )


def forward_message(text: str, html: str, head: Iterable[tuple[str, str]]) -> Quotation:
    """Renders a whole message to forward, below its header block. `html`: sanitized, "" for plain text. `head`:
    translated names of header fields with their values; blank ones are omitted."""
    title = " ".join(("-" * 10, _("Forwarded message"), "-" * 10))
    fields = [(name, " ".join(value.split())) for name, value in head if value.strip()]
    rows = "<br>".join(f"<strong>{escape(name)}</strong> {escape(value)}" for name, value in fields)
    lines = [title, *(f"{name} {value}" for name, value in fields), "", text.strip("\n")]
    body = html or text_to_html(text)
    return Quotation("\n".join(lines), f"<p>{escape(title)}<br>{rows}</p>\n<div>{body}</div>\n")
