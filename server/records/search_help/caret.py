"""Finds what is being typed at the caret of a search: the name of a filter, or a value of one.

Pure. It is not the parser, since most texts here are unfinished and cannot be parsed."""

import re
from collections.abc import Callable

from server.dataclass import dataclass
from server.search.filters import Filter

_PIECE = re.compile(
    r"""(?P<space>\s+)|(?P<field>[A-Za-z0-9_.]+:)|(?P<quoted>"[^"]*"?)|(?P<open>!?(?:all)?\()|(?P<close>\))
    |(?P<list>\[)|(?P<stray>\])|(?P<text>[^\s()\[\]"]+)""",
    re.VERBOSE,
)
_ITEM = re.compile(r'(?P<space>[\s,]+)|(?P<quoted>"[^"]*"?)|(?P<list>\[)|(?P<end>\])|(?P<text>[^\s,()\[\]"]+|[()])')
_REST_OF_NAME = re.compile(r"[A-Za-z0-9_.]*:?")
_REST_OF_VALUE = re.compile(r'[^\s,()\[\]"]*')
_REST_OF_QUOTED = re.compile(r'[^"]*"')
_PREFIX = re.compile(r"(?:!(?!=)|[<>]=?|!?=)+")

Named = Callable[[str, str], Filter | None]


@dataclass(frozen=True, slots=True)
class Typed:
    """The word at the caret.

    uri: the record type that is searched there, "" inside the parts of a date. field: the filter whose value is typed,
    "" for the name of a filter. text: the word up to the caret. start, end: the range that a completion replaces.
    closers: the brackets and quotes that are missing after the caret. takes_name: whether a filter name is allowed
    there, which it is not in quotes, in a list, and right after a closing bracket."""

    uri: str
    field: str
    text: str
    start: int
    end: int
    closers: str
    takes_name: bool


@dataclass(slots=True)
class _Bracket:
    """An open bracket. field: the filter whose value it is."""

    uri: str
    field: str
    sign: str


def typed_at(q: str, caret: int, uri: str, find: Named) -> Typed:
    """Returns the word at `caret`. find: returns the filter of a record type and a name."""
    head = q[:caret]
    stack = [_Bracket(uri, "", "")]
    field, at = "", 0
    start, text, quote = caret, "", ""
    while at < len(head):
        is_list = stack[-1].sign == "]"
        match = (_ITEM if is_list else _PIECE).match(head, at)
        if match is None:  # a character that starts no token
            at += 1
            continue
        kind, piece, at = match.lastgroup, match[0], match.end()
        is_last = at == len(head)
        start, text, quote = caret, "", ""
        if kind in ("text", "quoted"):
            if is_last and (kind == "text" or _is_open(piece)):
                quote = '"' if kind == "quoted" else ""
                start, text = match.start(), piece.strip('"')
            elif not is_list and piece != "!":
                field = ""
        elif kind == "field":
            field = piece[:-1]
        elif kind == "open":
            stack.append(_Bracket(_inner(stack[-1].uri, field, find), field or stack[-1].field, ")"))
            field = ""
        elif kind == "list":
            stack.append(_Bracket(stack[-1].uri, field or stack[-1].field, "]"))
        elif kind in ("close", "end") and len(stack) > 1:
            stack.pop()
            field = ""
    return _typed(q, caret, stack, field, start, text, quote)


def _is_open(quoted: str) -> bool:
    return len(quoted) < 2 or not quoted.endswith('"')


def _inner(uri: str, field: str, find: Named) -> str:
    """The record type that a bracket after a filter searches; without a filter the same type."""
    if not field:
        return uri
    outer = find(uri, field) if uri else None
    return outer.target if outer is not None and outer.type in ("deep", "watchers") else ""


def _typed(q: str, caret: int, stack: list[_Bracket], field: str, start: int, text: str, quote: str) -> Typed:
    inner = stack[-1]
    is_list = inner.sign == "]"
    field = inner.field if is_list else field
    if field and not quote:
        signs = _PREFIX.match(text)
        start, text = (start + signs.end(), text[signs.end() :]) if signs else (start, text)
        if "," in text:
            start, text = start + text.rindex(",") + 1, text[text.rindex(",") + 1 :]
    elif not field and text.startswith("!"):
        start, text = start + 1, text[1:]
    rest = _REST_OF_QUOTED if quote else _REST_OF_VALUE if field else _REST_OF_NAME
    after = rest.match(q, caret)
    end = after.end() if after else caret
    closers = "".join(each.sign for each in reversed(stack))
    if quote and end == caret:  # the quote is not closed
        closers = quote + closers
    is_behind = not text and q[caret - 1 : caret] in (")", "]", '"')
    return Typed(inner.uri, field, text, start, end, closers, not (quote or is_list or is_behind))
