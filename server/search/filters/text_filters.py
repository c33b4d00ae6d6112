"""Filters on text columns: a word anywhere, at the start, or the whole text; literally with quotes, or with
wildcards."""

import itertools
import re
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

import peewee

from server.errors import Invalid
from server.search.ast import SearchValue, Subquery, Term
from server.search.conditions import At, Condition, any_of, equals
from server.search.filters.filter import Filter, is_null
from server.search.values import is_wildcard, like_pattern
from server.store.collation import base_language
from server.store.expressions import by_bytes, compared_in_ascii, sort_text
from server.store.peewee_parts import column_name

if TYPE_CHECKING:
    from server.search.compile import SearchScope

Match = Literal["exact", "prefix", "partial"]
LITERALS = ("exact", "begins")
LAST_CHARACTER = "\U0010ffff"  # sorts after every other character
MAX_COLLATED = 200_000  # records of a type; each text beyond ASCII takes 3 microseconds
MAX_DOUBLE_S = 2  # occurrences in a value; each doubles the number of comparisons
_DOUBLE_S = re.compile("(ss)", re.IGNORECASE)


class TextFilter(Filter):
    """match: the comparison for an unquoted value without wildcards. Ignores case."""

    type = "text"

    def __init__(
        self,
        name: str,
        note: str,
        column: str = "",
        match: Match = "partial",
        *,
        is_prose: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(name, note, column, **options)
        self.match = match
        self.is_prose = is_prose  # natural language, sorted alphabetically, rather than addresses and identifiers

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

    def sort_keys(self, scope: "SearchScope") -> list[tuple[Any, bool]]:
        if not self._is_collated(scope):
            return super().sort_keys(scope)
        text = sort_text(self.column, base_language(scope.language))
        # Then unaccented before accented, lower case before upper case.
        return [(text, False), (peewee.fn.OCTET_LENGTH(self.column), False), (by_bytes(self.column), True)]

    def sort_key(self, scope: "SearchScope") -> Hashable:
        return self._is_collated(scope) and (base_language(scope.language), self.order_key(scope))

    def _is_collated(self, scope: "SearchScope") -> bool:
        """Whether texts are sorted alphabetically for a language; not in a large table, because computing the key of
        each row is slow."""
        if not self.is_prose:
            return False
        is_small = scope.memo.get(("collated", self.table.name))
        if is_small is None:
            is_small = scope.memo["collated", self.table.name] = self._top_id(scope) <= MAX_COLLATED
        return bool(is_small)

    def _top_id(self, scope: "SearchScope") -> int:
        table = self.table.sql
        return int(scope.tx.value(lambda: table.select(peewee.fn.MAX(table.id))) or 0)


class AllWords(TextFilter):
    """The default filter of a type without a full-text index: every bare word must occur."""

    def __init__(self, note: str, column: str, match: Match = "partial") -> None:
        super().__init__("text", note, column, match, default=True, sortable=False)


def text_condition(column: Any, text: SearchValue, match: Match) -> Condition:
    """Returns the comparison of `column` with one value of a text filter."""
    value = text.value
    if is_null(text):
        return equals(column, "")
    if is_wildcard(value):
        start = value[:-1]
        if value.endswith("*") and start and start.isascii() and not is_wildcard(start):
            return begins(column, start)
        return like(column, like_pattern(value))
    if text.quoted or match == "exact":
        return is_text(column, value)
    pattern = like_pattern(value)
    if match == "partial":
        return like(column, f"%{pattern}%")
    return begins(column, value) if value.isascii() else like(column, pattern + "%")


def literal(column: Any, query: Subquery) -> Condition:
    """Compiles `name:(exact:"...")` and `name:(begins:"...")`, which have no special characters; `%22` is a quote.

    For values that cannot be quoted, because there is no escape character. Raises Invalid."""
    child = query.root.children[0] if len(query.root.children) == 1 else None
    if (
        not isinstance(child, Term)
        or child.negated
        or child.field not in LITERALS
        or not isinstance(child.value, SearchValue)
    ):
        raise Invalid('in parentheses a text takes exact:"..." or begins:"...", where %22 stands for a quote')
    value = unquote(child.value.value)
    if child.field == "exact":
        return is_text(column, value)
    if value.isascii():
        return begins(column, value)
    return like(column, like_pattern(value, has_wildcards=False) + "%")


def is_text(column: Any, value: str) -> Condition:
    """Matches this text in any case. ASCII uses an index; other text is compared by Unicode case folding."""
    if not value.isascii():
        return like(column, like_pattern(value, has_wildcards=False))
    return any_of([_in_ascii(column, ("=",), (each,)) for each in spellings(value)])


def begins(column: Any, start: str) -> Condition:
    """Matches texts that start with an ASCII text, in any case; as a range, which can use an index."""
    return any_of([_in_ascii(column, (">=", "<"), (each, each + LAST_CHARACTER)) for each in spellings(start)])


def _in_ascii(column: Any, operators: tuple[str, ...], values: tuple[str, ...]) -> Condition:
    return Condition(
        ("in ascii", column_name(column), operators),
        values,
        lambda at: compared_in_ascii(column, [(each, at(place)) for place, each in enumerate(operators)]),
        frozenset((column.name,)),
    )


def like(column: Any, pattern: str) -> Condition:
    """Matches a LIKE pattern with `\\` as its escape character, in any case.

    The store folds column and pattern with the same function, full Unicode case folding."""
    if pattern.isascii():
        return any_of([_matches(column, each, is_folded=False) for each in spellings(pattern)])
    return _matches(column, pattern, is_folded=True)


def _matches(column: Any, pattern: str, *, is_folded: bool) -> Condition:
    def build(at: At) -> Any:
        operand, bound_pattern = (peewee.fn.fold(column), peewee.fn.fold(at(0))) if is_folded else (column, at(0))
        return peewee.NodeList((operand, peewee.SQL("LIKE"), bound_pattern, peewee.SQL("ESCAPE '\\'")), parens=True)

    return Condition(("like", column_name(column), is_folded), (pattern,), build, frozenset((column.name,)))


def spellings(value: str) -> list[str]:
    """Returns an ASCII text and its variants with ß for ss, the only letter that people write both ways and that folds
    to ASCII.

    >>> spellings("Hauptstrasse"), spellings("pump")
    (['Hauptstrasse', 'Hauptstraße'], ['pump'])
    """
    parts = _DOUBLE_S.split(value)
    if not 3 <= len(parts) <= 2 * MAX_DOUBLE_S + 1:
        return [value]
    choices = [(part, "ß") if place % 2 else (part,) for place, part in enumerate(parts)]
    return ["".join(each) for each in itertools.product(*choices)]
