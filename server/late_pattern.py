"""Compiles regular expressions on first use, for large patterns and for the modules that read every mail: a process
needs few of them before its first response. Other modules use re.compile.

Compiled at import, the 240 patterns would take 110 ms, an eighth of the processor time of a start."""

import re
from typing import TYPE_CHECKING, Any, AnyStr

METHODS = (
    "search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn", "scanner", "pattern", "flags",
    "groups", "groupindex",
)  # fmt: skip


class _LatePattern:
    """A pattern that compiles itself on first use and then has the attributes of the compiled one, at full speed."""

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
        """Returns a pattern as re.compile, compiled on first use. Mistakes show then; tests/test_first_answer.py uses
        all patterns.

        >>> word = late_pattern("[a-z]+")
        >>> word.fullmatch("abc")[0], word.pattern, word.sub("-", "a b")
        ('abc', '[a-z]+', '- -')
        """
        return _LatePattern(source, flags)
