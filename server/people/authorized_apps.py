"""The apps that may act in one's own name, with what each may do."""

from server.access.consents import Consent
from server.context import Context
from server.dataclass import dataclass
from server.errors import HelpdeskError
from server.record_types.shared.scopes import Scope, parse
from server.store.transaction import Transaction


@dataclass(frozen=True)
class AuthorizedApp:
    """An authorized app, with the granted scopes that it still defines, and the ids of those that it no longer does."""

    consent: Consent
    scopes: list[Scope]
    gone: list[str]


def with_scopes(ctx: Context, consents: list[Consent]) -> list[AuthorizedApp]:
    """The apps of consents, in their order."""
    return ctx.service.store.read(lambda tx: _with_scopes(ctx, tx, consents))


def _with_scopes(ctx: Context, tx: Transaction, listed: list[Consent]) -> list[AuthorizedApp]:
    table = ctx.service.registry.type("oauth_app").table
    rows = {row[0]: row for row in tx.get_many(table, {each.app_id for each in listed})}
    found = []
    for each in listed:
        try:
            defined = parse(rows[each.app_id][table.position["scopes"]]) if each.app_id in rows else {}
        except HelpdeskError:
            defined = {}
        known = [defined[name] for name in each.scopes if name in defined]
        found.append(AuthorizedApp(each, known, [name for name in each.scopes if name not in defined]))
    return found
