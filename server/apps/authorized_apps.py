"""The apps that may act for the caller, with the scopes of each."""

from server.access.consents import Consent
from server.context import Context
from server.dataclass import dataclass
from server.errors import HelpdeskError
from server.record_types.shared.assistant_scopes import offered
from server.record_types.shared.scopes import Scope
from server.store.transaction import Transaction


@dataclass(frozen=True)
class AuthorizedApp:
    """An authorized app, with the granted scopes that it still defines, and the ids of those that it no longer
    defines."""

    consent: Consent
    scopes: list[Scope]
    gone: list[str]


def with_scopes(ctx: Context, consents: list[Consent]) -> list[AuthorizedApp]:
    """Returns the apps of consents, in their order."""
    return ctx.service.store.read(lambda tx: _with_scopes(ctx, tx, consents))


def _with_scopes(ctx: Context, tx: Transaction, consents: list[Consent]) -> list[AuthorizedApp]:
    table = ctx.service.registry.type("oauth_app").table
    rows = {row[0]: row for row in tx.get_many(table, {each.app_id for each in consents})}
    apps = []
    for each in consents:
        try:
            defined = offered(rows[each.app_id][table.position["scopes"]]) if each.app_id in rows else {}
        except HelpdeskError:
            defined = {}
        granted = [defined[name] for name in each.scopes if name in defined]
        apps.append(AuthorizedApp(each, granted, [name for name in each.scopes if name not in defined]))
    return apps
