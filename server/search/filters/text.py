"""Filters on text columns: a word anywhere, at the beginning, or the whole; quotes and wildcards as written."""

from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

import peewee

from server.errors import Invalid
from server.search.ast import SearchValue, Subquery, Term
from server.search.conditions import At, Condition, all_of, compared, equals
from server.search.filters.base import Filter, is_null
from server.search.values import is_wildcard, like_pattern
from server.store.dialect import fold
from server.store.peewee_parts import column_name

if TYPE_CHECKING:
    from server.search.compile import SearchScope

Match = Literal["exact", "prefix", "partial"]
LITERALS = ("exact", "begins")
LAST_CHARACTER = "\U0010ffff"  # sorts behind every other


class TextFilter(Filter):
    """`match` tells how an unquoted value without wildcards is compared. Case does not matter."""

    type = "text"

    def __init__(self, name: str, note: str, column: str = "", match: Match = "partial", **options: Any) -> None:
        super().__init__(name, note, column, **options)
        self.match = match

    def meaning(self, term: Term, scope: "SearchScope") -> Condition:
        if isinstance(term.value, Subquery):
            return literal(self.column, term.value)
        return super().meaning(term, scope)

    def one(self, text: SearchValue, scope: "SearchScope") -> Condition:
        return text_condition(self.column, text, self.match)

    def item(self, text: SearchValue, scope: "SearchScope") -> Condition:
        return text_condition(self.column, text, "exact")

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"match": self.match}


class AllWords(TextFilter):
    """The default filter of a type without a full-text index: every bare word must occur."""

    def __init__(self, note: str, column: str, match: Match = "partial") -> None:
        super().__init__("text", note, column, match, default=True, sortable=False)


def text_condition(column: Any, text: SearchValue, match: Match) -> Condition:
    """How `column` compares with one value of a text filter."""
    value = text.value
    if is_null(text):
        return equals(column, "")
    if is_wildcard(value):
        start = value[:-1]
        if value.endswith("*") and start and start.isascii() and not is_wildcard(start):
            return begins(column, start)
        return like(column, like_pattern(value))
    if text.quoted or match == "exact":
        return like(column, like_pattern(value)) if not value.isascii() else equals(column, value)
    pattern = like_pattern(value)
    if match == "partial":
        return like(column, f"%{pattern}%")
    return begins(column, value) if value.isascii() else like(column, pattern + "%")


def literal(column: Any, query: Subquery) -> Condition:
    """`name:(exact:"...")` and `name:(begins:"...")`: no character has a meaning, and `%22` stands for a quote.

    For what quotes alone cannot hold, since there is no escape character. Raises Invalid. Source: ours."""
    child = query.root.children[0] if len(query.root.children) == 1 else None
    if (
        not isinstance(child, Term)
        or child.negated
        or child.field not in LITERALS
        or not isinstance(child.value, SearchValue)
    ):
        raise Invalid('in parentheses a text takes exact:"..." or begins:"...", where %22 stands for a quote')
    value = unquote(child.value.value)
    if child.field == "exact" and value.isascii():
        return equals(column, value)
    if value.isascii():
        return begins(column, value)
    return like(column, like_pattern(value, has_wildcards=False) + ("%" if child.field == "begins" else ""))


def begins(column: Any, start: str) -> Condition:
    """`column` begins with an ASCII text; as a range, so that an index serves it. Case does not matter."""
    return all_of([compared(column, ">=", start), compared(column, "<", start + LAST_CHARACTER)])


def like(column: Any, pattern: str) -> Condition:
    """`column` matches a LIKE pattern with `\\` as its escape character; case does not matter, beyond ASCII either."""
    folded = not pattern.isascii()

    def build(at: At) -> Any:
        left = peewee.fn.fold(column) if folded else column
        return peewee.NodeList((left, peewee.SQL("LIKE"), at(0), peewee.SQL("ESCAPE '\\'")), parens=True)

    value = fold(pattern) if folded else pattern
    return Condition(("like", column_name(column), folded), (value,), build, frozenset((column.name,)))
