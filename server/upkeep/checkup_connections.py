"""Connected accounts in the check-up: whether their providers still grant access, and whether client secrets expire."""

from collections.abc import Iterator

from server.connections.grant_tables import CONNECTED_GRANT
from server.connections.grants import ConnectedGrant
from server.connections.secret_expiry import NOTICE_DAYS, ExpiringSecret, list_secrets
from server.context import Service
from server.store.transaction import Transaction
from server.translation import N_, lazy_gettext
from server.upkeep.finding import Finding

MOST_ACCOUNTS = 100  # in the findings


def of_connections(service: Service, now: int) -> Iterator[Finding]:
    """Checks the grants of connected accounts and the client secrets of connected services."""
    accounts, secrets = service.store.read(lambda tx: (_accounts(service, tx), list_secrets(tx, service.registry, now)))
    for name, grant in accounts[:MOST_ACCOUNTS]:
        if grant.ended_at:
            yield Finding(
                N_("connections"),
                "problem",
                lazy_gettext(
                    "the access of the connected account {name} has ended: {error}", name=name, error=grant.error
                ),
                N_("open the account in the console, under Connections, and reconnect it"),
            )
        else:
            yield Finding(N_("connections"), "ok", lazy_gettext("the connected account {name} has access", name=name))
    for secret in secrets:
        if secret.days <= NOTICE_DAYS[0]:
            yield _expiring(secret)


def _expiring(secret: ExpiringSecret) -> Finding:
    values = {"name": secret.name, "date": secret.expires.isoformat()}
    advice = N_("create a new one at the provider, and enter it in the console, under Connections")
    if secret.days < 0:
        text = lazy_gettext("the client secret of {name} expired on {date}", **values)
        return Finding(N_("connections"), "problem", text, advice)
    text = lazy_gettext("the client secret of {name} expires on {date}", **values)
    return Finding(N_("connections"), "warning", text, advice)


def _accounts(service: Service, tx: Transaction) -> list[tuple[str, ConnectedGrant]]:
    """The names of accounts with a grant, those that have ended first."""
    record_type = service.registry.type("connected_account")
    names = {row[0]: str(record_type.record(row)["name"]) for row in tx.find(record_type.table)}
    grants = [ConnectedGrant(*row) for row in tx.find(CONNECTED_GRANT)]
    grants.sort(key=lambda each: (not each.ended_at, each.account_id))
    return [(names[each.account_id], each) for each in grants if each.account_id in names]
