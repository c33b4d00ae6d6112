"""Patterns that are compiled when they are first used. The standard library compiles each where it is declared: a
hundred microseconds, ten times that for one with many words or letters, and a process uses few of them before its first
answer. For those that are large; a small one is declared with re.compile."""

import re
from typing import TYPE_CHECKING, Any, AnyStr

METHODS = (
    "search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn", "scanner", "pattern", "flags",
    "groups", "groupindex",
)  # fmt: skip


class _LatePattern:
    """Has what a pattern has, from its first use on as attributes of its own: then it is as fast as one."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._given: Any = source, flags

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(name)
        compiled = re.compile(*self._given)
        vars(self).update({each: getattr(compiled, each) for each in METHODS})
        return vars(self)[name]

    def __repr__(self) -> str:
        return f"late_pattern({self._given[0]!r})"


if TYPE_CHECKING:

    def late_pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]: ...

else:

    def late_pattern(source, flags=0):
        """As re.compile. A mistake in it is told by its first use; tests/test_first_answer.py uses all.

        >>> word = late_pattern("[a-z]+")
        >>> word.fullmatch("abc")[0], word.pattern, word.sub("-", "a b")
        ('abc', '[a-z]+', '- -')
        """
        return _LatePattern(source, flags)
