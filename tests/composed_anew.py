"""Composes statements again during tests and compares them with the cached statement of the same shape: a shape with
two texts fails the test that meets the second text.

A statement is checked the first times that it comes from a cache in the process, whichever cache that is, and then each
time its count has doubled: checking every statement would take longer than the tests."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from server.store.statement_shapes import Builder, KeyedBuilder, code_of
from server.store.statements import Fragment, Statement, StatementCache

MAX_COMPARED = 100_000  # characters; most of the time of the largest searches is spent on composing them
FIRST = 4  # occurrences of a statement that are all checked, besides the very first, which has just been composed


_state = threading.local()
_counts: dict[tuple[int, str], int] = {}  # {(id of the code that builds the statement, its text): occurrences}


def composed_anew() -> None:
    """Compares every statement composed from now on."""
    StatementCache.get = _compared(StatementCache.get)  # type: ignore[method-assign]


@contextmanager
def uncompared() -> Iterator[None]:
    """Inside, this thread only composes what the service needs, and nothing is counted or compared."""
    _state.is_off = True
    try:
        yield
    finally:
        _state.is_off = False


def _compared(get: Any) -> Any:
    def compared(cache: StatementCache[Any], build: Builder) -> Any:
        if getattr(_state, "is_anew", False):  # a cached statement must not be reused in the second composition
            return cache._compose(build())
        kept = get(cache, build)
        if getattr(_state, "is_off", False):
            return kept
        code = code_of(build)
        key = (id(code), kept.sql)
        count = _counts[key] = _counts.get(key, 0) + 1
        place = f"{code.co_filename}:{code.co_firstlineno}"
        if count == 1:
            _require_no_values(build, kept, place)
            return kept
        if len(kept.sql) > MAX_COMPARED or (count > FIRST and count & (count - 1)):
            return kept
        _state.is_anew = True
        try:
            fresh = cache._compose(build())
        finally:
            _state.is_anew = False
        assert _text(kept) == _text(fresh), f"one shape, two texts, at {place}: {_text(kept)} and {_text(fresh)}"
        return kept

    return compared


def _require_no_values(build: Builder, statement: Statement | Fragment, place: str) -> None:
    """A text in a closure must name something; a value has a slot in the statement, otherwise each value would create
    another statement."""
    if isinstance(build, KeyedBuilder) or not isinstance(statement, Statement):
        return
    fixed = {item for is_slot, item in statement._order if not is_slot} - {""}
    names = [cell.cell_contents for cell in getattr(build, "__closure__", None) or ()]
    odd = fixed.intersection(each for each in names if isinstance(each, str))
    assert not odd, f"a value of the statement that has no slot, at {place}: {odd}"


def _text(statement: Statement | Fragment) -> Any:
    if isinstance(statement, Statement):
        return statement.sql, statement._order
    first, rest = statement._pieces
    return first, [(getattr(value, "index", value), text) for value, text in rest]
