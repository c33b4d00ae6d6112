"""JSON as scripts write and read it. A list and a map with the keys 0, 1, 2... are the same; an empty map is `[]`."""

import json
import math
from collections.abc import Iterable
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any

from server.errors import TemplateFailed
from server.template.run import Rendering
from server.template.shared.text_values import TextBuffer, chunks, read
from server.template.values import Moment, keyed, printed, read_number

SHORT_CHARS = 1024  # a text up to this length is quoted in one piece
SHORT_AT_ONCE = 50  # short entries of a map that are charged together
VALUE_BYTES = 128  # memory for reading a value, including intermediate objects
MAX_DEPTH = 128  # nested lists and maps
FORCE_OBJECT, UNESCAPED_SLASHES, PRETTY, UNESCAPED_UNICODE = 16, 64, 128, 256


def encoded(run: Rendering, value: Any, flags: int = 0) -> str:
    """Returns the JSON text of a value. Raises TemplateFailed for a value that JSON cannot represent and for deep
    nesting, BudgetSpent."""
    writer = _Writer(run, flags)
    writer.write(value, 0)
    return writer.out.text()


class _Writer:
    def __init__(self, run: Rendering, flags: int) -> None:
        self.out = TextBuffer(run)
        self._step = run.budget.step
        self._flags = flags
        self._quote = encode_basestring if flags & UNESCAPED_UNICODE else encode_basestring_ascii
        self._has_slashes = bool(flags & UNESCAPED_SLASHES)

    def write(self, value: Any, depth: int) -> None:
        self._step(1)  # for every visit: nested lists may contain the same list many times
        if isinstance(value, str):
            self._text(value)
        elif isinstance(value, bool) or value is None:
            self.out.add({True: "true", False: "false", None: "null"}[value])
        elif isinstance(value, float):
            self.out.add(json_float(value))
        elif isinstance(value, int):
            self.out.add(str(value))
        elif isinstance(value, (list, dict)):
            self._nested(value, depth)
        elif isinstance(value, Moment):
            raise TemplateFailed("a date has no JSON; format it with |date first")
        else:
            self._text(printed(value))

    def _text(self, text: str, lead: str = "", tail: str = "") -> None:
        """Writes a text between `lead` and `tail`; in one piece unless it is long."""
        if len(text) <= SHORT_CHARS:
            self.out.add(f"{lead}{self._quoted(text)}{tail}")
            return
        self.out.add(f'{lead}"')
        for chunk in chunks(text):
            self.out.add(self._quoted(chunk)[1:-1])
        self.out.add(f'"{tail}')

    def _quoted(self, text: str) -> str:
        quoted = self._quote(text)
        return quoted if self._has_slashes else quoted.replace("/", "\\/")

    def _nested(self, value: list[Any] | dict[str, Any], depth: int) -> None:
        if depth >= MAX_DEPTH:
            raise TemplateFailed(f"JSON has at most {MAX_DEPTH} lists and maps inside each other")
        is_list = not self._flags & FORCE_OBJECT and _is_list(value)
        opening, closing = "[]" if is_list else "{}"
        if not value:
            self.out.add(opening + closing)
            return
        pretty = bool(self._flags & PRETTY)
        line = "\n" + "    " * (depth + 1) if pretty else ""
        if is_list:
            lead = opening
            for each in value.values() if isinstance(value, dict) else value:
                self.out.add(lead + line)
                self.write(each, depth + 1)
                lead = ","
        else:
            entries = value.items() if isinstance(value, dict) else enumerate(value)
            self._entries(entries, opening, line, ": " if pretty else ":", depth)
        self.out.add(("\n" + "    " * depth if pretty else "") + closing)

    def _entries(self, entries: Iterable[tuple[Any, Any]], lead: str, line: str, colon: str, depth: int) -> None:
        """Writes the entries of a map, the first one after `lead`. Short texts are charged in groups."""
        short: list[str] = []
        for key, each in entries:
            if type(each) is str and len(each) <= SHORT_CHARS and len(name := str(key)) <= SHORT_CHARS:
                self._step(1)
                short.append(f"{lead}{line}{self._quoted(name)}{colon}{self._quoted(each)}")
                if len(short) == SHORT_AT_ONCE:
                    self._add(short)
            else:
                self._add(short)
                self._text(str(key), lead + line, colon)
                self.write(each, depth + 1)
            lead = ","
        self._add(short)

    def _add(self, short: list[str]) -> None:
        if short:
            self.out.add("".join(short))
            short.clear()


def _is_list(value: list[Any] | dict[str, Any]) -> bool:
    return isinstance(value, list) or all(key == str(place) for place, key in enumerate(value))


def json_float(number: float) -> str:
    """Returns the shortest text of this number: 0.1, 1, 1.0e+25. Raises TemplateFailed for infinity and NaN."""
    if not math.isfinite(number):
        raise TemplateFailed("JSON has no infinite numbers")
    if number.is_integer() and abs(number) < 1e15:
        return str(int(number))
    mantissa, mark, exponent = repr(number).partition("e")
    if not mark:
        return mantissa.removesuffix(".0")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{int(exponent):+d}"


class _Unreadable(Exception):
    """The text is not JSON."""


def decoded(run: Rendering, value: Any) -> Any:
    """Returns the value of a JSON text. Raises ValueError if it is invalid or nested too deeply; BudgetSpent."""
    text = read(run, value)
    values = text.count(",") + text.count("[") + text.count("{")  # an upper bound: only these characters begin a value
    run.budget.entries(values, VALUE_BYTES)
    try:
        tree = json.loads(text, parse_int=read_number, parse_constant=_refuse)
        return _plain(tree, 0, "\\ud" in text.lower())
    except (_Unreadable, RecursionError, UnicodeEncodeError) as error:
        raise ValueError("not JSON") from error


def _refuse(name: str) -> Any:
    raise _Unreadable(name)


def _plain(value: Any, depth: int, is_suspect: bool) -> Any:
    """Converts maps to those of the language. is_suspect: whether a text may contain half of a surrogate pair."""
    if isinstance(value, str):
        if is_suspect:
            value.encode()
        return value
    if isinstance(value, float) and math.isinf(value):
        raise _Unreadable("a number without end")
    if not isinstance(value, (list, dict)):
        return value
    if depth >= MAX_DEPTH:
        raise _Unreadable("nested")
    if isinstance(value, list):
        return [_plain(each, depth + 1, is_suspect) for each in value]
    return keyed([(_plain(key, depth, is_suspect), _plain(each, depth + 1, is_suspect)) for key, each in value.items()])
