"""Lists the endpoints that the patterns of a scope allow, for authors of scopes.

record_types/shared/scopes.py decides whether a request is allowed; this module matches a pattern with paths that have
arguments, such as records/{uri}/{id}."""

import re
from collections.abc import Iterable

from server.errors import nearest
from server.record_types.registry import Registry
from server.record_types.shared import assistant_scopes
from server.record_types.shared.scopes import Scope
from server.translation import _
from server.web.routes import ENDPOINTS, Endpoint, Router

RECORDS = "records/"
_ARGUMENT = re.compile(r"\{\w+\}")
# The first character of an argument, and the following ones. Ids have digits only.
_ONE, _MORE, _DIGIT, _DIGITS = "\x00", "\x01", "\x02", "\x03"


def meets(pattern: str, path: str) -> bool:
    """Whether some request to the endpoint with this path fits the pattern.

    >>> meets("records/ticket/*", "records/{uri}/{id}"), meets("records/*/search", "records/{uri}/{id}")
    (True, False)
    >>> meets("records/ticket", "records/{uri}/{id}"), meets("workers/*", "records/{uri}/{id}")
    (False, False)
    """
    shortened = re.sub(r"\*+", "*", pattern.lower())
    there = _ARGUMENT.sub(_ONE + _MORE, path.lower().replace("{id}", _DIGIT + _DIGITS))
    places = _skipped(there, {0})
    for char in shortened:
        if char == "*":
            places = set(range(min(places), len(there) + 1))
        else:
            places = _skipped(there, {place for each in places for place in _behind(there, each, char)})
        if not places:
            return False
    return len(there) in places


def doubt(registry: Registry, pattern: str, methods: frozenset[str]) -> str:
    """Returns why no request can match an endpoint of a scope, "" if one can."""
    bare = pattern.strip().removeprefix("/")
    if bare.lower().startswith(assistant_scopes.FOLDER):
        return _doubt_about_tools(bare, methods)
    fitting = [each for each in ENDPOINTS if any(meets(bare, path) for path in (each.path, *each.aliases))]
    if not fitting:
        bodies = bare.removeprefix("rest/").removesuffix(".json")
        if bodies != bare and any(meets(bodies, each.path) for each in ENDPOINTS):
            return f"'{bare[:80]}' fits no endpoint; write '{bodies[:80]}': rest/ and .json are left out"
        return f"'{bare[:80]}' fits no endpoint{nearest(bare, [each.path for each in ENDPOINTS])}"
    name = _type_of(bare)
    if name and registry.find(name) is None and all("{uri}" in each.path for each in fitting):
        return f"there is no record type '{name[:80]}'{nearest(name, registry.uris())}"
    if methods and not any(each.method in methods for each in fitting):
        offered = ", ".join(sorted({each.method for each in fitting}))
        return f"no endpoint that fits takes {', '.join(sorted(methods))}; offered are {offered}"
    return ""


def _doubt_about_tools(bare: str, methods: frozenset[str]) -> str:
    from server.web.assistants import tool_list  # seldom needed

    paths = [assistant_scopes.path_of(each) for each in (*tool_list.load(), assistant_scopes.NOTES)]
    if not any(meets(bare, each) for each in paths):
        return f"'{bare[:80]}' fits no tool for assistants{nearest(bare, paths)}"
    return "" if not methods or "POST" in methods else "tools for assistants are called with POST"


def calls(scope: Scope) -> tuple[int, list[str]]:
    """Returns the number of endpoints that a scope allows, and the requests: `GET /rest/records/ticket/{id}.json`,
    sorted."""
    requests: set[str] = set()
    reached = 0
    for each in ENDPOINTS:
        paths = {
            path for entry in scope.endpoints if each.method in entry.methods for path in _paths(entry.pattern, each)
        }
        reached += bool(paths)
        requests |= {f"{each.method} /rest/{path}.json" for path in paths}
    return reached, sorted(requests)


def _paths(pattern: str, each: Endpoint) -> Iterable[str]:
    """Yields the paths of an endpoint that match a pattern, with the record type that it names."""
    name = _type_of(pattern)
    for path in (each.path, *each.aliases):
        if meets(pattern, path):
            yield path.replace("{uri}", name) if name else path


def _type_of(pattern: str) -> str:
    """Returns the record type that a pattern names, "" for any."""
    name = pattern[len(RECORDS) :].partition("/")[0] if pattern.lower().startswith(RECORDS) else ""
    return "" if "*" in name else name


def _behind(there: str, place: int, char: str) -> Iterable[int]:
    """Returns the places where a path continues after a character at a place."""
    at = there[place] if place < len(there) else ""
    if at == char or (at == _ONE and char != "/") or (at == _DIGIT and char.isdigit()):
        yield place + 1
    elif (at == _MORE and char != "/") or (at == _DIGITS and char.isdigit()):
        yield place


def _skipped(there: str, places: set[int]) -> set[int]:
    """Returns the places, and those after arguments that may be complete."""
    return places | {place + 1 for place in places if place < len(there) and there[place] in (_MORE, _DIGITS)}


def preview(scopes: Iterable[Scope], method: str, path: str) -> str:
    """How the API would respond to a request of a token with these scopes, in words."""
    path = path.partition("?")[0].removeprefix("/rest/").removesuffix(".json").lstrip("/")
    offered = Router(ENDPOINTS).find(path)[0]
    if not offered:
        return _("refused: 404, there is no such endpoint")
    if method not in offered:
        return _("refused: 405, allowed methods are {methods}", methods=", ".join(sorted(offered)))
    fitting = [each.id for each in scopes if each.allows(method, path)]
    return _("allowed by {scopes}", scopes=", ".join(fitting)) if fitting else _("refused: 403, no scope covers it")
