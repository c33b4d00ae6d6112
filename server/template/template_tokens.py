"""Splits a template into pieces: plain text, output tags and statement tags, with the inside of tags as tokens.

Scripts and packages have different delimiters, so that a package can contain scripts unchanged."""

import re
from collections.abc import Iterator
from typing import Any

from server.dataclass import dataclass
from server.errors import BudgetSpent, TemplateFailed
from server.late_pattern import late_pattern

MAX_INTERPOLATED = 20  # nested interpolations
MAX_TOKENS = 50_000  # in all tags of a template

OPERATORS = (
    "b-and", "b-xor", "b-or", "starts with", "ends with", "has some", "has every", "not in", "is not", "matches",
    "and", "or", "not", "in", "is",
)  # fmt: skip
SYMBOLS = (
    "<=>", "...", "**", "//", "??", "?:", "==", "!=", "<=", ">=", "=>", "..", "+", "-", "*", "/", "%", "~", "<", ">",
    "?", ":", "|", ".", ",", "(", ")", "[", "]", "{", "}", "=",
)  # fmt: skip
_WORDS = late_pattern(
    "|".join(rf"{re.escape(each).replace(chr(92) + ' ', r'[ ]+')}(?![A-Za-z0-9_])" for each in OPERATORS)
)
_SYMBOL = late_pattern("|".join(map(re.escape, SYMBOLS)))
_NAME = late_pattern(r"[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*")
_NUMBER = late_pattern(r"[0-9]+(?:\.[0-9]+)?")
_BLANK = late_pattern(r"\s+")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPE = late_pattern(r"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", re.DOTALL)


@dataclass(frozen=True)
class Delimiters:
    """The marks that begin and end tags."""

    output: tuple[str, str]
    tag: tuple[str, str]
    comment: tuple[str, str]
    interpolation: tuple[str, str]


SCRIPT = Delimiters(("{{", "}}"), ("{%", "%}"), ("{#", "#}"), ("#{", "}"))
PACKAGE = Delimiters(("{{{", "}}}"), ("{{%", "%}}"), ("{{#", "#}}"), ("#{{", "}}"))


@dataclass(frozen=True)
class TemplateToken:
    """kind: name, number, text, parts (a text with expressions in it), operator, symbol, end. value: its meaning."""

    kind: str
    value: Any
    line: int


@dataclass(frozen=True)
class Piece:
    """kind: text, output, tag. value: the text, or the tokens inside the tag."""

    kind: str
    value: Any
    line: int


def error(message: str, line: int) -> TemplateFailed:
    """Returns the error for a mistake in a template, with its line."""
    return TemplateFailed(f"{message} (line {line})", line=line)


def located(failed: TemplateFailed | BudgetSpent, line: int) -> TemplateFailed | BudgetSpent:
    """Returns the same error with its line in the details and in the message. line: used if the error has no line."""
    line = int(str(failed.details.get("line", line)))
    message = f"{failed.message.removesuffix(f' (line {line})')} (line {line})"
    if message == failed.message:
        return failed
    return type(failed)(message, **{**failed.details, "line": line})


def pieces(source: str, delimiters: Delimiters = SCRIPT) -> list[Piece]:
    """Returns the pieces of a template. Raises TemplateFailed."""
    return list(_Lexer(source.replace("\r\n", "\n").replace("\r", "\n"), delimiters).run())


class _Lexer:
    def __init__(self, source: str, delimiters: Delimiters) -> None:
        self.source = source
        self.delimiters = delimiters
        starts = {delimiters.output[0]: "output", delimiters.tag[0]: "tag", delimiters.comment[0]: "comment"}
        self._starts = starts
        self._start = re.compile("|".join(map(re.escape, sorted(starts, key=len, reverse=True))))
        self._place = 0
        self._line = 1
        self._counted = 0
        self._tokens = 0

    def line(self, place: int) -> int:
        """Returns the line of a position. Fast for rising positions: it counts from the last one."""
        if place < self._counted:
            return self.source.count("\n", 0, place) + 1
        self._line += self.source.count("\n", self._counted, place)
        self._counted = place
        return self._line

    def run(self) -> Iterator[Piece]:
        source = self.source
        strip = ""  # how white space is removed at the start of the text after the latest tag
        while True:
            match = self._start.search(source, self._place)
            end = match.start() if match else len(source)
            text = _left_stripped(source[self._place : end], strip)
            if match is None:
                if text:
                    yield Piece("text", text, self.line(self._place))
                return
            kind, place = self._starts[match.group()], match.end()
            mark = source[place : place + 1]
            if mark in ("-", "~") and mark:
                text = text.rstrip() if mark == "-" else text.rstrip(" \t\0\v")
                place += 1
            if text:
                yield Piece("text", text, self.line(self._place))
            if kind == "comment":
                strip = self._comment(place, match.start())
                continue
            line = self.line(match.start())
            tokens, self._place, strip = self._inside(place, kind, line)
            if kind == "tag" and tokens[0].value == "verbatim" and len(tokens) == 2:
                yield Piece("text", self._verbatim(line), line)
                strip = "newline"
                continue
            yield Piece(kind, tokens, line)
            strip = strip or ("newline" if kind == "tag" else "")

    def _comment(self, place: int, began: int) -> str:
        end = self.source.find(self.delimiters.comment[1], place)
        if end < 0:
            raise error("a comment has no end", self.line(began))
        mark = self.source[end - 1] if end > place else ""
        self._place = end + len(self.delimiters.comment[1])
        return mark if mark in ("-", "~") else "newline"

    def _verbatim(self, line: int) -> str:
        start, end = (re.escape(each) for each in self.delimiters.tag)
        closing = re.compile(rf"{start}([-~]?)\s*endverbatim\s*([-~]?){end}")
        match = closing.search(self.source, self._place)
        if match is None:
            raise error("verbatim has no endverbatim", line)
        text = self.source[self._place : match.start()].removeprefix("\n")
        self._place = match.end()
        return text.rstrip() if match[1] else text

    def _inside(self, place: int, kind: str, line: int) -> tuple[list[TemplateToken], int, str]:
        """Returns the tokens of a tag, the position after it, and how the text there is stripped."""
        close = self.delimiters.output[1] if kind == "output" else self.delimiters.tag[1]
        tokens, place = self.tokens(place, re.compile(rf"\s*([-~]?){re.escape(close)}"), line)
        mark = self.source[place - len(close) - 1]
        return tokens, place, mark if mark in ("-", "~") else ""

    def tokens(
        self, place: int, close: re.Pattern[str], began: int, nested: int = 0
    ) -> tuple[list[TemplateToken], int]:
        """Returns the tokens up to the closing mark, and the position after it."""
        source, found_tokens, depth = self.source, [], 0
        while True:
            match = _BLANK.match(source, place)
            if not depth and (ending := close.match(source, place)):
                found_tokens.append(TemplateToken("end", "", self.line(place)))
                return found_tokens, ending.end()
            if match:
                place = match.end()
            if place >= len(source):
                raise error("a tag has no end", began)
            line = self.line(place)
            self._tokens += 1
            if self._tokens > MAX_TOKENS:
                raise error(f"the tags of a template hold at most {MAX_TOKENS:,} words and signs", line)
            token, place = self._token(place, line, nested)
            if token.kind == "symbol" and token.value in "([{":
                depth += 1
            elif token.kind == "symbol" and token.value in ")]}":
                if not depth:
                    raise error(f"'{token.value}' closes nothing", line)
                depth -= 1
            found_tokens.append(token)

    def _token(self, place: int, line: int, nested: int) -> tuple[TemplateToken, int]:
        source = self.source
        match = _WORDS.match(source, place)
        if match:
            return TemplateToken("operator", " ".join(match.group().split()), line), match.end()
        match = _NAME.match(source, place)
        if match:
            return TemplateToken("name", match.group(), line), match.end()
        match = _NUMBER.match(source, place)
        if match:
            return TemplateToken("number", match.group(), line), match.end()
        if source[place] == "'":
            end = _end_of_text(source, place, "'", line)
            return TemplateToken("text", unescaped(source[place + 1 : end]), line), end + 1
        if source[place] == '"':
            return self._text(place, line, nested)
        match = _SYMBOL.match(source, place)
        if match is None:
            raise error(f"'{source[place]}' has no meaning here", line)
        return TemplateToken("symbol", match.group(), line), match.end()

    def _text(self, place: int, line: int, nested: int) -> tuple[TemplateToken, int]:
        """Reads a text in double quotes, which may contain expressions."""
        source, (opening, closing) = self.source, self.delimiters.interpolation
        parts: list[Any] = []
        begun = place = place + 1
        while True:
            if place >= len(source):
                raise error("a text has no closing quote", line)
            if source[place] == "\\":
                place += 2
            elif source.startswith(opening, place):
                if nested >= MAX_INTERPOLATED:
                    raise error(f"at most {MAX_INTERPOLATED} texts inside each other", line)
                parts.append(unescaped(source[begun:place]))
                tokens, place = self.tokens(
                    place + len(opening), re.compile(rf"\s*{re.escape(closing)}"), line, nested + 1
                )
                parts.append(tokens)
                begun = place
            elif source[place] == '"':
                parts.append(unescaped(source[begun:place]))
                break
            else:
                place += 1
        if len(parts) == 1:
            return TemplateToken("text", parts[0], line), place + 1
        return TemplateToken("parts", parts, line), place + 1


def _left_stripped(text: str, mark: str) -> str:
    if mark == "-":
        return text.lstrip()
    if mark == "~":
        return text.lstrip(" \t\0\v")
    return text.removeprefix("\n") if mark == "newline" else text


def _end_of_text(source: str, place: int, quote: str, line: int) -> int:
    at = place + 1
    while at < len(source):
        if source[at] == "\\":
            at += 1
        elif source[at] == quote:
            return at
        at += 1
    raise error("a text has no closing quote", line)


def unescaped(text: str) -> str:
    """Replaces the escapes of C; a backslash before any other character is dropped."""
    return _ESCAPE.sub(_unescape, text) if "\\" in text else text


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    return _ESCAPES.get(code, code)
