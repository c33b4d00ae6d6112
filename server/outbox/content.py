"""The content of a mail: the worker's text with its commands replaced, as text and as HTML, and the template around it.

The HTML that is stored with a message is without the template."""

import html
import re
from collections.abc import Callable, Mapping

from server.access.actor import system
from server.context import Context
from server.dataclass import dataclass
from server.mail import hash_commands
from server.mail.quotation import Quotation
from server.markup import clean_html, escape_markdown, markdown_to_html, text_of_html
from server.record_types.record_type import Record
from server.record_types.shared import brands
from server.record_types.shared.points import PLACEHOLDER
from server.records.dictionary import Dictionaries
from server.store.transaction import Transaction

PLAIN, MARKDOWN, HTML = FORMATS = ("", "markdown", "html")  # formats in which workers write
BODY = "message_body"
TICKET_URL = "ticket_url"
CALLER = "current_"  # `current_worker_` names the worker even where a record has its own `worker_`
WORKER_NAMES = frozenset(("first_name", "last_name", "full_name", "title", "at_mention_name", "email"))

ImageUrl = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Body:
    """The text of a mail, as stored and sent, and its HTML without a template, None for plain mail."""

    text: str
    html: str | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """The lines that replace `#signature`: as text, as HTML ("" if a signature has only text), and as Markdown in which
    inserted values are escaped."""

    text: str = ""
    html: str = ""
    markdown: str = ""


def body_of(content: str, format: str, signature: Signature, original: Quotation | None) -> Body:
    """The body of a text that a worker wrote in a format: PLAIN, MARKDOWN or HTML. Raises TooLarge.

    original: the quotation that replaces its command; None leaves the command as it is. The HTML is joined from
    finished pieces: nothing is edited after it was cleaned."""
    text = hash_commands.apply(content, signature.text, original.text if original else None)
    if format == PLAIN:
        return Body(text)
    pieces = [_piece_html(kind, piece, format, signature, original) for kind, piece in hash_commands.pieces(content)]
    html = "".join(pieces)
    return Body(text_of_html(html) if format == HTML else text, html)


def _piece_html(kind: str, piece: str, format: str, signature: Signature, original: Quotation | None) -> str:
    if kind == hash_commands.SIGNATURE:
        return clean_html(signature.html, allow_remote_images=True) if signature.html else _rendered(signature.markdown)
    if kind == hash_commands.ORIGINAL and original is not None:
        return original.html
    if format == HTML and kind == hash_commands.TEXT:
        return clean_html(piece, allow_remote_images=True)
    return _rendered(piece)


def _rendered(text: str) -> str:
    return markdown_to_html(text, allow_remote_images=True, keep_html=True) if text.strip() else ""


class Placeholders:
    """Fills `{{placeholder}}`s inside one snapshot: keys of dictionaries as `worker_`, `group_`, `bucket_`, `ticket_`
    and so on, a worker's names also without prefix, and plain values. Unknown ones are empty. `ticket_url` is the
    address of the ticket for its customers, if the brand of its group shows them their requests.

    request_url: that address for a ticket that does not exist yet.

    own: the type among `records` whose keys need no prefix and come first. as_caller: fills in only data that the
    caller may read, for texts that any worker writes. shown: formats a value."""

    def __init__(
        self,
        ctx: Context,
        tx: Transaction,
        records: Mapping[str, int],
        plain: Mapping[str, str] | None = None,
        *,
        own: str = "",
        as_caller: bool = False,
        shown: Callable[[str], str] = str,
        request_url: str = "",
    ) -> None:
        # Administrators write mail templates, and the recipient reads the text: the caller's rights do not matter.
        self._ctx = ctx if as_caller else ctx.as_actor(system(), ctx.tz)
        self._tx = tx
        self._records = records
        self._plain = dict(plain or {})
        self._own = own
        self._shown = shown
        self._request_url = request_url  # is not passed through `shown`, which would make the address unusable

    def fill(self, template: str, body_html: str | None = None, *, is_markdown: bool = False) -> str:
        """Returns the text of a template. body_html: for HTML templates, where every other value is escaped.
        is_markdown: escapes values, so that Markdown reads none of them as HTML, a link or code."""
        if "{{" not in template:
            return template
        names = set(PLACEHOLDER.findall(template))
        values = self._values(names)
        is_html = body_html is not None

        def value(match: re.Match[str]) -> str:
            if is_html and match[1] == BODY:
                return body_html or ""
            if match[1] == TICKET_URL and self._request_url:
                return _address_in(self._request_url, HTML if is_html else MARKDOWN if is_markdown else PLAIN)
            text = self._shown(values.get(match[1], ""))
            if is_markdown:
                return escape_markdown(text)
            return html.escape(text) if is_html else text

        return PLACEHOLDER.sub(value, template)

    def _values(self, names: set[str]) -> dict[str, str]:
        values_by_name = {name: self._plain[name] for name in names if name in self._plain}
        if TICKET_URL in names and (address := self._request_url or self._request_address()):
            values_by_name[TICKET_URL] = self._request_url = address
        if self._own:
            own = self._dictionary(self._own, ",".join(sorted(names)))
            values_by_name |= {name: _text(own[name]) for name in names if name in own}
        keys_by_prefix: dict[str, dict[str, str]] = {}  # prefix: {key of the dictionary: name in the template}
        for name in names - values_by_name.keys():
            prefix, _, key = name.removeprefix(CALLER).partition("_")
            if name in WORKER_NAMES:
                keys_by_prefix.setdefault("worker", {})[name] = name
            elif prefix in self._records:
                keys_by_prefix.setdefault(prefix, {})[key] = name
        for prefix, keys in keys_by_prefix.items():
            dictionary = self._dictionary(prefix, ",".join(keys))
            values_by_name |= {name: _text(dictionary.get(key)) for key, name in keys.items()}
        return values_by_name

    def _request_address(self) -> str:
        """The address of the ticket in the help center, "" if there is none."""
        dictionaries = Dictionaries(self._ctx, self._tx)
        for ticket in dictionaries.records("ticket", [self._records.get("ticket", 0)]):
            return brands.request_address(self._ctx.service, self._tx, ticket["group_id"], ticket["mask"])
        return ""

    def _dictionary(self, uri: str, expand: str) -> Mapping[str, object]:
        dictionaries = Dictionaries(self._ctx, self._tx)
        records = dictionaries.records(uri, [self._records.get(uri, 0)])
        return dictionaries.dictionaries(uri, records, expand)[0] if records else {}


def needs_ticket_url(content: str) -> bool:
    """Whether a text names the address of its ticket, which is filled in when the email is built."""
    return any(match[1] == TICKET_URL for match in PLACEHOLDER.finditer(content))


def with_ticket_url(content: str, format: str, address: str) -> str:
    """Returns a text in a format with the address of its ticket; other placeholders stay.

    >>> with_ticket_url("{{ticket_url}} {{name}}", MARKDOWN, "https://x.example/requests/A-1")
    '<https://x.example/requests/A-1> {{name}}'
    """
    filled = _address_in(address, format)
    return PLACEHOLDER.sub(lambda match: filled if match[1] == TICKET_URL else match[0], content)


def _address_in(address: str, format: str) -> str:
    return f"<{address}>" if format == MARKDOWN else html.escape(address) if format == HTML else address


def with_ticket_link(content: str, format: str, label: str, address: str) -> str:
    """Returns a text in a format with a link on a line of its own, above the messages that it quotes.

    >>> with_ticket_link("Hi\\n#original_message", PLAIN, "Your request", "https://x.example/requests/A-1")
    'Hi\\n\\nYour request: https://x.example/requests/A-1\\n\\n#original_message'
    """
    line = f"{label}: {address}"
    if format == HTML:
        line = f'<p>{html.escape(label)}: <a href="{html.escape(address)}">{html.escape(address)}</a></p>'
    elif format == MARKDOWN:
        line = f"{escape_markdown(label)}: <{address}>"
    pieces = hash_commands.pieces(content)
    end = next((at for at, (kind, _) in enumerate(pieces) if kind == hash_commands.ORIGINAL), len(pieces))
    above, below = ("\n".join(piece for _, piece in part) for part in (pieces[:end], pieces[end:]))
    return f"{above.rstrip()}\n\n{line}\n" + (f"\n{below}" if below else "")


def signature_of(record: Record | None, values: Placeholders) -> Signature:
    """A signature record with its placeholders filled."""
    if record is None:
        return Signature()
    source = record["signature"]
    text, markdown = values.fill(source), values.fill(source, is_markdown=True)
    return Signature(text, values.fill(record["signature_html"], "") if record["signature_html"] else "", markdown)


def _text(value: object) -> str:
    return str(value) if isinstance(value, (str, int, float)) else ""
