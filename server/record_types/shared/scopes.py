"""Scopes of OAuth apps: parses YAML, and decides which requests a scope allows. Pure functions; access/ has tokens."""

import functools
import re
from collections.abc import Iterable
from typing import Any

from server.dataclass import dataclass
from server.errors import Invalid
from server.translation import about_field, lazy_gettext
from server.warming import warmed
from server.wildcards import fits

METHODS = ("GET", "PATCH", "POST", "PUT", "DELETE")
MAX_CHARS = 65_536
MAX_SCOPES = 200
MAX_KEPT = 64  # cached texts: requests use them, and parsing YAML takes a millisecond, five times a small read
MAX_ENDPOINTS = 1000  # endpoints of one scope
MAX_LABEL_CHARS = 255
MAX_BRACKETS = 50  # nesting depth; the YAML parser takes seconds for thousands
ALL, OWN = REACHES = ("all", "own")  # records that a scope covers: all, or those of the worker
BUILT_IN = "api"  # the scope of an app that was created without scopes
DEFAULT = f"""\
"{BUILT_IN}":
  label: Do everything that you can do
  endpoints:
    - "*"
"""

_SCOPE_ID = re.compile(r"[A-Za-z0-9:._-]{1,128}\Z")


@dataclass(frozen=True, slots=True)
class EndpointPattern:
    """A pattern of paths, with the methods it allows. `*` matches any text, including `/`."""

    pattern: str
    methods: frozenset[str]

    def matches(self, path: str) -> bool:
        """Whether the whole path matches, case-insensitive."""
        return self.pattern == "*" or fits(path.lower(), self.pattern.lower())


@dataclass(frozen=True, slots=True)
class Scope:
    """The requests that a token with this scope may send. label: for the consent page. is_own: whether it covers only
    the worker's own records."""

    id: str
    label: str
    endpoints: tuple[EndpointPattern, ...]
    is_own: bool = False

    def allows(self, method: str, path: str) -> bool:
        """Whether a request is covered. path: the part after `/rest/`, without leading slash, `.json` and query.

        HEAD counts as GET; OPTIONS needs no scope."""
        verb = method.upper()
        if verb == "OPTIONS":
            return True
        verb = "GET" if verb == "HEAD" else verb
        return any(verb in endpoint.methods and endpoint.matches(path) for endpoint in self.endpoints)


def parse(text: str) -> dict[str, Scope]:
    """Returns {scope id: Scope} of an app's YAML text: a map of scope ids to {label, endpoints}.

    An endpoint is a pattern for all methods, or a map of patterns to a method or a list of methods, `*` for all;
    unknown methods allow nothing. `records: own` limits a scope to the records of the worker. Only maps, lists and
    text are read. Raises Invalid naming the scope."""
    return dict(_parsed(text))


@warmed
@functools.cache
def _loader() -> Any:
    """The YAML loader class. It rejects anchors and aliases: with them, a short text can expand exponentially."""
    import yaml  # slow to import: compiles many patterns

    class PlainLoader(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.peek_event().anchor is not None:  # an anchor, or an alias
                raise _bad('anchors and aliases (& and *name) are not supported; write "*" in quotes')
            return super().compose_node(parent, index)

    return PlainLoader


@functools.lru_cache(maxsize=MAX_KEPT)
def _parsed(text: str) -> dict[str, Scope]:
    if len(text) > MAX_CHARS:
        raise _bad(lazy_gettext("at most {count} characters, this has {number}", count=MAX_CHARS, number=len(text)))
    if "<<" in text:
        raise _bad("merging with << is not supported")  # merged maps grow exponentially
    if _depth(text) > MAX_BRACKETS:
        raise _bad(f"at most {MAX_BRACKETS} brackets inside each other")
    import yaml

    try:
        read = _loader()(text).get_single_data()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise _bad(f"is not YAML{f' at line {mark.line + 1}' if mark else ''}") from None
    except (RecursionError, ValueError):
        raise _bad("is not YAML that can be read") from None
    if not isinstance(read, dict) or not read:
        raise _bad("define at least one scope, as a map of scope ids to `label` and `endpoints`")
    if len(read) > MAX_SCOPES:
        raise _bad(f"at most {MAX_SCOPES} scopes")
    return {str(id): _scope(id, value) for id, value in read.items()}


def _depth(text: str) -> int:
    """The nesting depth of brackets, including those in quotes.

    >>> _depth("a: [1, {b: [2]}]")
    3
    """
    depth = most = 0
    for char in text:
        if char in "[{":
            depth += 1
            most = max(most, depth)
        elif char in "]}":
            depth -= 1
    return most


def allowed(scopes: Iterable[Scope], method: str, path: str) -> bool:
    """Whether one of the scopes covers the request."""
    return any(scope.allows(method, path) for scope in scopes)


def reaches_own_only(scopes: Iterable[Scope], method: str, path: str) -> bool:
    """Whether the scopes that cover a request limit it to the records of the worker."""
    all_scopes = tuple(scopes)
    return any(each.is_own for each in all_scopes) and not allowed(
        (s for s in all_scopes if not s.is_own), method, path
    )


def _scope(id: Any, value: Any) -> Scope:
    if not isinstance(id, str) or not _SCOPE_ID.match(id):
        raise _bad(f"'{str(id)[:80]}' is not a scope id; letters, digits and : . _ - are")
    if not isinstance(value, dict):
        raise _bad(f"scope '{id}' needs `label` and `endpoints`")
    label, raw_endpoints = value.get("label", id), value.get("endpoints")
    if not isinstance(label, str) or len(label) > MAX_LABEL_CHARS:
        raise _bad(f"the label of scope '{id}' must be a text of at most {MAX_LABEL_CHARS} characters")
    if not isinstance(raw_endpoints, list) or not 0 < len(raw_endpoints) <= MAX_ENDPOINTS:
        raise _bad(f"scope '{id}' needs a list of 1 to {MAX_ENDPOINTS} endpoints")
    endpoints = [endpoint for item in raw_endpoints for endpoint in _endpoints(id, item)]
    records = value.get("records", ALL)
    if records not in REACHES:
        raise _bad(f"scope '{id}': records is {' or '.join(REACHES)}, not '{str(records)[:50]}'")
    return Scope(id, label or id, tuple(endpoints[:MAX_ENDPOINTS]), records == OWN)


def _endpoints(id: str, item: Any) -> list[EndpointPattern]:
    if isinstance(item, str):
        return [EndpointPattern(_pattern(id, item), frozenset(METHODS))]
    if isinstance(item, dict) and 0 < len(item) <= MAX_ENDPOINTS:
        return [EndpointPattern(_pattern(id, pattern), _methods(value)) for pattern, value in item.items()]
    raise _bad(f"an endpoint of scope '{id}' must be a pattern, or a pattern with its methods")


def _pattern(id: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_LABEL_CHARS:
        raise _bad(f"scope '{id}' has an endpoint that is not a pattern, such as records/*/search")
    return value.strip().removeprefix("/")


def _methods(value: Any) -> frozenset[str]:
    items = value if isinstance(value, list) else [value]
    methods: set[str] = set()
    for item in items[:100]:
        name = item.upper() if isinstance(item, str) else ""
        if name == "*":
            methods.update(METHODS)
        elif name in METHODS:
            methods.add(name)  # unknown methods allow nothing
    return frozenset(methods)


def _bad(reason: str) -> Invalid:
    return Invalid(about_field("scopes", reason), field="scopes")
