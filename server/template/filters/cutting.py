"""Parts of texts: trimmed, shortened, appended, repeated, by position."""

from typing import Any

from server.errors import TemplateFailed, nearest
from server.template.registry import filter
from server.template.run import Rendering
from server.template.shared.text_values import bytes_of, read, text_of_bytes
from server.template.values import printed, whole

WHITESPACE = " \t\n\r\0\x0b"
CHECKS_A_STEP = 512  # comparisons of characters
SIDES = ("both", "left", "right")


@filter("trim")
def trim(run: Rendering, value: Any, chars: Any = None, side: Any = "both") -> str:
    """The text without these characters (white space if omitted) at its ends. side: both, left or right. Raises
    TemplateFailed for another side."""
    text, trimmed, at = read(run, value), WHITESPACE if chars is None else printed(chars), printed(side)
    if at not in SIDES:
        raise TemplateFailed(f"'trim' has the sides both, left and right, not '{at[:50]}'{nearest(at, SIDES)}")
    trimmed = _each_once(run, text, trimmed)
    if not trimmed:
        return text
    if at != "right":
        text = text.lstrip(trimmed)
    return text.rstrip(trimmed) if at != "left" else text


def _each_once(run: Rendering, text: str, chars: str) -> str:
    """Returns the distinct characters, and charges the comparison of the ends of a text with each of them."""
    distinct = "".join(set(chars))
    run.budget.step(min(len(distinct), len(chars)) * len(text) // CHECKS_A_STEP)
    return distinct


@filter("truncate")
def truncate(run: Rendering, value: Any, length: Any = 30, suffix: Any = "...") -> str:
    """The text shortened to at most `length` characters including the suffix; only the suffix if there is no room for
    more."""
    text, most, end = read(run, value), whole(length), printed(suffix)
    if len(text) <= most or not text:
        return text
    return text[: max(most - len(end), 0)] + end


@filter("append")
def append(run: Rendering, value: Any, suffix: Any, delimiter: Any = "", trim: Any = None) -> str:
    """The text, the delimiter unless the text is empty, and the suffix. trim: characters that are removed from the end
    of the text first, those of the delimiter if omitted."""
    between, added = printed(delimiter), printed(suffix)
    text = read(run, value)
    text = text.rstrip(_each_once(run, text, between if trim is None else printed(trim)))
    run.budget.text(len(text) + len(between) + len(added), text)
    return f"{text}{between}{added}" if text else added


@filter("repeat")
def repeat(run: Rendering, value: Any, number: Any) -> str:
    """The text repeated `number` times. Empty if the value is not text. Raises TemplateFailed for a negative number,
    BudgetSpent."""
    times = whole(number)
    if times < 0:
        raise TemplateFailed(f"a text cannot be repeated {times} times")
    if not isinstance(value, str):
        return ""
    run.budget.text(len(value) * times, value)
    return value * times if value else ""


@filter("str_pos")
def str_pos(run: Rendering, value: Any, needle: Any, offset: Any = 0, ignore_case: Any = False) -> int:
    """The first position of the needle from `offset` on, in bytes; -1 if it is missing. A negative offset counts from
    the end."""
    text, part = read(run, value), read(run, needle)
    if ignore_case:
        text, part = text.lower(), part.lower()
    data, start = bytes_of(text), whole(offset)
    start = start if start >= 0 else len(data) + start
    return data.find(bytes_of(part), start) if 0 <= start <= len(data) else -1


@filter("str_sub")
def str_sub(run: Rendering, value: Any, from_: Any, to: Any) -> str:
    """The bytes from one position up to another, which is not included. A negative `from` counts from the end; the
    result is empty if `to` is not after `from`."""
    data, first, last = bytes_of(read(run, value)), whole(from_), whole(to)
    first = max(first if first >= 0 else len(data) + first, 0)
    return text_of_bytes(data[first : max(last, 0)])
