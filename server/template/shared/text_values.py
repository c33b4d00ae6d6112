"""Texts that filters read and create, charged to the budget, and the bytes that some of them represent."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from server.template.budget import MAX_ELEMENTS, MAX_OUTPUT_CHARS
from server.template.run import Rendering
from server.template.values import printed

CHUNK_CHARS = 64 * 1024  # processed in one piece
SLOW_CHARS_A_STEP = 64
PARTS_AT_ONCE = 4096
_LINE_END = re.compile(r"\r\n|\n|\r")


class ByteText(str):
    """Bytes as text: decoded as UTF-8 as far as possible. `data` has the original bytes, for encoding and hashing."""

    data: bytes

    def __new__(cls, data: bytes) -> "ByteText":
        text = super().__new__(cls, data.decode("utf-8", "replace"))
        text.data = data
        return text


def text_of_bytes(data: bytes) -> str:
    """Returns plain text if the bytes are UTF-8, else ByteText."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return ByteText(data)


def bytes_of(value: str) -> bytes:
    """Returns the bytes of a text: UTF-8 for most; lone surrogates, which `@base64` of KATA creates, are bytes."""
    if isinstance(value, ByteText):
        return value.data
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return value.encode("utf-8", "replace")


def read(run: Rendering, value: Any) -> str:
    """Returns the printed form of a value and charges for reading it. Raises BudgetSpent, TemplateFailed for a date."""
    text = printed(value)
    run.budget.text(len(text), text)
    return text


def read_slowly(run: Rendering, value: Any) -> str:
    """Like read(), for operations that are slow in Python for each character."""
    text = read(run, value)
    run.budget.step(len(text) // SLOW_CHARS_A_STEP)
    return text


def read_text(run: Rendering, value: Any) -> str | None:
    """Like read(); None if the value is not text, for example a number."""
    return read(run, value) if isinstance(value, str) else None


class TextBuffer:
    """A text that is created piece by piece; each piece is charged before it is stored."""

    def __init__(self, run: Rendering) -> None:
        self._budget = run.budget
        self._done: list[str] = []
        self._parts: list[str] = []
        self._chars = 0

    def add(self, text: str) -> None:
        """Appends a piece. Raises BudgetSpent if the whole text becomes too long."""
        self._chars += len(text)
        if self._chars > MAX_OUTPUT_CHARS:
            self._budget.text(self._chars)
        self._budget.text(len(text), text)
        self._parts.append(text)
        if len(self._parts) > PARTS_AT_ONCE:  # many small texts need much more memory than a long one
            self._done.append("".join(self._parts))
            self._parts.clear()

    def add_all(self, texts: list[str]) -> None:
        """Appends many pieces, for which separate calls would take longer than the work. Raises BudgetSpent."""
        chars = sum(map(len, texts))
        if chars > CHUNK_CHARS or not all(map(str.isascii, texts)):  # their widths differ, or they are large
            for text in texts:
                self.add(text)
        else:
            self.add("".join(texts))

    def text(self) -> str:
        return "".join([*self._done, *self._parts])


def chunks(text: str) -> Iterator[str]:
    """Yields the text in pieces, for operations that multiply its length."""
    for start in range(0, len(text), CHUNK_CHARS):
        yield text[start : start + CHUNK_CHARS]


def mapped(run: Rendering, value: Any, change: Callable[[str], str]) -> str:
    """Returns the text of a value after a change that depends only on single characters."""
    out = TextBuffer(run)
    for chunk in chunks(read(run, value)):
        run.budget.step(len(chunk) // SLOW_CHARS_A_STEP)
        out.add(change(chunk))
    return out.text()


def substituted(run: Rendering, text: str, pattern: re.Pattern[str], change: Callable[[re.Match[str]], str]) -> str:
    """Returns the text with each match replaced. Like re.sub, but without its list of all pieces, which may need much
    more memory than the text."""
    out, place = TextBuffer(run), 0
    for match in pattern.finditer(text):
        run.budget.step()
        out.add(text[place : match.start()])
        out.add(change(match))
        place = match.end()
    out.add(text[place:])
    return out.text()


class EachCharacter(dict[int, str]):
    """A table for str.translate that computes the replacement of a character when it first occurs."""

    def __init__(self, change: Callable[[str], str]) -> None:
        super().__init__()
        self._change = change

    def __missing__(self, code: int) -> str:
        text = self[code] = self._change(chr(code))
        return text


def lines(run: Rendering, text: str) -> list[str]:
    """Returns the lines of a text with any line ends. Raises BudgetSpent if there are too many."""
    run.budget.elements(line_ends(text) + 1)
    return _LINE_END.split(text)


def line_ends(text: str) -> int:
    """Returns the number of line ends in a text."""
    return text.count("\n") + text.count("\r") - text.count("\r\n")


def listed(run: Rendering, texts: Iterable[str]) -> list[str]:
    """Returns the texts as a list; each is charged as it arrives. Raises BudgetSpent if there are too many."""
    result: list[str] = []
    for each in texts:
        run.budget.entries(1)
        result.append(each)
        if len(result) > MAX_ELEMENTS:
            run.budget.elements(len(result))
    return result
