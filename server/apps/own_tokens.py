"""A token for a single request that a worker makes through the console; it is revoked after the request."""

from collections.abc import Iterator
from contextlib import contextmanager

from server.access import tokens
from server.access.tokens import TOKEN
from server.apps import token_lists
from server.apps.app_tokens import APP_NAME, app_named
from server.context import Context
from server.errors import Invalid, NotFound
from server.record_types.shared.scopes import parse
from server.record_types.shared.secrets import digest
from server.records import records
from server.store.transaction import Transaction
from server.translation import _, lazy_gettext

SECONDS = 120  # lifetime if the end of its use is not reported
LABEL = "API explorer"


def require_scope(ctx: Context, app_id: int, scope: str, field: str) -> None:
    """Raises Invalid at a field of the request if an app has no such scope, NotFound without the app; "" is every scope
    of the app."""
    known = list(parse(records.stored_one(ctx, "oauth_app", app_id)["scopes"]))
    if scope and scope not in known:
        raise Invalid(
            _("the app has no scope '{scope}'; it has {known}", scope=scope[:60], known=", ".join(known)), field=field
        )


@contextmanager
def for_one_request(ctx: Context, of_app: int = 0, scope: str = "") -> Iterator[str]:
    """Yields the text of an access token of the caller, with all scopes of the token generator's app, or with one scope
    of another app.

    Raises NotFound if the app is deleted, Invalid if its scopes cannot be parsed."""
    app_id = of_app or app_named(ctx, APP_NAME)
    app_type = ctx.service.registry.type("oauth_app")

    def issue(tx: Transaction) -> tuple[str, int]:
        row = tx.get(app_type.table, app_id)
        if row is None:
            raise NotFound(lazy_gettext("app {id} no longer exists", id=app_id))
        scopes = (scope,) if scope else tuple(parse(str(app_type.record(row)["scopes"])))
        text = tokens.issue(tx, app_id, ctx.actor.worker_id, scopes, ctx.now + SECONDS, ctx.now, LABEL)
        token_row = tx.first(TOKEN, hash=digest(text))
        assert token_row is not None
        return text, int(token_row[0])

    text, id = ctx.service.store.write(issue)
    try:
        yield text
    finally:
        token_lists.revoke(ctx, id, is_noted=False)
