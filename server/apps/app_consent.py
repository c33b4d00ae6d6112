"""Consents of workers to apps, as the console requests them. access/provider.py has the rules."""

from collections.abc import Iterable

from server.access import consents, device_flow, provider
from server.access.actor import WORKER
from server.access.provider import AuthorizationRequest
from server.access.rules import may_be_own
from server.context import Context
from server.dataclass import dataclass
from server.record_types.shared.scopes import Scope
from server.records import scoped_types
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.translation import listed, shown, sort_key


def allow(ctx: Context, request: AuthorizationRequest) -> str:
    """Allows an app to act for the caller. Returns the address to redirect the browser to. Raises the errors of
    provider.allow."""
    return provider.allow(ctx.service, request, ctx.actor.worker_id, ctx.now, along=lambda tx: _log(ctx, tx, request))


def decide_device(ctx: Context, request: AuthorizationRequest, user_code: str, is_allowed: bool) -> None:
    """Allows or denies the program that displays a code to act for the caller. Raises the errors of
    device_flow.decide."""
    device_flow.decide(
        ctx.service, ctx.actor.worker_id, user_code, is_allowed, ctx.now, along=lambda tx: _log(ctx, tx, request)
    )


@dataclass(frozen=True, slots=True)
class AppAccess:
    """The records that an app may access, among those of the worker. has_all: unlimited access. reads, changes: the
    names of types, as a sentence lists them. own_reads, own_changes: the same, limited to the worker's own records."""

    has_all: bool
    reads: str
    changes: str
    own_reads: str
    own_changes: str


def access_of(ctx: Context, scopes: tuple[Scope, ...]) -> AppAccess:
    """Returns the access that these scopes grant."""
    registry = ctx.service.registry

    def named(uris: Iterable[str]) -> str:
        return listed(sorted((shown(registry.type(uri).label_names[1]) for uri in uris), key=sort_key))

    wide = tuple(each for each in scopes if not each.is_own)
    own = tuple(each for each in scopes if each.is_own)
    ownable = {each.uri for each in registry if may_be_own(each)}
    reads, changes = scoped_types.readable(registry, wide), scoped_types.changeable(registry, wide)
    return AppAccess(
        any(each.allows(method, "*") for each in wide for method in ("POST", "PUT"))
        and scoped_types.limit_of(registry, wide) is None,
        named(reads),
        named(changes),
        named((scoped_types.readable(registry, own) & ownable) - reads),
        named((scoped_types.changeable(registry, own) & ownable) - changes),
    )


@dataclass(frozen=True, slots=True)
class ConsentQuestion:
    """The question to a worker whether to allow an app. known: the scopes that they have granted to it. seal: proves
    that the question was shown."""

    request: AuthorizationRequest
    known: frozenset[str]
    access: AppAccess
    seal: str


def question(ctx: Context, request: AuthorizationRequest) -> ConsentQuestion:
    """Returns the question to the caller about a request."""
    seal = provider.seal(ctx.service, request, ctx.actor.worker_id, ctx.now)
    return ConsentQuestion(request, granted_scopes(ctx, request.app_id), access_of(ctx, request.scopes), seal)


def granted_scopes(ctx: Context, app_id: int) -> frozenset[str]:
    """Returns the scopes that the caller has granted to an app."""
    return frozenset(ctx.service.store.read(lambda tx: consents.scopes(tx, ctx.actor.worker_id, app_id)))


def _log(ctx: Context, tx: Transaction, request: AuthorizationRequest) -> None:
    writing, worker_id = RecordWriter(ctx, tx), ctx.actor.worker_id
    variables = {
        "app": request.app_name,
        "target": writing.label(WORKER, worker_id),
        "scopes": " ".join(each.id for each in request.scopes),
    }
    writing.log("consent.given", WORKER, worker_id, variables)
