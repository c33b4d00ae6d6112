"""Texts that filters read and make, charged to the budget; and the bytes that some of them stand for."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from server.template.budget import MAX_ELEMENTS, MAX_OUTPUT_CHARS
from server.template.run import Rendering
from server.template.values import printed

CHUNK_CHARS = 64 * 1024  # what is worked on at once
SLOW_CHARS_A_STEP = 64
PARTS_AT_ONCE = 4096
_LINE_END = re.compile(r"\r\n|\n|\r")


class ByteText(str):
    """Bytes as a text: what can be read of them as UTF-8. In `data` they stand themselves, to be encoded or hashed."""

    data: bytes

    def __new__(cls, data: bytes) -> "ByteText":
        found = super().__new__(cls, data.decode("utf-8", "replace"))
        found.data = data
        return found


def text_of_bytes(data: bytes) -> str:
    """Plain text where the bytes are UTF-8, else ByteText."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return ByteText(data)


def bytes_of(value: str) -> bytes:
    """The bytes that a text stands for: UTF-8 for most; lone surrogates, as `@base64` of KATA makes them, are bytes."""
    if isinstance(value, ByteText):
        return value.data
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return value.encode("utf-8", "replace")


def read(run: Rendering, value: Any) -> str:
    """The printed form of a value, charged for being read. Raises BudgetSpent, TemplateFailed for a date."""
    text = printed(value)
    run.budget.text(len(text), text)
    return text


def read_slowly(run: Rendering, value: Any) -> str:
    """As read, for what takes Python a while for each character."""
    text = read(run, value)
    run.budget.step(len(text) // SLOW_CHARS_A_STEP)
    return text


def read_text(run: Rendering, value: Any) -> str | None:
    """As read; None for anything but text, numbers among it."""
    return read(run, value) if isinstance(value, str) else None


class TextBuffer:
    """A text that is made piece by piece; each piece is charged before it is kept."""

    def __init__(self, run: Rendering) -> None:
        self._budget = run.budget
        self._done: list[str] = []
        self._parts: list[str] = []
        self._chars = 0

    def add(self, text: str) -> None:
        """Raises BudgetSpent when the whole would be too long."""
        self._chars += len(text)
        if self._chars > MAX_OUTPUT_CHARS:
            self._budget.text(self._chars)
        self._budget.text(len(text), text)
        self._parts.append(text)
        if len(self._parts) > PARTS_AT_ONCE:  # many small texts take far more room than one long one
            self._done.append("".join(self._parts))
            self._parts.clear()

    def add_all(self, texts: list[str]) -> None:
        """As add, of so many that a call for each would take longer than the work. Raises BudgetSpent."""
        chars = sum(map(len, texts))
        if chars > CHUNK_CHARS or not all(map(str.isascii, texts)):  # their widths differ, or they are large
            for text in texts:
                self.add(text)
        else:
            self.add("".join(texts))

    def text(self) -> str:
        return "".join([*self._done, *self._parts])


def chunks(text: str) -> Iterator[str]:
    """The text in pieces, for work that makes it many times as long."""
    for start in range(0, len(text), CHUNK_CHARS):
        yield text[start : start + CHUNK_CHARS]


def mapped(run: Rendering, value: Any, change: Callable[[str], str]) -> str:
    """The text of a value after a change that looks at each character by itself."""
    out = TextBuffer(run)
    for chunk in chunks(read(run, value)):
        run.budget.step(len(chunk) // SLOW_CHARS_A_STEP)
        out.add(change(chunk))
    return out.text()


def substituted(run: Rendering, text: str, pattern: re.Pattern[str], change: Callable[[re.Match[str]], str]) -> str:
    """The text with each match changed. As `re` does it, but for its list of all pieces, which may take far more room
    than the text."""
    out, place = TextBuffer(run), 0
    for match in pattern.finditer(text):
        run.budget.step()
        out.add(text[place : match.start()])
        out.add(change(match))
        place = match.end()
    out.add(text[place:])
    return out.text()


class EachCharacter(dict[int, str]):
    """For str.translate: what each character becomes, found when it is first met."""

    def __init__(self, change: Callable[[str], str]) -> None:
        super().__init__()
        self._change = change

    def __missing__(self, code: int) -> str:
        found = self[code] = self._change(chr(code))
        return found


def lines(run: Rendering, text: str) -> list[str]:
    """The lines of a text, whatever ends them. Raises BudgetSpent when there are too many."""
    run.budget.elements(line_ends(text) + 1)
    return _LINE_END.split(text)


def line_ends(text: str) -> int:
    """How many lines end in a text."""
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def listed(run: Rendering, found: Iterable[str]) -> list[str]:
    """The texts as a list, each charged as it comes. Raises BudgetSpent when there are too many."""
    kept: list[str] = []
    for each in found:
        run.budget.made(1)
        kept.append(each)
        if len(kept) > MAX_ELEMENTS:
            run.budget.elements(len(kept))
    return kept
