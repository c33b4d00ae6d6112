"""Names of what happens to records, `ticket.created` and the like, and patterns of them."""

import re
from collections.abc import Iterable

from server.errors import Invalid, nearest

EVENTS = ("created", "updated", "deleted")
ANY = "*"
MAX_EVENTS = 100
_BETWEEN = re.compile(r"[\s,]+")


def split(text: str) -> list[str]:
    """The patterns of a text, in their order.

    >>> split("ticket.created, message.*\\n*")
    ['ticket.created', 'message.*', '*']
    """
    return list(dict.fromkeys(each for each in _BETWEEN.split(text.strip()) if each))


def matches(patterns: Iterable[str], uri: str, event: str, *, is_named_only: bool = False) -> bool:
    """Whether one of the patterns stands for this event. is_named_only: whether `*` does not stand for the type.

    >>> matches(["ticket.*"], "ticket", "updated"), matches(["*.deleted"], "org", "deleted"), matches(["*"], "org", "x")
    (True, True, True)
    >>> matches(["ticket.created"], "ticket", "updated"), matches(["*"], "mailbox", "created", is_named_only=True)
    (False, False)
    """
    accepted = {f"{uri}.{event}", f"{uri}.{ANY}"} | (set() if is_named_only else {ANY, f"{ANY}.{event}"})
    return not accepted.isdisjoint(patterns)


def types_of(patterns: Iterable[str]) -> set[str]:
    """The record types that patterns name, `*` for any.

    >>> sorted(types_of(["ticket.created", "*.deleted", "*"]))
    ['*', 'ticket']
    """
    return {each.partition(".")[0] for each in patterns}


def require_known(text: str, uris: Iterable[str]) -> list[str]:
    """The patterns in a text. Raises Invalid for one that matches no event. uris: the types in the change log."""
    patterns, types = split(text), sorted(uris)
    if not patterns:
        raise Invalid("events is required: send events such as ticket.created, ticket.* or *", field="events")
    if len(patterns) > MAX_EVENTS:
        raise Invalid(f"events: at most {MAX_EVENTS}, these are {len(patterns)}", field="events")
    for each in patterns:
        uri, dot, event = each.partition(".")
        if each == ANY:
            continue
        if not dot or event not in (*EVENTS, ANY):
            raise Invalid(
                f"events: '{each[:80]}' is not <type>.created, <type>.updated, <type>.deleted or <type>.*",
                field="events",
            )
        if uri != ANY and uri not in types:
            raise Invalid(f"events: there are no events of '{uri[:80]}'{nearest(uri, types)}", field="events")
    return patterns
