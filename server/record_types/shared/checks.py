"""Texts that a layer above understands, such as scripts. That layer says how they are checked, and nothing is saved
with a mistake.

A record type names such fields and the kind of their text in `checked`: script, policy, or event (a binding)."""

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from server.errors import Invalid

if TYPE_CHECKING:
    from server.record_types.parts import Change

MAX_TOLD = 3  # mistakes that an error names; the rest is counted
MAX_KEPT = 32  # texts whose mistakes are remembered: from before a write until it asks for them, and for lists

Mistakes = list[tuple[int, str]]  # line from 1, what is wrong there
Check = Callable[[str], Mistakes]
_CHECKS: dict[str, Check] = {}


def register(kind: str, check: Check) -> None:
    """Let texts of a kind be checked by this from now on."""
    _CHECKS[kind] = check
    mistakes.cache_clear()


def precompute(checked: Mapping[str, str], fields: Mapping[str, Any]) -> None:
    """Work out the mistakes of sent texts on the caller's thread, so that the one writer finds them ready."""
    for name, kind in checked.items():
        text = fields.get(name)
        if text and isinstance(text, str):
            mistakes(kind, text)


def require(change: "Change") -> None:
    """Refuse new texts with mistakes; blank ones are none. Raises Invalid naming field, lines and reasons."""
    for name, kind in change.type.checked.items():
        if name not in change.new or not change.new[name] or not change.changes(name):
            continue
        found = mistakes(kind, change.new[name])
        if found:
            told = "; ".join(f"line {line}: {reason}" for line, reason in found[:MAX_TOLD])
            more = f"; and {len(found) - MAX_TOLD} more" if len(found) > MAX_TOLD else ""
            raise Invalid(f"{name}: {told}{more}", field=name, line=found[0][0])


@functools.lru_cache(maxsize=MAX_KEPT)
def mistakes(kind: str, text: str) -> Mistakes:
    """What is wrong with a text of a kind; nothing for a kind that nobody checks. The answer is not to be changed."""
    return _CHECKS[kind](text) if kind in _CHECKS else []
