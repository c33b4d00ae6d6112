"""The record types that the scopes of a token allow a program to read and change."""

from server.context import ScopeLimit
from server.record_types.record_type import RecordType
from server.record_types.registry import Registry, names_of
from server.record_types.shared.scopes import Scope, allowed

MAX_CACHED = 64  # cached sets of scopes; comparing one with all types takes 28 milliseconds
READ = (("GET", "1"), ("GET", "search"))
CHANGE = (("PUT", "1"), ("POST", "create"), ("DELETE", "1"))


def readable(registry: Registry, scopes: tuple[Scope, ...]) -> frozenset[str]:
    """The types that these scopes allow to read or search."""
    return _cached_types(registry, scopes)[0]


def changeable(registry: Registry, scopes: tuple[Scope, ...]) -> frozenset[str]:
    """The types that these scopes allow to create, change or delete."""
    return _cached_types(registry, scopes)[1]


def limit_of(registry: Registry, scopes: tuple[Scope, ...], *, is_own: bool = False) -> ScopeLimit | None:
    """The limit of these scopes on linked records; None if they allow reading everything.

    is_own: whether the request is limited to the worker's own records; scopes with that limit do not count
    elsewhere."""
    if not is_own and any(each.is_own for each in scopes):
        scopes = tuple(each for each in scopes if not each.is_own)
    if any(each.pattern == "*" and "GET" in each.methods for scope in scopes for each in scope.endpoints):
        return None
    return ScopeLimit(readable(registry, scopes))


def _cached_types(registry: Registry, scopes: tuple[Scope, ...]) -> tuple[frozenset[str], frozenset[str]]:
    cache: dict[tuple[Scope, ...], tuple[frozenset[str], frozenset[str]]] = registry.cache.setdefault(_cached_types, {})
    types = cache.get(scopes)
    if types is None:
        if len(cache) >= MAX_CACHED:
            cache.clear()
        types = cache[scopes] = (_covered(registry, scopes, READ), _covered(registry, scopes, CHANGE))
    return types


def _covered(registry: Registry, scopes: tuple[Scope, ...], requests: tuple[tuple[str, str], ...]) -> frozenset[str]:
    return frozenset(each.uri for each in registry if _covers(scopes, each, requests))


def _covers(scopes: tuple[Scope, ...], record_type: RecordType, requests: tuple[tuple[str, str], ...]) -> bool:
    names = dict.fromkeys((record_type.uri, *names_of(record_type)))
    paths = (f"{family}{name}" for name in names for family in ("records/", ""))  # records/ticket/1, tickets/1
    return any(allowed(scopes, method, f"{path}/{below}") for path in paths for method, below in requests)
