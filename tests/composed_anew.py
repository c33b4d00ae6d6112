"""Statements that tests run are composed anew and compared with what is kept under their shape: a shape that stands for
two texts fails the test that meets the second.

Of each shape that is the case when it is met for the second time, and then each time that it was met twice as often:
all of them would take longer than the tests."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from server.store.statement_shapes import Builder, KeyedBuilder, code_of
from server.store.statements import Fragment, Statement, StatementCache

MAX_COMPARED = 100_000  # characters; the largest searches take most of their time to be composed


_state = threading.local()
# How often each statement of a cache was met, by its identity.
_met: WeakKeyDictionary[StatementCache[Any], dict[int, int]] = WeakKeyDictionary()


def composed_anew() -> None:
    """Compare from now on."""
    StatementCache.get = _compared(StatementCache.get)  # type: ignore[method-assign]


@contextmanager
def uncompared() -> Iterator[None]:
    """Inside, this thread composes nothing but what the service does, and what it meets does not count."""
    _state.is_off = True
    try:
        yield
    finally:
        _state.is_off = False


def _compared(get: Any) -> Any:
    def compared(cache: StatementCache[Any], build: Builder) -> Any:
        if getattr(_state, "is_anew", False):  # nothing that is kept stands in what is composed anew
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
    """A text that a builder closes over names something; as a value of the statement it has a slot, else each value
    makes a statement of its own."""
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
