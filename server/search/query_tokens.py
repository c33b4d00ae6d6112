"""Splits a search text into tokens: fields, words, quoted texts, lists, brackets. query_parser.py combines them.

Runs in linear time.
"""

import re
from enum import IntEnum
from typing import NamedTuple, cast

from server.errors import BadQuery
from server.search.ast import Items, SearchValue


class TokenKind(IntEnum):
    """The kinds of token; the comments give the type of `value`."""

    FIELD = 1  # str, the name without its colon
    TEXT = 2  # Text, not quoted
    QUOTED = 3  # Text, without its quotes
    OPEN = 4  # str, one of ( !( all( !all(
    CLOSE = 5  # str, always )
    LIST = 6  # Items
    OPERATOR = 7  # str, AND or OR with white space on both sides
    NOT = 8  # str, - or NOT before an operand


class SearchToken(NamedTuple):
    """A token and its offset in characters."""

    kind: TokenKind
    value: str | SearchValue | Items
    position: int


_SPACE = " \t\r\n\f\v"
BOUNDARY = f"{_SPACE}("  # characters before a term
NEGATIONS = ("-", "NOT")
COMPARISONS = frozenset((">", ">=", "<", "<=", "!=", "="))
# Possessive (++) where a run could otherwise backtrack character by character.
_TOKEN = re.compile(
    rf"""[{_SPACE}]*+(?:
        (?P<field>[A-Za-z0-9_.]++:)
      | (?P<quoted>"[^"]*+")
      | (?P<open>!?(?:all)?\()
      | (?P<close>\))
      | (?P<list>\[)
      | (?P<text>[^{_SPACE}()\[\]"]++)
    )""",
    re.VERBOSE,
)
_ITEM = re.compile(
    rf"""[{_SPACE},]*+(?:
        (?P<quoted>"[^"]*+")
      | (?P<open>\[)
      | (?P<close>\])
      | (?P<text>[^{_SPACE},()\[\]"]++)
    )""",
    re.VERBOSE,
)


def tokens(q: str) -> list[SearchToken]:
    """Returns the tokens of `q`, in order. Raises BadQuery for an unmatched quote or square bracket.

    >>> [token.value for token in tokens('status:(open) OR "a b"')][:4]
    ['status', '(', SearchValue(value='open', quoted=False, position=8), ')']
    """
    result: list[SearchToken] = []
    end = len(q.rstrip(_SPACE))
    at = 0
    while at < end:
        match = _TOKEN.match(q, at)
        if match is None:
            raise _stray(q, at)
        kind = match.lastgroup or ""
        start, at = match.span(kind)
        if kind == "field":
            result.append(SearchToken(TokenKind.FIELD, q[start : at - 1], start))
        elif kind == "text":
            sign = _negation(q, start, at, end) if not result or result[-1].kind is not TokenKind.FIELD else ""
            if sign:
                result.append(SearchToken(TokenKind.NOT, sign, start))
                at = start + len(sign)
            else:
                result.append(_text(q, start, at))
        elif kind == "quoted":
            value = q[start + 1 : at - 1]
            if _is_comparison(result, start):  # size:>"1 MB"
                start = result.pop().position
                result.append(
                    SearchToken(
                        TokenKind.TEXT, SearchValue(q[start : q.index('"', start)] + value, False, start), start
                    )
                )
            else:
                result.append(SearchToken(TokenKind.QUOTED, SearchValue(value, True, start), start))
        elif kind == "list":
            items, at = _list(q, start)
            result.append(SearchToken(TokenKind.LIST, items, start))
        else:
            result.append(SearchToken(TokenKind.OPEN if kind == "open" else TokenKind.CLOSE, q[start:at], start))
    return result


def _negation(q: str, start: int, end: int, last: int) -> str:
    """Returns the sign or word with which other search languages negate, if it precedes an operand; else ""."""
    if (start and q[start - 1] not in BOUNDARY) or (
        end == last and end - start <= len("NOT") and q[start:end] in NEGATIONS
    ):
        return ""
    behind = q[start + 1 : start + 2]
    if q[start] == "-" and (behind.isalnum() or (end == start + 1 and behind in '(["')):
        return "-"
    return "NOT" if q[start:end] == "NOT" and q[end] in f'{_SPACE}("' else ""


def _is_comparison(previous: list[SearchToken], start: int) -> bool:
    """Whether the last token is a comparison, as the value of a field, directly before the quote at `start`."""
    if len(previous) < 2 or previous[-2].kind is not TokenKind.FIELD or previous[-1].kind is not TokenKind.TEXT:
        return False
    text = cast(SearchValue, previous[-1].value)
    return text.value in COMPARISONS and text.position + len(text.value) == start


def _text(q: str, start: int, end: int) -> SearchToken:
    value = q[start:end]
    if value in ("AND", "OR") and start and q[start - 1] in _SPACE and q[end : end + 1] and q[end] in _SPACE:
        return SearchToken(TokenKind.OPERATOR, value, start)
    return SearchToken(TokenKind.TEXT, SearchValue(value, False, start), start)


def _list(q: str, start: int) -> tuple[Items, int]:
    """Returns the list whose bracket opens at `start`, and the offset after its closing bracket."""
    items: list[SearchValue] = []
    opened = [start]
    at = start + 1
    while opened:
        match = _ITEM.match(q, at)
        if match is None:
            raise _stray_in_list(q, at, opened[-1])
        kind = match.lastgroup or ""
        begin, at = match.span(kind)
        if kind == "text":
            items.append(SearchValue(q[begin:at], False, begin))
        elif kind == "quoted":
            items.append(SearchValue(q[begin + 1 : at - 1], True, begin))
        elif kind == "open":
            opened.append(begin)
        else:
            opened.pop()
    return Items(tuple(items), start), at


def _stray(q: str, at: int) -> BadQuery:
    position = len(q) - len(q[at:].lstrip(_SPACE))
    if q[position] == "]":
        return BadQuery(f"']' at position {position} has no opening bracket; remove it or quote it", position=position)
    return _unclosed_quote(position)


def _stray_in_list(q: str, at: int, opened: int) -> BadQuery:
    position = len(q) - len(q[at:].lstrip(_SPACE + ","))
    if position == len(q):
        return BadQuery(f"the list that begins at position {opened} has no ']'; close it", position=opened)
    if q[position] == '"':
        return _unclosed_quote(position)
    return BadQuery(
        f"'{q[position]}' at position {position} is inside a list; put the item in quotes", position=position
    )


def _unclosed_quote(position: int) -> BadQuery:
    return BadQuery(f"the quote at position {position} is not closed; close it or remove it", position=position)
