"""Parses a search text into a tree (ast.py). The compiler checks filters and values.

Iterative, one pass over the tokens. Brackets and quotes must match, a field must have a value, and AND binds tighter
than OR. No library is used: each knows only its own language, such as Lucene's, and this parser also reports where a
text is wrong.
"""

import re
from functools import lru_cache
from typing import Literal, cast

from server.errors import BadQuery
from server.search.ast import BareWord, BooleanGroup, Items, Node, Query, SearchValue, Subquery, Term, Value
from server.search.control_terms import CONTROLS, query_of
from server.search.query_tokens import COMPARISONS, SearchToken, TokenKind, tokens
from server.translation import lazy_gettext

MAX_QUERY_CHARS = 8192
MAX_TERMS = 200  # fields and bare words at all depths; list items do not count
MAX_DEPTH = 8  # nested brackets
MAX_CACHED_CHARS = 512  # longer texts are rare, and caching them would allow exhausting the memory
CACHED_QUERIES = 2048  # parsing one takes 20 to 60 microseconds, 6 % of a search for ten tickets

_FIELD = re.compile(r"[A-Za-z0-9_.]++:")
# Operators of other search languages in an unquoted word, and the alternative.
_FOREIGN = (
    (re.compile(r"\|\|"), "write OR for alternatives"),
    (
        re.compile(r"(?:NEAR|ADJ|W)/[0-9]+"),
        'there is no search by word distance; write a phrase in quotes, "like this"',
    ),
    (re.compile(r"[\w*]+\^[0-9.]+"), "results are not ranked; leave out the weight"),
    (re.compile(r"\w+~[0-9.]*"), "fuzzy search is not supported; write the beginning of the word and a *"),
    (re.compile(r"\w++(?:\?\w++)++"), "? is not a wildcard; write the beginning of the word and a *"),
    (
        re.compile(r"/[^/]*[\\.+*?|^$][^/]*/i?"),
        "regular expressions are not supported; write words, or their beginning and a *",
    ),
)


def parse(q: str) -> Query:
    """Parses `q` and extracts its control terms; the root of an empty text has no children.

    Raises BadQuery, with `details["position"]`. The immutable tree is cached.
    """
    return _cached(q) if len(q) <= MAX_CACHED_CHARS else query_of(parse_group(q))


@lru_cache(maxsize=CACHED_QUERIES)
def _cached(q: str) -> Query:
    return query_of(parse_group(q))


def parse_group(q: str) -> BooleanGroup:
    """Parses like parse(), but leaves control terms in `controls` of their groups: for languages with the same
    grammar."""
    if len(q) > MAX_QUERY_CHARS:
        raise BadQuery(
            f"the search has {len(q)} characters; {MAX_QUERY_CHARS} are allowed",
            position=MAX_QUERY_CHARS,
            limit=MAX_QUERY_CHARS,
        )
    tree = _Tree()
    for token in tokens(q):
        tree.take(token)
    return tree.finish()


class _Frame:
    """An open bracket, or the whole text."""

    __slots__ = ("controls", "dangling", "field", "joint", "joints", "nodes", "opener", "position")

    def __init__(self, opener: str, field: "_Field | None", position: int) -> None:
        self.opener = opener
        self.field = field
        self.position = position
        self.nodes: list[Node] = []
        self.joints: list[str] = []  # joints[i] is between nodes[i] and nodes[i + 1]
        self.controls: list[Term] = []
        self.joint = ""  # the joint before the next node: "" (white space), AND or OR
        # The last AND or OR without a right operand; True at the start of a group, where these are plain words too.
        self.dangling: SearchToken | bool | None = True


class _Field:
    """A field before its value was read."""

    __slots__ = ("is_not", "name", "negated", "position")

    def __init__(self, name: str, position: int, is_not: bool) -> None:
        self.name = name
        self.position = position
        self.is_not = is_not  # preceded by NOT, which negates it again
        self.negated = False


class _Tree:
    """Takes tokens one by one and holds the open brackets and operands."""

    def __init__(self) -> None:
        self.frame = _Frame("", None, 0)
        self.outer: list[_Frame] = []
        self.field: _Field | None = None
        self.terms = 0
        self.bang: SearchToken | None = None  # a `!` that negates a quoted text if one follows directly
        self.negation: SearchToken | None = None  # a pending `-` or NOT

    def take(self, token: SearchToken) -> None:
        if self.bang is not None:
            self._settle_bang(token)
        elif self.field is not None:
            self._value(token)
        else:
            self._operand(token)

    def finish(self) -> BooleanGroup:
        if self.bang is not None:
            self._bare(cast(SearchValue, self.bang.value), False)
        self._drop_negation()
        if self.field is not None:
            raise _without_value(self.field)
        if self.outer:
            at = self.frame.position
            message = lazy_gettext(
                "the bracket at position {position} is not closed; close it or quote it", position=at
            )
            raise BadQuery(message, position=at)
        return self._group(self.frame, False)

    def _settle_bang(self, token: SearchToken) -> None:
        bang = cast(SearchToken, self.bang)
        self.bang = None
        joined = token.position == bang.position + 1
        if joined and token.kind is TokenKind.QUOTED:
            self._bare(cast(SearchValue, token.value), True, bang.position)
            return
        if joined and token.kind is TokenKind.LIST:
            raise BadQuery(
                f"the '!' at position {bang.position} negates a list without a field; write field:![...]",
                position=bang.position,
            )
        self._bare(cast(SearchValue, bang.value), False)
        self.take(token)

    def _value(self, token: SearchToken) -> None:
        """Handles the token after a field: its value, or a `!` before it."""
        field = cast(_Field, self.field)
        if token.kind is TokenKind.TEXT:
            self._text_value(field, cast(SearchValue, token.value))
        elif token.kind is TokenKind.QUOTED or token.kind is TokenKind.LIST:
            self._term(field, cast("SearchValue | Items", token.value))
        elif token.kind is TokenKind.OPEN:
            self._open(token)
        else:
            raise _without_value(field)

    def _text_value(self, field: _Field, text: SearchValue) -> None:
        value = text.value
        # `!=` is a comparison, which the filter reads; any other `!` negates the term.
        if value[0] == "!" and value[:2] != "!=" and not field.negated:
            field.negated = True
            if value == "!":
                return
            text = SearchValue(value[1:], False, text.position + 1)
        if text.value in COMPARISONS or not text.value.strip("!"):
            raise BadQuery(
                f"'{text.value}' at position {text.position} compares with nothing; write the value directly "
                f"behind it, or both in quotes",
                position=text.position,
            )
        self._term(field, text)

    def _term(self, field: _Field, value: Value) -> None:
        self.field = None
        term = Term(field.name, value, field.negated != field.is_not, field.position)
        if field.name in CONTROLS:
            self._count(field.position)
            self.frame.controls.append(term)
            self.frame.dangling = None
        else:
            self._add(term)

    def _operand(self, token: SearchToken) -> None:
        """Handles a token that is not the value of a field."""
        kind = token.kind
        if kind is TokenKind.FIELD:
            self.field = _Field(cast(str, token.value), token.position, self._take_negation())
        elif kind is TokenKind.TEXT:
            self._word(token)
        elif kind is TokenKind.QUOTED:
            self._bare(cast(SearchValue, token.value), self._take_negation())
        elif kind is TokenKind.NOT:
            self._drop_negation()
            self.negation = token
        elif kind is TokenKind.OPERATOR:
            self._drop_negation()
            self._operator(token)
        elif kind is TokenKind.OPEN:
            self._open(token)
        elif kind is TokenKind.CLOSE:
            self._close(token)
        else:  # a list without a field is only words
            if self._take_negation():
                raise BadQuery(
                    f"the list at position {token.position} has no field that could be negated; write field:![...]",
                    position=token.position,
                )
            for item in cast(Items, token.value).items:
                self._bare(item, False)

    def _take_negation(self) -> bool:
        """Applies a pending `-` or NOT to this operand; returns whether there was one."""
        is_not, self.negation = self.negation is not None, None
        return is_not

    def _drop_negation(self) -> None:
        """Turns a NOT without an operand into a plain word."""
        if self.negation is not None:
            token, self.negation = self.negation, None
            self._bare(SearchValue(cast(str, token.value), False, token.position), False)

    def _word(self, token: SearchToken) -> None:
        text = cast(SearchValue, token.value)
        value = text.value
        if value == "!" and self.negation is None:
            self.bang = token
        elif value[0] != "!" or not value.strip("!"):
            _refuse_foreign(text)
            self._bare(text, self._take_negation())
        elif _FIELD.match(value, 1):
            raise BadQuery(
                f"the '!' at position {text.position} is before a field; write field:!value instead",
                position=text.position,
            )
        else:
            self._bare(SearchValue(value[1:], False, text.position + 1), not self._take_negation(), text.position)

    def _bare(self, text: SearchValue, negated: bool, position: int | None = None) -> None:
        self._add(BareWord(text, negated, text.position if position is None else position))

    def _operator(self, token: SearchToken) -> None:
        frame = self.frame
        if frame.dangling:  # it has no left operand
            self._bare(SearchValue(cast(str, token.value), False, token.position), False)
            return
        frame.joint = cast(str, token.value)
        frame.dangling = token

    def _open(self, token: SearchToken) -> None:
        opener = cast(str, token.value)
        position = token.position
        if self._take_negation():
            opener = opener[1:] if opener[0] == "!" else f"!{opener}"
        if self.field is None and opener.endswith("all("):  # `all` is special only after a colon
            negated = opener[0] == "!"
            self._bare(SearchValue("all", False, position + negated), negated, position)
            position += len(opener) - 1
            opener = "("
        if len(self.outer) >= MAX_DEPTH:
            raise BadQuery(
                f"the bracket at position {position} is nested deeper than {MAX_DEPTH}; use fewer brackets",
                position=position,
                limit=MAX_DEPTH,
            )
        self.outer.append(self.frame)
        self.frame = _Frame(opener, self.field, position)
        self.field = None

    def _close(self, token: SearchToken) -> None:
        self._drop_negation()
        if not self.outer:
            raise BadQuery(
                lazy_gettext(
                    "')' at position {position} has no opening bracket; remove it or quote it", position=token.position
                ),
                position=token.position,
            )
        inner = self.frame
        negated = inner.opener[0] == "!"
        field = inner.field
        if field is None:
            group = self._group(inner, negated)
            self.frame = self.outer.pop()
            self._add_group(group)
            return
        root = self._group(inner, False)
        self.frame = self.outer.pop()
        field.negated = field.negated or negated
        self._term(field, Subquery(root, inner.opener.endswith("all("), inner.position + negated))

    def _add(self, node: BareWord | Term) -> None:
        self._count(node.position)
        _append(self.frame, node)

    def _add_group(self, group: BooleanGroup) -> None:
        """Adds a group; empty brackets are ignored."""
        if group.children:
            _append(self.frame, group)
        else:
            self.frame.dangling = None

    def _count(self, position: int) -> None:
        self.terms += 1
        if self.terms > MAX_TERMS:
            raise BadQuery(f"the search has more than {MAX_TERMS} terms", position=position, limit=MAX_TERMS)

    def _group(self, frame: _Frame, negated: bool) -> BooleanGroup:
        last = frame.dangling
        if isinstance(last, SearchToken):  # an operator without a right operand is only a word
            frame.joint = ""
            self._bare(SearchValue(cast(str, last.value), False, last.position), False)
        op: Literal["and", "or"] = "or" if "OR" in frame.joints else "and"
        children = _alternatives(frame) if op == "or" else tuple(frame.nodes)
        return BooleanGroup(op, children, negated, frame.position, tuple(frame.controls))


def _append(frame: _Frame, node: Node) -> None:
    if frame.nodes:
        frame.joints.append(frame.joint)
    frame.nodes.append(node)
    frame.joint = ""
    frame.dangling = None


def _alternatives(frame: _Frame) -> tuple[Node, ...]:
    """Returns the operands of OR, after grouping operands joined by AND, and adjacent bare words."""
    runs = [[frame.nodes[0]]]
    for joint, node in zip(frame.joints, frame.nodes[1:], strict=True):
        previous = runs[-1][-1]
        if joint == "AND" or (not joint and isinstance(previous, BareWord) and isinstance(node, BareWord)):
            runs[-1].append(node)
        else:
            runs.append([node])
    return tuple(run[0] if len(run) == 1 else BooleanGroup("and", tuple(run), False, run[0].position) for run in runs)


def _refuse_foreign(text: SearchValue) -> None:
    """Raises BadQuery for an operator of another search language, which as a word would match nothing."""
    for pattern, advice in _FOREIGN:
        if pattern.fullmatch(text.value):
            raise BadQuery(
                f"'{text.value[:60]}' at position {text.position}: {advice}, or put it in quotes to find it as written",
                position=text.position,
            )


def _without_value(field: _Field) -> BadQuery:
    return BadQuery(
        f"'{field.name}:' at position {field.position} has no value; a value that holds a colon needs quotes",
        position=field.position,
    )
