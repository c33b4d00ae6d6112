"""A script with its input and the expected end of its run."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from server.automation.host import Script

ALLOW = "commands:\n  all:\n    allow: yes"
MISSING = object()  # an input that is not sent
FAILS = object()  # expected in place of a value


class _Any:
    """Equal to every value of one kind, for values that a case leaves open."""

    def __init__(self, *types: type) -> None:
        self.types = types

    def __repr__(self) -> str:
        return f"any {self.types[0].__name__}"


TEXT, TIME = _Any(str), _Any(int)


@dataclass(frozen=True)
class Whole:
    """The whole map of the input or the result; otherwise a case states the value of its single key `v`."""

    value: dict[str, Any]


@dataclass(frozen=True)
class Case:
    """given: the dictionary before the run. values: the dictionary afterwards, without internal keys of the engine;
    ignored after a failure. log: [(level, node, message)], without the final entry of a failure. message: of a
    failure, "" for any."""

    name: str
    text: str
    given: dict[str, Any] = field(default_factory=dict)
    policy: str = ""
    functions: Mapping[str, Script] = field(default_factory=dict)
    state: str = "return"
    returned: Any = None
    values: dict[str, Any] = field(default_factory=dict)
    log: list[tuple[Any, ...]] = field(default_factory=list)
    message: str = ""

    @property
    def script(self) -> str:
        return textwrap.dedent(self.text).strip("\n") if self.text.startswith("\n") else self.text


def same(expected: Any, found: Any) -> bool:
    """Returns whether a value is the expected one. Empty lists and maps are equal, since only their use
    distinguishes them."""
    if isinstance(expected, _Any):
        return isinstance(found, expected.types) and found != ""
    if expected in ([], {}) and found in ([], {}):
        return True
    if isinstance(expected, dict) and isinstance(found, dict):
        return set(expected) == set(found) and all(same(value, found[key]) for key, value in expected.items())
    if isinstance(expected, (list, tuple)) and isinstance(found, (list, tuple)):
        return len(expected) == len(found) and all(map(same, expected, found))
    return isinstance(expected, bool) == isinstance(found, bool) and bool(expected == found)
