"""Workers who let apps in: the answer to the question that the console asks. The rules are access/provider.py.

Source: Authentication; the entry in the activity log is ours."""

from server.access import consents, device_flow, provider
from server.access.actor import WORKER
from server.access.provider import AuthorizationRequest
from server.context import Context
from server.desk.writing import RecordWriter
from server.store.transaction import Transaction


def allow(ctx: Context, asked: AuthorizationRequest) -> str:
    """Let an app act for the worker who asks: the address to send the browser to. Raises what provider.allow does."""
    return provider.allow(ctx.service, asked, ctx.actor.worker_id, ctx.now, along=lambda tx: _log(ctx, tx, asked))


def decide_device(ctx: Context, asked: AuthorizationRequest, user_code: str, is_allowed: bool) -> None:
    """Allow or deny the program that shows a code to act for the caller. Raises as device_flow.decide."""
    device_flow.decide(
        ctx.service, ctx.actor.worker_id, user_code, is_allowed, ctx.now, along=lambda tx: _log(ctx, tx, asked)
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
