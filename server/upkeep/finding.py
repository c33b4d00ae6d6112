"""What is found of one part of a service, and how it is looked for."""

from collections.abc import Callable, Hashable
from typing import Literal

from server.dataclass import dataclass
from server.translation import Words

State = Literal["ok", "warning", "problem"]
Look = Callable[[], str]  # what is wrong, "" for nothing; it may take long
# Answers what a look finds, or found before: (what is looked at, the look). None when that is not known.
Ask = Callable[[Hashable, Look], str | None]


@dataclass(frozen=True)
class Finding:
    """What was found of one part; texts made of values are made by lazy_gettext. advice: what to do, "" where all is
    well."""

    part: Words
    state: State
    found: Words
    advice: Words = ""


def at_once(what: Hashable, look: Look) -> str:
    """Look now, however long it takes."""
    return look()
