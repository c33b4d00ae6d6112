"""Accessors for the parameters of an endpoint: Params over the tree of query string and body.

Each accessor accepts the outermost name and returns a plain value, or raises an error for the parameter. The meaning of
a value for a record is decided elsewhere."""

import re
from collections.abc import Iterator
from typing import Any, Literal, overload

from server.digits import id_in
from server.errors import Invalid, Malformed, Required, TooLarge
from server.web.form_data import BYTES, Raw, Tree, Upload, Value, decode_form, decode_query, merge
from server.web.json_text import MAX_JSON_DEPTH, decode_json, loads
from server.web.multipart import decode_multipart

__all__ = ["Params", "Raw", "Tree", "Upload", "decode_form", "decode_json", "decode_multipart", "decode_query", "merge"]

MAX_JSON_PARAMETER_BYTES = 2_097_152
NOTES = 20  # notes in one response
NAME_CHARS = 80  # characters of a name or value that a note quotes

_LEADING_NUMBER = re.compile(r"\s*+([+-]?[0-9]{1,18})")
_FALSE = frozenset(("", "0", "false", "no"))


class Params:
    """The parameters of one request. A missing parameter and JSON null are the same. notes: sentences about parameters
    that were not understood, for the response. is_strict: whether that is an error (RFC 7240, section 4.4)."""

    __slots__ = ("is_strict", "notes", "tree")

    def __init__(self, tree: Tree, is_strict: bool = False) -> None:
        self.tree = tree
        self.is_strict = is_strict
        self.notes: list[str] = []

    def note(self, name: str, text: str) -> None:
        """Adds a note about a parameter to the response. Raises Invalid if the client prefers an error."""
        if self.is_strict:
            raise Invalid(text, field=name[:NAME_CHARS])
        if len(self.notes) < NOTES:
            self.notes.append(text)

    def __contains__(self, name: str) -> bool:
        return self.tree.get(name) is not None

    def names(self) -> list[str]:
        """The outermost names, in the order sent."""
        return list(self.tree)

    def fields(self) -> Iterator[tuple[str, str | Upload]]:
        """The fields of a form by the names that they were sent with."""
        return _fields(self.tree)

    @overload
    def text(self, name: str, default: str, required: bool = False) -> str: ...
    @overload
    def text(self, name: str, default: None = None, *, required: Literal[True]) -> str: ...
    @overload
    def text(self, name: str, default: None = None) -> str | None: ...
    def text(self, name: str, default: str | None = None, required: bool = False) -> str | None:
        """The text as sent, also when empty; `default` when missing.

        Raises Required when `required` and missing or empty, Invalid for a list, Malformed for what is not UTF-8.
        """
        value = self.tree.get(name)
        text = default if value is None else _scalar_text(value, name)
        if required and not text:
            raise _required(name)
        return text

    def integer(self, name: str, default: int, low: int, high: int) -> int:
        """Returns a number such as limit or page: the leading digits, else 0, then limited to low-high, with a note if
        that differs from the value sent.

        Missing or empty returns `default`. A list is still Invalid."""
        text = self.text(name, "")
        if not text:
            return default
        match = _LEADING_NUMBER.match(text)
        number = int(match[1]) if match else 0
        limited = min(max(number, low), high)
        if limited != number or match is None or match.end() != len(text.rstrip()):
            self.note(name, f"{name}: '{text[:NAME_CHARS]}' was read as {limited}; send a number from {low} to {high}")
        return limited

    def flag(self, name: str, default: bool = False) -> bool:
        """Returns a boolean; text never raises: false for an empty value, 0, false and no in any case, else true."""
        text = self.text(name)
        return default if text is None else text.strip().lower() not in _FALSE

    @overload
    def id(self, name: str, default: int) -> int: ...
    @overload
    def id(self, name: str, *, required: Literal[True]) -> int: ...
    @overload
    def id(self, name: str) -> int | None: ...
    def id(self, name: str, default: int | None = None, required: bool = False) -> int | None:
        """A record id: ASCII digits, 0 to 2**63 - 1. Missing or empty gives `default`, or Required."""
        text = self.text(name, "", required=required)
        return _record_id(text, name) if text else default

    def id_list(self, name: str, required: bool = False) -> list[int]:
        """Returns the ids of `name[]=1&name[]=2`; a plain value is a list of one. Missing returns [], or raises
        Required."""
        return [_record_id(text, name) for text in self.text_list(name, required=required)]

    def text_list(self, name: str, required: bool = False) -> list[str]:
        """Returns the texts of `name[]=a&name[]=b`; a plain value is a list of one, an empty one an empty list."""
        value = self.tree.get(name)
        if isinstance(value, dict):
            raise Invalid(f"'{name}' must be a list; write {name}[]=...", field=name)
        if isinstance(value, list):
            texts = [_scalar_text(each, name) for each in value]
        else:
            texts = [text] if (text := self.text(name)) else []
        if required and not texts:
            raise _required(name)
        return texts

    def map(self, name: str, required: bool = False) -> dict[str, Value]:
        """Returns the map of `name[key]=value`. Missing returns {}, or raises Required. Raises Invalid unless it is a
        map."""
        value = self.tree.get(name)
        if value is None or value in ([], ""):
            if required:
                raise _required(name)
            return {}
        if not isinstance(value, dict):
            raise Invalid(f"'{name}' must be a map; write {name}[key]=value", field=name)
        return value

    def json(
        self,
        name: str,
        default: Any = None,
        required: bool = False,
        *,
        most: int = MAX_JSON_PARAMETER_BYTES,
        depth: int = MAX_JSON_DEPTH,
    ) -> Any:
        """Returns the value of a JSON text. Lists and maps, sent with brackets or in a JSON body, are accepted as they
        are.

        Missing or empty returns `default`, or raises Required. Raises Malformed for bad JSON, TooLarge above `most`
        bytes."""
        value = self.tree.get(name)
        if isinstance(value, dict | list):
            return value
        text = self.text(name, "", required=required)
        if not text:
            return default
        if len(text) > most or len(text.encode()) > most:
            raise TooLarge(f"'{name}' is larger than {most} bytes", field=name, limit=most)
        return loads(text, f"'{name}'", field=name, depth=depth)

    def raw(self, name: str, required: bool = False) -> bytes:
        """Returns the bytes of a parameter as sent, or of a file part; of text its UTF-8. Missing returns b"", or
        raises Required."""
        value = self.tree.get(name)
        if isinstance(value, Upload):
            raw = value.content
        elif isinstance(value, bytes):
            raw = value
        else:
            raw = self.text(name, "").encode()
        if required and not raw:
            raise _required(name)
        return raw

    def upload(self, name: str) -> Upload | None:
        """Returns the file part of that name, with its file name and type; None if missing or sent as plain text."""
        value = self.tree.get(name)
        return value if isinstance(value, Upload) else None


def _fields(tree: Tree, inside: str = "") -> Iterator[tuple[str, str | Upload]]:
    for key, value in tree.items():
        name = f"{inside}[{key}]" if inside else key
        if isinstance(value, dict):
            yield from _fields(value, name)
            continue
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, bytes):
                each = each.decode("utf-8", "replace")
            if isinstance(each, str | Upload):
                yield f"{name}[]" if isinstance(value, list) else name, each


def _scalar_text(value: Value, name: str) -> str:
    """Returns one value as a form would send it; of JSON values, true is 1 and false is 0."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, bytes | Upload):
        return _decoded(value.content if isinstance(value, Upload) else value, name)
    if value is None:
        return ""
    raise Invalid(f"'{name}' must be one value, not a {'map' if isinstance(value, dict) else 'list'}", field=name)


def _decoded(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed(f"the value of '{name}' is not valid UTF-8; {BYTES}", field=name) from error


def _record_id(text: str, name: str) -> int:
    id = id_in(text)
    if id is None:
        raise Invalid(f"'{name}' must be the id of a record, digits only", field=name)
    return id


def _required(name: str) -> Required:
    return Required(f"'{name}' is missing or empty; send it", field=name)
