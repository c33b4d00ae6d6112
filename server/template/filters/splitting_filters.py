"""Texts split and joined: by a separator, into words."""

import re
from typing import Any

from server.template.filters.line_filters import positions
from server.template.registry import filter
from server.template.run import Rendering
from server.template.shared.text_values import TextBuffer, listed, read, read_text
from server.template.values import items, printed, whole

JOINED_AT_ONCE = 512  # values, before they are charged
_WORD = re.compile(r"[^\W_]+")


@filter("split")
def split(run: Rendering, value: Any, separator: Any, limit: Any = None) -> list[str]:
    """The parts between separators. limit: the maximum number of parts, the last one being the rest; if negative, as
    many parts are left out at the end. An empty separator splits into characters, or into pieces of `limit` characters.
    """
    text, between = read(run, value), printed(separator)
    most = None if limit is None else whole(limit)
    if not between:
        return _pieces(run, text, max(most or 1, 1))
    count = text.count(between) + 1
    if most is None or most < 0:
        run.budget.elements(count)
        return text.split(between)[: max(count + (most or 0), 0)]
    run.budget.elements(min(count, max(most, 1)))
    return text.split(between, max(most, 1) - 1)


def _pieces(run: Rendering, text: str, size: int) -> list[str]:
    run.budget.elements(len(text) // size)
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]


@filter("split_csv")
def split_csv(run: Rendering, value: Any) -> Any:
    """The parts between commas, trimmed, by position; blank parts are left out, and so are their positions."""
    return positions(split(run, value, ","), keep_blanks=False, trim=True)


@filter("tokenize")
def tokenize(run: Rendering, value: Any) -> list[str]:
    """The words of a text in lower case."""
    text = read_text(run, value)
    return [] if text is None else listed(run, (word[0].lower() for word in _WORD.finditer(text)))


@filter("join")
def join(run: Rendering, value: Any, glue: Any = "", and_: Any = None) -> str:
    """The values with a glue between them, `and` between the last two. Text is returned unchanged."""
    if not isinstance(value, (list, dict)):
        return read(run, value)
    values, between = items(value), printed(glue)
    last = printed(and_) if and_ is not None else between
    out = TextBuffer(run)
    for start in range(0, len(values), JOINED_AT_ONCE):
        pieces: list[str] = []
        for place, each in enumerate(values[start : start + JOINED_AT_ONCE], start):
            if place:
                pieces.append(between if place < len(values) - 1 else last)
            pieces.append(printed(each))
        out.add_all(pieces)
    return out.text()
