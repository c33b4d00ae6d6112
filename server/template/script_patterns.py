"""Regular expressions of scripts: between delimiters, followed by flags. RE2 runs them, in linear time."""

import functools
from collections.abc import Iterator
from typing import Any

from server.errors import BudgetSpent, TemplateFailed
from server.template.budget import Budget
from server.template.values import at

MAX_PATTERN_CHARS = 10_000
MAX_CACHED = 128  # compiled patterns; compiling one takes 10 microseconds, three times a step of a loop
MAX_PATTERN_BYTES = 2 * 1024 * 1024  # memory of a compiled pattern
MAX_WORK = 500_000_000  # instructions of a pattern times characters of a text; at most 4 ns each
WORK_A_STEP = 1000
PAIRED = {"(": ")", "[": "]", "{": "}", "<": ">"}
FLAGS = {"i": "i", "m": "m", "s": "s", "u": "", "U": "U", "D": ""}


def compiled(pattern: str, line: int = 0) -> Any:
    """Returns the compiled pattern of a text such as `/^a/i`. Raises TemplateFailed for an invalid one."""
    try:
        return _compiled(pattern)
    except TemplateFailed as error:
        raise TemplateFailed(error.message, **at(line)) from None


def search(budget: Budget, pattern: Any, text: str) -> Any:
    """Returns the first match of a compiled pattern, or None. Raises BudgetSpent for too much work."""
    _charge(budget, pattern, text)
    try:
        return pattern.search(text)
    except UnicodeEncodeError:
        raise _no_text() from None


def matches(budget: Budget, pattern: Any, text: str) -> Iterator[Any]:
    """Yields all matches of a compiled pattern. Each step may scan the rest of the text. Raises BudgetSpent."""
    _charge(budget, pattern, text)
    try:
        for match in pattern.finditer(text):
            budget.step()
            budget.check_time()
            yield match
    except UnicodeEncodeError:
        raise _no_text() from None


def _no_text() -> TemplateFailed:
    return TemplateFailed("bytes that are not text cannot be searched with a pattern; encode them first")


def _charge(budget: Budget, pattern: Any, text: str) -> None:
    work = len(text) * int(pattern.programsize)
    if work > MAX_WORK:
        raise BudgetSpent(f"the pattern is too large for a text of {len(text):,} characters; shorten one of them")
    budget.step(work // WORK_A_STEP)


@functools.lru_cache(maxsize=MAX_CACHED)
def _compiled(pattern: str) -> Any:
    excerpt = pattern[:80]
    if len(pattern) > MAX_PATTERN_CHARS:
        raise TemplateFailed(f"a pattern has at most {MAX_PATTERN_CHARS:,} characters")
    pattern = pattern.lstrip()
    if not pattern or pattern[0].isalnum() or pattern[0] == "\\":
        raise TemplateFailed(f"the pattern '{excerpt}' needs delimiters, such as /{excerpt}/")
    import re2  # imported late: a large C++ library, which few of the first requests need

    end = pattern.rfind(PAIRED.get(pattern[0], pattern[0]))
    if end < 1:
        raise TemplateFailed(f"the pattern '{excerpt}' has no closing delimiter")
    flags = pattern[end + 1 :].strip()
    unknown = [flag for flag in flags if flag not in FLAGS and flag != "x"]
    if unknown:
        raise TemplateFailed(f"the pattern '{excerpt}' has the flag {unknown[0]}; there are i, m, s, u and x")
    body = pattern[1:end]
    if "x" in flags:
        body = _without_blanks(body)
    inline = "".join(FLAGS.get(flag, "") for flag in flags)
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_PATTERN_BYTES
    try:
        return re2.compile(f"(?{inline}){body}" if inline else body, options)
    except UnicodeEncodeError:
        raise _no_text() from None
    except re2.error as error:
        reason = str(error).strip("b'\"")[:200]
        raise TemplateFailed(f"the pattern '{excerpt}' cannot be used: {reason}") from None


def _without_blanks(body: str) -> str:
    """Removes the blanks and comments that the flag x allows."""
    chars, place, in_class = [], 0, False
    while place < len(body):
        char = body[place]
        if char == "\\":
            chars.append(body[place : place + 2])
            place += 2
            continue
        in_class = char == "[" or (in_class and char != "]")
        if char == "#" and not in_class:
            place = (body.find("\n", place) + 1) or len(body)
            continue
        if in_class or not char.isspace():
            chars.append(char)
        place += 1
    return "".join(chars)
