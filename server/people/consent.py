"""Workers who let apps in: the answer to the question that the console asks. The rules are access/provider.py.

Source: Authentication; the entry in the activity log is ours."""

from server.access import consents, provider
from server.access.actor import WORKER
from server.access.provider import AuthorizationRequest
from server.context import Context
from server.desk.writing import RecordWriter
from server.store.transaction import Transaction


def allow(ctx: Context, asked: AuthorizationRequest) -> str:
    """Let an app act for the worker who asks: the address to send the browser to. Raises what provider.allow does."""
    worker_id = ctx.actor.worker_id
    scopes = " ".join(each.id for each in asked.scopes)

    def log(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        told = {"app": asked.app_name, "target": writing.label(WORKER, worker_id), "scopes": scopes}
        writing.log("consent.given", WORKER, worker_id, told)

    return provider.allow(ctx.service, asked, worker_id, ctx.now, along=log)


def granted_scopes(ctx: Context, app_id: int) -> frozenset[str]:
    """The scopes that one gave an app before."""
    return frozenset(ctx.service.store.read(lambda tx: consents.scopes(tx, ctx.actor.worker_id, app_id)))
