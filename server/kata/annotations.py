"""Converts values by the annotations of their key: `limit@int: 5` is the number 5.

Every function accepts any value and none raises: unreadable input has a result of its own, such as 0, null or false."""

import base64
import json
import math
import re
from collections.abc import Callable
from typing import Any

MAX_NUMBER, MIN_NUMBER = 2**63 - 1, -(2**63)
MAX_DIGITS = 400  # characters of a number; longer texts are cut
TRIMMED = " \t\n\r\0\x0b"
FALSE_WORDS = frozenset(("", "0", "false", "no", "n", "off"))
_NUMBER = re.compile(r"[ \t\n\r\0\x0b\f]*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,6})?)")
_ZEROS = re.compile(r"[+-]?0+(\.0*)?\Z")
_ALPHABET = re.compile(r"[^A-Za-z0-9+/]")


def trim(value: Any) -> Any:
    return value.strip(TRIMMED) if isinstance(value, str) else value


def as_bool(value: Any) -> bool:
    if isinstance(value, str):
        word = value.strip(TRIMMED).lower()
        return word not in FALSE_WORDS and not _ZEROS.match(word)
    return bool(value)


def as_bit(value: Any) -> int:
    return int(as_bool(value))


def as_int(value: Any) -> int:
    """The whole number that a text begins with, 0 for none; within 64 bits."""
    number = _number(value)
    if isinstance(number, float):
        if math.isnan(number):
            return 0
        number = MAX_NUMBER if number >= MAX_NUMBER else MIN_NUMBER if number <= MIN_NUMBER else int(number)
    return max(MIN_NUMBER, min(MAX_NUMBER, number))


def as_float(value: Any) -> float:
    return float(_number(value))


def _number(value: Any) -> int | float:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, (list, dict)):
        return int(bool(value))
    match = _NUMBER.match(value[: MAX_DIGITS * 2]) if isinstance(value, str) else None
    if match is None:
        return 0
    text = match[1]
    if text.lstrip("+-").isdigit():
        return int(text[:MAX_DIGITS])
    return float(text)


def as_csv(value: Any) -> Any:
    """The parts between commas. Empty ones are gone, and the others keep their numbers."""
    if not isinstance(value, str):
        return []
    return numbered(part.strip() for part in value.rstrip(", \t\n\r").split(","))


def as_list(value: Any) -> Any:
    """The lines. Blank ones are gone, and the others keep their numbers."""
    if isinstance(value, (list, dict)):
        return ["Array"] if value else []
    return numbered(line.strip() for line in str("" if value is None else value).split("\n"))


def numbered(parts: Any) -> Any:
    """Returns the non-empty parts: a list, or a map by number if there are gaps."""
    lines = {str(place): part for place, part in enumerate(parts) if part}
    return list_or_map(lines) if lines else []


def list_or_map(entries: dict[str, Any]) -> Any:
    """Converts a map whose keys are 0, 1, 2... in this order to a list."""
    if entries and all(key == str(place) for place, key in enumerate(entries)):
        return list(entries.values())
    return entries


def as_json(value: Any) -> Any:
    """Parses a JSON text; null if it cannot be parsed."""
    if not isinstance(value, str):
        return None
    try:
        return json.loads(value, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def as_bytes(value: Any) -> str:
    """Decodes base64. Bytes that are not UTF-8 become lone surrogates, so that they can be written back unchanged."""
    if not isinstance(value, str):
        return ""
    letters = _ALPHABET.sub("", value)
    letters = letters[: len(letters) - (len(letters) % 4 == 1)]
    return base64.b64decode(letters + "=" * (-len(letters) % 4)).decode("utf-8", "surrogateescape")


def as_date(read: Callable[[str], int | None], value: Any) -> Any:
    """Parses a time in words to Unix seconds, or false. Rejects plain digits: `@86400` is a number of seconds."""
    text = value.strip() if isinstance(value, str) else ""
    if not text or text.isdigit():
        return False
    instant = read(text)
    return False if instant is None else instant


SIMPLE: dict[str, Callable[[Any], Any]] = {
    "text": lambda value: value,
    "trim": trim,
    "bool": as_bool,
    "bit": as_bit,
    "int": as_int,
    "float": as_float,
    "csv": as_csv,
    "list": as_list,
    "json": as_json,
    "base64": as_bytes,
}
_SEPARATORS = {"csv": ",", "list": "\n", "json": ",[{", "kata": "\n"}


def parts_of(annotation: str, text: str) -> int:
    """How many values a text may become at most, for one who limits them."""
    marks = _SEPARATORS.get(annotation)
    return 1 if marks is None else 1 + sum(text.count(mark) for mark in marks)


# What each makes of the text under its key. Several are applied from left to right: `list@csv,json:`.
NOTES = {
    "text": "The text, unchanged.",
    "trim": "The text without white space at its ends.",
    "bool": "No for 0, false, n, no, off and an empty text, regardless of case; otherwise yes.",
    "bit": "1 for yes and 0 for no, as `bool` reads them.",
    "int": "The whole number at the start of the text; 0 if there is none.",
    "float": "The number at the start of the text; 0 if there is none.",
    "csv": "The parts between commas, trimmed, as a list.",
    "list": "The lines, trimmed, as a list.",
    "json": "The value of a JSON text; null if it is not JSON.",
    "base64": "The bytes encoded in a Base64 text.",
    "date": "Unix seconds of a time in words, such as `+2 days`; false if it is not a time.",
    "kata": "The tree of a KATA text.",
    "key": "The value in the dictionary at a path. Its parts are separated by `:` in automations, by `.` in bindings.",
    "ref": "The definition `&name:` at the top of the document, or part of it, as `name:part`.",
    "raw": "The text with its templates unrendered.",
    "optional": "In the inputs of a command: the key is left out if its value is null or an empty text.",
}
KNOWN = frozenset(NOTES)
