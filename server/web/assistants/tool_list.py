"""The list of all tools, and the record types that the scopes of a token allow them to read."""

from functools import cache, lru_cache

from server.record_types.shared.assistant_scopes import NOTES, path_of
from server.record_types.shared.scopes import MAX_KEPT, Scope, allowed
from server.web.assistants import changing_tools, lookups, reading_tools  # noqa: F401  (they declare the tools)
from server.web.assistants.tool_declarations import TOOLS, Tool

ORDER = ("search", "read", "list", "draft", "add", "set", "send", "run")  # verbs with which the names begin


@cache
def load() -> dict[str, Tool]:
    """Returns all tools by name, in the order of the list."""
    names = sorted(TOOLS, key=lambda name: (ORDER.index(name.partition("_")[0]), name))
    return {name: TOOLS[name] for name in names}


@lru_cache(maxsize=MAX_KEPT)
def readable(scopes: tuple[Scope, ...]) -> frozenset[str]:
    """Returns the record types that the tools which these scopes allow may read."""
    types = (each.reads for each in load().values() if allowed(scopes, "POST", path_of(each.name)))
    notes = frozenset({"comment"}) if allowed(scopes, "POST", path_of(NOTES)) else frozenset[str]()
    return frozenset[str]().union(notes, *types)
