"""Letters: upper and lower case, and the removal of other characters."""

import re
import unicodedata
from typing import Any

from server.template.registry import filter
from server.template.run import Rendering
from server.template.shared.text_values import EachCharacter, mapped, read_slowly, substituted
from server.template.values import printed

# Characters that may occur inside a word: apostrophes, points, combining accents.
_INSIDE = r"'.:^`\u00a8\u00ad\u00af\u00b4\u00b7\u00b8\u02b0-\u036f\u2018\u2019\u2024\u2027"
_WORD = re.compile(rf"[^\W\d_](?:[^\W\d_]|[{_INSIDE}])*")
_OTHERS = re.compile("[^A-Za-z0-9]+")
_ASCII = str.maketrans({
    "ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D",
    "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th", "ł": "l", "Ł": "L", "ħ": "h", "Ħ": "H", "ı": "i",
})  # fmt: skip


@filter("lower")
def lower(run: Rendering, value: Any) -> str:
    """The text in lower case."""
    return mapped(run, value, str.lower)


@filter("upper")
def upper(run: Rendering, value: Any) -> str:
    """The text in upper case."""
    return mapped(run, value, str.upper)


@filter("capitalize")
def capitalize(run: Rendering, value: Any) -> str:
    """The text in lower case, with a capital first letter."""
    small = mapped(run, value, str.lower)
    return small[:1].upper() + small[1:]


@filter("title")
def title(run: Rendering, value: Any) -> str:
    """The text with a capital at the start of each word: They're Bob-O."""
    return substituted(run, read_slowly(run, value), _WORD, _titled)


def _titled(word: re.Match[str]) -> str:
    return word[0][0].title() + word[0][1:].lower()


@filter("alphanum")
def alphanum(run: Rendering, value: Any, also: Any = "", replace: Any = "") -> str:
    """The text with everything except ASCII letters, digits and the characters in `also` replaced by `replace`. Empty
    if the value is not text."""
    if not isinstance(value, str):
        return ""
    other = printed(replace)
    run.budget.text(len(value) * len(other), other)
    extra = frozenset(printed(also))
    table = EachCharacter(lambda char: char if _is_plain(char) or char in extra else other)
    return mapped(run, value, lambda part: part.translate(table))


def _is_plain(char: str) -> bool:
    return char.isascii() and char.isalnum()


@filter("permalink")
def permalink(run: Rendering, value: Any, spaces_as: Any = "-") -> str:
    """The text for URLs: ASCII letters and digits, with one `spaces_as` in place of other characters between them."""
    text, between = mapped(run, value, lambda part: _without_marks(part.translate(_ASCII))), printed(spaces_as)
    words = substituted(run, text, _OTHERS, lambda _: " ").strip()
    run.budget.text(len(words) + words.count(" ") * len(between), between)
    return words.replace(" ", between)


def _without_marks(text: str) -> str:
    """Removes the accents of letters: é becomes e."""
    apart = unicodedata.normalize("NFKD", text)
    return apart if apart.isascii() else "".join(char for char in apart if not unicodedata.combining(char))
