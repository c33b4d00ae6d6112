"""Parts of texts: trimmed, cut off, added, repeated, by position."""

from typing import Any

from server.errors import TemplateFailed, nearest
from server.template.registry import filter
from server.template.run import Rendering
from server.template.shared.texts import bytes_of, read, text_of_bytes
from server.template.values import printed, whole

WHITESPACE = " \t\n\r\0\x0b"
CHECKS_A_STEP = 512  # of one character against another
SIDES = ("both", "left", "right")


@filter("trim")
def trim(run: Rendering, value: Any, chars: Any = None, side: Any = "both") -> str:
    """The text without these characters (white space) at its ends. side: both, left or right. Raises TemplateFailed
    for another side."""
    text, taken, at = read(run, value), WHITESPACE if chars is None else printed(chars), printed(side)
    if at not in SIDES:
        raise TemplateFailed(f"'trim' has the sides both, left and right, not '{at[:50]}'{nearest(at, SIDES)}")
    taken = _each_once(run, text, taken)
    if not taken:
        return text
    if at != "right":
        text = text.lstrip(taken)
    return text.rstrip(taken) if at != "left" else text


def _each_once(run: Rendering, text: str, chars: str) -> str:
    """Each of some characters once, charged for: those at the ends of a text are looked for among them one by one."""
    found = "".join(set(chars))
    run.budget.step(min(len(found), len(chars)) * len(text) // CHECKS_A_STEP)
    return found


@filter("truncate")
def truncate(run: Rendering, value: Any, length: Any = 30, suffix: Any = "...") -> str:
    """At most `length` characters, the suffix included; the suffix alone where nothing else has room."""
    text, most, end = read(run, value), whole(length), printed(suffix)
    if len(text) <= most or not text:
        return text
    return text[: max(most - len(end), 0)] + end


@filter("append")
def append(run: Rendering, value: Any, suffix: Any, delimiter: Any = "", trim: Any = None) -> str:
    """The text, the delimiter unless the text is empty, and the suffix. trim: characters that are taken off the end of
    the text first, those of the delimiter when it is left out."""
    between, added = printed(delimiter), printed(suffix)
    text = read(run, value)
    text = text.rstrip(_each_once(run, text, between if trim is None else printed(trim)))
    run.budget.text(len(text) + len(between) + len(added), text)
    return f"{text}{between}{added}" if text else added


@filter("repeat")
def repeat(run: Rendering, value: Any, number: Any) -> str:
    """The text so many times. Nothing of what is no text. Raises TemplateFailed below 0, BudgetSpent."""
    times = whole(number)
    if times < 0:
        raise TemplateFailed(f"a text cannot be repeated {times} times")
    if not isinstance(value, str):
        return ""
    run.budget.text(len(value) * times, value)
    return value * times if value else ""


@filter("str_pos")
def str_pos(run: Rendering, value: Any, needle: Any, offset: Any = 0, ignore_case: Any = False) -> int:
    """Where the needle first stands from `offset` on, in bytes; -1 for nowhere. A negative offset counts from the
    end."""
    text, wanted = read(run, value), read(run, needle)
    if ignore_case:
        text, wanted = text.lower(), wanted.lower()
    data, start = bytes_of(text), whole(offset)
    start = start if start >= 0 else len(data) + start
    return data.find(bytes_of(wanted), start) if 0 <= start <= len(data) else -1


@filter("str_sub")
def str_sub(run: Rendering, value: Any, from_: Any, to: Any) -> str:
    """The bytes from one position up to another, which is not included. A negative `from` counts from the end; a `to`
    before it gives nothing."""
    data, first, last = bytes_of(read(run, value)), whole(from_), whole(to)
    first = max(first if first >= 0 else len(data) + first, 0)
    return text_of_bytes(data[first : max(last, 0)])
