"""Patterns of times that come again, such as `0 9 * * mon-fri`: whether they can be read. Pure; when they are met next
is not worked out here."""

import re
from dataclasses import dataclass

from server.errors import Invalid

ALIASES = frozenset(("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"))
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_PART = re.compile(r"(?:\*|([a-z]{3}|[0-9]{1,2})(?:-([a-z]{3}|[0-9]{1,2}))?)(?:/([0-9]{1,2}))?\Z")


@dataclass(frozen=True)
class _Field:
    """One of the five. words: names that stand for numbers, from `first` on. special: further forms of a part."""

    name: str
    low: int
    high: int
    words: tuple[str, ...] = ()
    first: int = 0
    special: str = r"(?!)"

    def number(self, text: str) -> int:
        """The number of a part. Raises ValueError."""
        value = int(text) if text.isdigit() else self.words.index(text) + self.first
        if not self.low <= value <= self.high:
            raise ValueError
        return value

    def reads(self, part: str) -> bool:
        """Whether this is one part of the field, such as `*/15`, `1-5` or `mon`."""
        if re.fullmatch(self.special, part):
            return True
        match = _PART.match(part)
        if not match:
            return False
        try:
            numbers = [self.number(text) for text in match.groups()[:2] if text]
        except ValueError:
            return False
        return match[3] != "0" and match[3] != "00" and numbers == sorted(numbers)


FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31, special=r"l|lw|([1-9]|[12][0-9]|3[01])w"),
    _Field("month", 1, 12, MONTHS, 1),
    _Field("day of week", 0, 7, WEEKDAYS, special=r"([0-7]|sun|mon|tue|wed|thu|fri|sat)(l|#[1-5])"),
)


def check(text: str, field: str) -> None:
    """Raises Invalid that names `field` and the first line that is no pattern; blank lines and comments are fine."""
    for number, line in enumerate(text.splitlines(), start=1):
        pattern = line.strip().lower()
        if pattern and not pattern.startswith("#") and pattern not in ALIASES:
            problem = _problem(pattern.split())
            if problem:
                raise Invalid(f"{field}: line {number}: {problem}", field=field)


def _problem(words: list[str]) -> str:
    if len(words) != len(FIELDS):
        return (
            f"a pattern has {len(FIELDS)} parts, such as '0 9 * * mon-fri', or is one of {', '.join(sorted(ALIASES))}"
        )
    for each, word in zip(FIELDS, words, strict=True):
        for part in word.split(","):
            if not each.reads(part):
                return f"'{part[:50]}' is no {each.name}"
    return ""
