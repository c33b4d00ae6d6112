"""The findings of the check-up, and the type of slow lookups."""

from collections.abc import Callable, Hashable
from typing import Literal

from server.dataclass import dataclass
from server.translation import Words

State = Literal["ok", "warning", "problem"]
Look = Callable[[], str]  # returns the problem, "" for none; may be slow
# Called with (subject, lookup); returns the result of the lookup, or a cached one, None if it is not known.
Ask = Callable[[Hashable, Look], str | None]


@dataclass(frozen=True)
class Finding:
    """A finding about a part. Texts with values come from lazy_gettext. advice: what to do, "" if there is no
    problem."""

    part: Words
    state: State
    found: Words
    advice: Words = ""


def at_once(what: Hashable, look: Look) -> str:
    """Runs the lookup immediately, however long it takes."""
    return look()
