"""A token for one request that a worker makes through the console, ended when the request is."""

from collections.abc import Iterator
from contextlib import contextmanager

from server.access import tokens
from server.access.tokens import TOKEN
from server.context import Context
from server.errors import NotFound
from server.people import token_lists
from server.people.app_tokens import APP_NAME, app_named
from server.record_types.shared.scopes import parse
from server.record_types.shared.secrets import digest
from server.store.transaction import Transaction
from server.translation import lazy_gettext

SECONDS = 120  # lifetime if the end of its use is not reported
LABEL = "API explorer"


@contextmanager
def for_one_request(ctx: Context, of_app: int = 0, scope: str = "") -> Iterator[str]:
    """The text of an access token of the worker who asks, with every scope that the token generator's app has, or with
    one scope of one app.

    Raises NotFound when that app is gone, Invalid when its scopes cannot be read."""
    app_id = of_app or app_named(ctx, APP_NAME)
    app_type = ctx.service.registry.type("oauth_app")

    def issue(tx: Transaction) -> tuple[str, int]:
        row = tx.get(app_type.table, app_id)
        if row is None:
            raise NotFound(lazy_gettext("there is no app {id} any more", id=app_id))
        scopes = (scope,) if scope else tuple(parse(str(app_type.record(row)["scopes"])))
        text = tokens.issue(tx, app_id, ctx.actor.worker_id, scopes, ctx.now + SECONDS, ctx.now, LABEL)
        found = tx.first(TOKEN, hash=digest(text))
        assert found is not None
        return text, int(found[0])

    text, id = ctx.service.store.write(issue)
    try:
        yield text
    finally:
        token_lists.revoke(ctx, id, is_noted=False)
