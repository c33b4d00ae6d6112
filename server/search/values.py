"""Parses the text of one search value: comparisons, ranges, sizes, booleans, wildcards; times.py parses dates.

Raises Invalid without a position, which the caller adds.
"""

import re

from server.errors import Invalid
from server.translation import lazy_gettext

MAX_INTEGER = 2**63 - 1

_COMPARISON = re.compile(r"\s*+(>=|<=|!=|>|<|=|)\s*+(.*)", re.DOTALL)
_RANGE_WORD = re.compile(r"\sto\s", re.IGNORECASE)
_INTEGER = re.compile(r"-?[0-9]{1,19}")
_SIZE = re.compile(r"([0-9]{1,19})(?:\.([0-9]{1,9}))?[ \t]*([A-Za-z]*)")
_LIKE_SPECIAL = re.compile(r"[%_*\\]")

_YES = frozenset(("y", "yes", "true", "1", "on"))
_NO = frozenset(("n", "no", "false", "0", "off"))
_UNITS = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgt", start=1):
    _UNITS[_letter] = _UNITS[f"{_letter}b"] = 1000**_power
    _UNITS[f"{_letter}ib"] = 1024**_power


def split_comparison(text: str) -> tuple[str, str]:
    """Returns the operator of a value, `=` if it has none, and the rest without surrounding white space.

    >>> split_comparison("> 40"), split_comparison("!=5"), split_comparison("7")
    (('>', '40'), ('!=', '5'), ('=', '7'))
    """
    match = _COMPARISON.fullmatch(text)
    op, rest = match.groups() if match else ("", text)
    rest = rest.rstrip()
    if op and not rest:
        raise Invalid(f"'{text}' has nothing to compare with; write a value after '{op}'")
    return op or "=", rest


def split_range(text: str) -> tuple[str, str] | None:
    """Returns both ends of `5...9` or `5 to 9`, or None if `text` is not a range or lacks an end.

    >>> split_range("5...9"), split_range("-1 week to now"), split_range("5...")
    (('5', '9'), ('-1 week', 'now'), None)
    """
    low, dots, high = text.partition("...")
    if not dots:
        parts = _RANGE_WORD.split(text, maxsplit=1)
        if len(parts) < 2:
            return None
        low, high = parts
    low, high = low.strip(), high.strip()
    return (low, high) if low and high else None


def integer(text: str) -> int:
    """Parses a whole number in the range of SQLite, digits with an optional `-`. Raises Invalid."""
    if not _INTEGER.fullmatch(text) or not -MAX_INTEGER - 1 <= (number := int(text)) <= MAX_INTEGER:
        raise Invalid(lazy_gettext("'{value}' is not a whole number", value=_short(text)))
    return number


def size_bytes(text: str) -> int:
    """Returns the bytes of a size such as `200kb` (powers of 1000), `2 MiB` (powers of 1024) or `1.5MB`, rounded down.

    >>> size_bytes("1.5MB"), size_bytes("2kib"), size_bytes("7")
    (1500000, 2048, 7)
    """
    match = _SIZE.fullmatch(text.strip())
    unit = _UNITS.get(match[3].lower()) if match else None
    if match is None or unit is None:
        raise Invalid(f"'{_short(text)}' is not a size; write a number and a unit, such as 200kb or 1.5MB")
    fraction = match[2] or ""
    size = int(match[1]) * unit + int(fraction or 0) * unit // 10 ** len(fraction)
    if size > MAX_INTEGER:
        raise Invalid(f"'{_short(text)}' is too large for a size")
    return size


def boolean(text: str) -> bool:
    """Returns True for y, yes, true, 1, on; False for n, no, false, 0, off; ignoring case. Raises Invalid for other
    words."""
    word = text.strip().lower()
    if word in _YES:
        return True
    if word in _NO:
        return False
    raise Invalid(f"'{_short(text)}' is neither yes nor no; write y or n")


def is_wildcard(text: str) -> bool:
    """Whether the text contains the wildcard `*`."""
    return "*" in text


def like_pattern(text: str, escape: str = "\\", *, has_wildcards: bool = True) -> str:
    """Returns the pattern for LIKE ... ESCAPE; only `*` is a wildcard, if any, and all else is literal.

    >>> like_pattern("50%_off*")
    '50\\\\%\\\\_off%'
    """
    special = _LIKE_SPECIAL if escape == "\\" else re.compile(f"[%_*{re.escape(escape)}]")
    star = "%" if has_wildcards else "*"
    return special.sub(lambda match: star if match[0] == "*" else escape + match[0], text)


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"
