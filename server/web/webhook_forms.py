"""Decodes forms that webhooks receive, from arbitrary senders in any character set. Decodes what is readable and notes
the rest on the delivery, so that a script gets parameters even from a form that the API would refuse."""

import re
from dataclasses import field
from typing import Any

from server.automation.webhooks.request_files import WebhookFile
from server.dataclass import dataclass
from server.errors import HelpdeskError
from server.mail import charsets
from server.template.shared.text_values import text_of_bytes
from server.web.form_data import RAW_NAMES, FormBuilder, Tree, Upload, form_pairs, path_of
from server.web.multipart import form_parts, header_value
from server.web.site import media_type

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
CHARSET_FIELD = "_charset_"  # HTML, 4.10.21.4: a browser writes the character set of the form into it
NAMED = 5  # fields in one note
NAME_CHARS = 60  # characters of a field name in a note
REPLACED = "\N{REPLACEMENT CHARACTER}"
_NO_NAME = re.compile(r"[^a-z0-9_]")
Values = dict[str, "str | list[str]"]


@dataclass
class WebhookForm:
    """The parameters of a request. params: the tree under the names for scripts. form: each text under its name as
    sent, a list for a repeated name. files: in their order. notes: sentences on unreadable parts."""

    params: dict[str, Any] = field(default_factory=dict)
    form: Values = field(default_factory=dict)
    files: tuple[WebhookFile, ...] = ()
    notes: tuple[str, ...] = ()


def read_form(query: str, content_type: str, body: bytes) -> WebhookForm:
    """Returns the parameters of query string and body; those of the body replace equal names of the query."""
    kind = media_type(content_type)
    if not query and kind not in (FORM, MULTIPART):
        return WebhookForm()
    outer, inner = _FormReading("query string"), _FormReading("form")
    outer.read_pairs(query.encode("latin-1", "replace"), "")
    if kind == FORM:
        inner.read_pairs(body, _charset(content_type))
    elif kind == MULTIPART:
        inner.read_parts(body, content_type)
    params = {script_name(name): _plain(value) for name, value in {**outer.tree(), **inner.tree()}.items()}
    return WebhookForm(params, outer.form | inner.form, tuple(inner.files), (*outer.notes(), *inner.notes()))


def script_name(name: str) -> str:
    """A name as scripts write it: lower case, dashes as underscores, without other characters.

    >>> script_name("Order-No. 2")
    'order_no2'
    """
    return _NO_NAME.sub("", name.lower().replace("-", "_"))


class _FormReading:
    """Reads one source of parameters. what: its name in notes."""

    def __init__(self, what: str) -> None:
        self.form: Values = {}
        self.files: list[WebhookFile] = []
        self._what = what
        self._builder: FormBuilder | None = FormBuilder()
        self._problems: list[str] = []
        self._replaced: list[str] = []

    def read_pairs(self, raw: bytes, charset: str) -> None:
        """Reads names and values between & and =. charset: as declared, "" for none."""
        try:
            pairs = list(form_pairs(raw)) if raw else []
        except HelpdeskError as error:
            self._fail(error)
            return
        charset = self._known(charset or _text_of(dict(pairs).get(CHARSET_FIELD.encode(), b"")))
        for name, value in pairs:
            self._add(self._text(name, charset, ""), value, charset)

    def read_parts(self, raw: bytes, content_type: str) -> None:
        """Reads the parts of a multipart body."""
        try:
            parts = list(form_parts(raw, content_type, is_lenient=True))
        except HelpdeskError as error:
            self._fail(error)
            return
        own = next((_text_of(part.content) for part in parts if part.name == CHARSET_FIELD and not part.is_file), "")
        usual = self._known(own or _charset(content_type))
        for part in parts:
            if REPLACED in part.name:
                self._replaced.append(part.name)
            if not part.is_file:
                charset = _charset(part.content_type)
                self._add(part.name, part.content, self._known(charset) if charset else usual)
            elif part.filename or part.content:  # with neither, it is a file field without a file
                self.files.append(WebhookFile(part.name, part.filename, part.content_type, part.content))
                self._put(part.name, Upload(part.filename, part.content_type, part.content))

    def tree(self) -> Tree:
        """Returns the values under their outermost names; empty, with a note, if names contradict each other."""
        return self._builder.tree() if self._builder is not None else {}

    def notes(self) -> list[str]:
        """What could not be read."""
        if not self._replaced:
            return self._problems
        names = list(dict.fromkeys(each[:NAME_CHARS] for each in self._replaced))
        texts = ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
        return [
            *self._problems,
            f"the {self._what} has bytes that are not of its character set, with {REPLACED} in their place: {texts}",
        ]

    def _add(self, name: str, value: bytes, charset: str) -> None:
        if not name:
            return
        text = self._text(value, charset, name)
        present = self.form.get(name)
        if present is None:
            self.form[name] = text
        elif isinstance(present, list):
            present.append(text)
        else:
            self.form[name] = [present, text]
        is_raw = name in RAW_NAMES and not charset  # passed on unchanged
        self._put(name, value if is_raw else text.encode("utf-8", "replace"))

    def _put(self, name: str, value: bytes | Upload) -> None:
        if self._builder is None:
            return
        try:
            self._builder.add(path_of(name), value)
        except HelpdeskError as error:
            self._fail(error, "request_params has none of it, request_form all")

    def _fail(self, error: HelpdeskError, outcome: str = "its bytes are in request_body") -> None:
        self._builder = None
        self._problems.append(f"the {self._what} could not be read ({error.message}); {outcome}")

    def _known(self, charset: str) -> str:
        """Returns a character set, "" for UTF-8 and, with a note, for an unknown one."""
        if not charset or charset.strip().lower() in ("utf-8", "utf8", "us-ascii", "ascii"):
            return ""
        if charsets.codec_of(charset) is None:
            self._problems.append(
                f"the {self._what} names an unknown character set, '{charset[:NAME_CHARS]}'; UTF-8 is read"
            )
            return ""
        return charset

    def _text(self, content: bytes, charset: str, name: str) -> str:
        """Decodes a text. name: of the field, "" for the bytes of a name itself."""
        text = charsets.decode(content, charset) if charset else content.decode("utf-8", "replace")
        if REPLACED in text and REPLACED.encode() not in content:
            self._replaced.append(name or text)
        return text


def _charset(content_type: str) -> str:
    """Returns the declared character set, "" for none."""
    if "charset" not in content_type.lower():
        return ""
    try:
        return header_value(content_type)[1].get("charset", "").strip()
    except HelpdeskError:
        return ""


def _text_of(content: bytes) -> str:
    return content.decode("ascii", "ignore").strip()


def _plain(value: Any) -> Any:
    """Texts, lists and maps, which are under the names as sent below the outermost one; files are left out."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items() if not isinstance(each, Upload)}
    if isinstance(value, list):
        return [_plain(each) for each in value if not isinstance(each, Upload)]
    if isinstance(value, Upload):
        return ""
    return text_of_bytes(bytes(value)) if isinstance(value, bytes) else value
