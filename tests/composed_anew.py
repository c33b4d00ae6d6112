"""Every statement that a test runs is composed anew and compared with the one that is kept under its shape: a shape
that stands for two texts fails the test that meets the second."""

import threading
from typing import Any

from server.store.shapes import Builder, Keyed, code_of
from server.store.statements import Fragment, Statement, StatementCache

MAX_COMPARED = 100_000  # characters; the largest searches take most of their time to be composed

_state = threading.local()


def composed_anew() -> None:
    """Compare from now on."""
    StatementCache.get = _compared(StatementCache.get)  # type: ignore[method-assign]


def _compared(get: Any) -> Any:
    def compared(cache: StatementCache[Any], build: Builder) -> Any:
        if getattr(_state, "is_anew", False):  # nothing that is kept stands in what is composed anew
            return cache._compose(build())
        kept = get(cache, build)
        if len(kept.sql) > MAX_COMPARED:
            return kept
        _state.is_anew = True
        try:
            fresh = cache._compose(build())
        finally:
            _state.is_anew = False
        place = f"{code_of(build).co_filename}:{code_of(build).co_firstlineno}"
        assert _text(kept) == _text(fresh), f"one shape, two texts, at {place}: {_text(kept)} and {_text(fresh)}"
        _require_no_values(build, kept, place)
        return kept

    return compared


def _require_no_values(build: Builder, statement: Statement | Fragment, place: str) -> None:
    """A text that a builder closes over names something; as a value of the statement it has a slot, else each value
    makes a statement of its own."""
    if isinstance(build, Keyed) or not isinstance(statement, Statement):
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
