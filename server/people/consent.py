"""Workers who let apps in: the answer to the question that the console asks. The rules are access/provider.py."""

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


def allow(ctx: Context, asked: AuthorizationRequest) -> str:
    """Let an app act for the worker who asks: the address to send the browser to. Raises what provider.allow does."""
    return provider.allow(ctx.service, asked, ctx.actor.worker_id, ctx.now, along=lambda tx: _log(ctx, tx, asked))


def decide_device(ctx: Context, asked: AuthorizationRequest, user_code: str, is_allowed: bool) -> None:
    """Allow or deny the program that shows a code to act for the caller. Raises as device_flow.decide."""
    device_flow.decide(
        ctx.service, ctx.actor.worker_id, user_code, is_allowed, ctx.now, along=lambda tx: _log(ctx, tx, asked)
    )


@dataclass(frozen=True, slots=True)
class AppAccess:
    """What an app may do with the records that a worker may see. has_all: everything that they may do. reads, changes:
    what types are called, as a sentence lists them. own_reads, own_changes: likewise, of the worker's own records."""

    has_all: bool
    reads: str
    changes: str
    own_reads: str
    own_changes: str


def access_of(ctx: Context, scopes: tuple[Scope, ...]) -> AppAccess:
    """What these scopes let an app do."""
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


def granted_scopes(ctx: Context, app_id: int) -> frozenset[str]:
    """The scopes that one gave an app before."""
    return frozenset(ctx.service.store.read(lambda tx: consents.scopes(tx, ctx.actor.worker_id, app_id)))


def _log(ctx: Context, tx: Transaction, asked: AuthorizationRequest) -> None:
    writing, worker_id = RecordWriter(ctx, tx), ctx.actor.worker_id
    variables = {
        "app": asked.app_name,
        "target": writing.label(WORKER, worker_id),
        "scopes": " ".join(each.id for each in asked.scopes),
    }
    writing.log("consent.given", WORKER, worker_id, variables)
