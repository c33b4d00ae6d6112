"""The scopes of assistants: which tools of /mcp a token may call.

A tool is allowed like an endpoint, by the path `mcp/<name>`. So a scope with `*` covers all tools, and any app may
request the narrower scopes of this list that its own scopes cover."""

import functools
from collections.abc import Mapping

from server.record_types.shared.scopes import MAX_KEPT, METHODS, EndpointPattern, Scope, allowed, parse
from server.translation import N_

FOLDER = "mcp/"
READ, ARTICLES, DRAFT, SEND = "mcp:read", "mcp:articles", "mcp:draft", "mcp:send"
NOTES = "notes"  # stands for the notes in the result of read_ticket
DEFAULT = (READ, ARTICLES, DRAFT)  # requested by a client that has no token yet; nothing of it reaches a customer
SCOPES = (
    (
        READ,
        N_("Search and read tickets, customers and organizations, without notes"),
        ("search_tickets", "read_ticket", "search_records", "read_record", "list_*"),
    ),
    ("mcp:notes", N_("Read the notes on tickets"), (NOTES,)),
    ("mcp:write_notes", N_("Write notes on tickets"), ("add_note",)),
    (DRAFT, N_("Write drafts of replies, which a person sends"), ("draft_reply",)),
    (SEND, N_("Send replies to customers"), ("send_reply",)),
    ("mcp:change", N_("Change status, owner, group, tags and fields of tickets"), ("set_ticket_fields",)),
    ("mcp:macros", N_("Run macros, with everything that their commands do"), ("run_macro",)),
    ("mcp:data", N_("Run data queries over everything that you may read"), ("run_data_query",)),
    (ARTICLES, N_("Search and read articles"), ("search_articles", "read_article")),
)  # id, label, and the tools that it allows


def path_of(tool: str) -> str:
    """Returns the path by which scopes allow a tool."""
    return FOLDER + tool


@functools.cache
def all_scopes() -> dict[str, Scope]:
    """Returns the scopes of assistants by id."""
    return {
        id: Scope(id, label, tuple(EndpointPattern(path_of(each), frozenset(METHODS)) for each in tools))
        for id, label, tools in SCOPES
    }


@functools.cache
def definition() -> str:
    """Returns the scopes as the YAML of an app that defines them and no others."""
    return "".join(
        f'"{id}":\n  label: {label}\n  endpoints:\n' + "".join(f"    - {path_of(each)}\n" for each in tools)
        for id, label, tools in SCOPES
    )


@functools.lru_cache(maxsize=MAX_KEPT)
def offered(text: str) -> dict[str, Scope]:
    """Returns {id: scope} of an app: those that it defines, and the scopes of assistants that these cover. Raises
    Invalid as parse()."""
    return _completed(parse(text))


def _completed(defined: Mapping[str, Scope]) -> dict[str, Scope]:
    wide = [each for each in defined.values() if not each.is_own]
    covered = {
        id: scope
        for id, scope in all_scopes().items()
        if id not in defined and all(allowed(wide, "POST", each.pattern) for each in scope.endpoints)
    }
    return {**defined, **covered}


def challenge(tool: str) -> str:
    """Returns the id of the narrowest scope that allows a tool, "" for none."""
    return next((id for id, scope in all_scopes().items() if scope.allows("POST", path_of(tool))), "")
