"""Composes statements again during tests and compares them with the cached statement of the same shape: a shape with
two texts fails the test that meets the second text.

A shape is checked the second time that it occurs, and then each time its count has doubled: checking every statement
would take longer than the tests."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from server.store.statement_shapes import Builder, KeyedBuilder, code_of
from server.store.statements import Fragment, Statement, StatementCache

MAX_COMPARED = 100_000  # characters; most of the time of the largest searches is spent on composing them


_state = threading.local()
# Occurrences of each statement of a cache, by its identity.
_met: WeakKeyDictionary[StatementCache[Any], dict[int, int]] = WeakKeyDictionary()


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
        of_cache = _met.setdefault(cache, {})
        met = of_cache[id(kept)] = of_cache.get(id(kept), 0) + 1
        place = f"{code_of(build).co_filename}:{code_of(build).co_firstlineno}"
        if met == 1:
            _require_no_values(build, kept, place)
        if len(kept.sql) > MAX_COMPARED or met == 1 or met & (met - 1):
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
