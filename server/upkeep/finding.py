"""Findings about parts of a service, and how they are looked up."""

from collections.abc import Callable, Hashable
from typing import Literal

from server.dataclass import dataclass
from server.translation import Words

State = Literal["ok", "warning", "problem"]
Look = Callable[[], str]  # what is wrong, "" for nothing; it may take long
# Returns the result of a lookup, or a cached one: (subject, lookup). None if it is not known.
Ask = Callable[[Hashable, Look], str | None]


@dataclass(frozen=True)
class Finding:
    """A finding about a part. Texts with values are made by lazy_gettext. advice: what to do, "" if there is no
    problem."""

    part: Words
    state: State
    found: Words
    advice: Words = ""


def at_once(what: Hashable, look: Look) -> str:
    """Looks now, however long it takes."""
    return look()
