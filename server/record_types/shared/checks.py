"""Checks of texts that only an upper layer understands, such as scripts. The upper layer registers the check; texts
with mistakes are not saved.

A record type lists such fields and the kind of their text in `checked`: script, policy, event (a binding), toolbar."""

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from server.errors import Invalid

if TYPE_CHECKING:
    from server.record_types.parts import Change

MAX_TOLD = 3  # mistakes listed in an error; the others are counted
MAX_KEPT = 32  # cached texts: a check takes up to 160 microseconds, and runs before a write, inside it and in lists

Mistakes = list[tuple[int, str]]  # (line from 1, reason)
Check = Callable[[str], Mistakes]
_CHECKS: dict[str, Check] = {}


def register(kind: str, check: Check) -> None:
    """Registers the check for texts of a kind."""
    _CHECKS[kind] = check
    mistakes.cache_clear()


def precompute(checked: Mapping[str, str], fields: Mapping[str, Any]) -> None:
    """Checks submitted texts on the caller's thread, so that the writer finds the results in the cache."""
    for name, kind in checked.items():
        text = fields.get(name)
        if text and isinstance(text, str):
            mistakes(kind, text)


def require(change: "Change") -> None:
    """Raises Invalid for changed texts with mistakes, naming field, lines and reasons; blank texts are valid."""
    for name, kind in change.type.checked.items():
        if name not in change.new or not change.new[name] or not change.changes(name):
            continue
        reasons = mistakes(kind, change.new[name])
        if reasons:
            text = "; ".join(f"line {line}: {reason}" for line, reason in reasons[:MAX_TOLD])
            more = f"; and {len(reasons) - MAX_TOLD} more" if len(reasons) > MAX_TOLD else ""
            raise Invalid(f"{name}: {text}{more}", field=name, line=reasons[0][0])


@functools.lru_cache(maxsize=MAX_KEPT)
def mistakes(kind: str, text: str) -> Mistakes:
    """The mistakes of a text of a kind; [] for a kind without a check. Cached: callers must not modify the list."""
    return _CHECKS[kind](text) if kind in _CHECKS else []
