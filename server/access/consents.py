"""What workers allowed apps, so that they are not asked the same twice, see a list of it and can take it back."""

from typing import Any

import peewee

from server.access import codes, device_codes
from server.access.tokens import TOKEN
from server.dataclass import dataclass
from server.store.statements import slot
from server.store.tables import Column, Index, Table, table_named
from server.store.transaction import Transaction

CONSENT = Table(
    "oauth_consent",
    [Column("worker_id"), Column("app_id"), Column("scopes", "TEXT"), Column("granted_at")],
    [Index(("app_id",), "who uses an app")],
    key=("worker_id", "app_id"),
)


@dataclass(frozen=True, slots=True)
class Consent:
    """An app that a worker let in. scopes: all that were allowed. granted_at: Unix seconds, of the last time.
    live_tokens: access and refresh tokens that are good now. last_used_at: of any token, some minutes late, 0 for
    never."""

    app_id: int
    app_name: str
    app_url: str
    scopes: tuple[str, ...]
    granted_at: int
    live_tokens: int
    last_used_at: int


def scopes(tx: Transaction, worker_id: int, app_id: int) -> frozenset[str]:
    """The scopes that a worker allowed an app so far."""
    row = tx.first(CONSENT, worker_id=worker_id, app_id=app_id)
    return frozenset(row[CONSENT.position["scopes"]].split()) if row else frozenset()


def remember(tx: Transaction, worker_id: int, app_id: int, allowed: tuple[str, ...], now: int) -> None:
    """Add to what a worker allowed an app."""
    together = sorted(scopes(tx, worker_id, app_id) | set(allowed))
    tx.put(CONSENT, {"worker_id": worker_id, "app_id": app_id, "scopes": " ".join(together), "granted_at": now})


def of_worker(tx: Transaction, worker_id: int, now: int) -> list[Consent]:
    """The apps that a worker let in, by name."""
    table, app, token = CONSENT.sql, table_named("oauth_app"), TOKEN.sql

    def build() -> Any:
        of_pair = (token.worker_id == table.worker_id) & (token.app_id == table.app_id)
        live = token.select(peewee.fn.COUNT(token.id)).where(of_pair, token.revoked_at == 0, token.expires_at > slot(1))
        used = token.select(peewee.fn.MAX(token.last_used_at)).where(of_pair)
        query = table.select(table.app_id, app.c.name, app.c.url, table.scopes, table.granted_at, live, used)
        query = query.join(app, on=(app.c.id == table.app_id)).where(table.worker_id == slot(0))
        return query.order_by(app.c.name, app.c.id)

    rows = tx.rows(build, (worker_id, now))
    return [Consent(row[0], row[1], row[2], tuple(row[3].split()), row[4], row[5], row[6] or 0) for row in rows]


def withdraw(tx: Transaction, worker_id: int, app_id: int, now: int) -> bool:
    """Let an app in no longer: its tokens for this worker end, and it must ask again. False when there was nothing."""
    token: Any = TOKEN.sql
    ended = tx.run(
        lambda: token.update({token.revoked_at: slot(0)}).where(
            token.worker_id == slot(1), token.app_id == slot(2), token.revoked_at == 0
        ),
        (now, worker_id, app_id),
    )
    ended += tx.delete(codes.CODE, worker_id=worker_id, app_id=app_id, used_at=0)
    device_codes.forget_of_worker(tx, worker_id, app_id=app_id)
    return bool(tx.delete(CONSENT, worker_id=worker_id, app_id=app_id)) or bool(ended)


def forget_of_worker(tx: Transaction, worker_id: int) -> None:
    """Remove all that a worker allowed, with the codes that are not yet exchanged."""
    tx.delete(CONSENT, worker_id=worker_id)
    codes.forget_of_worker(tx, worker_id)
    device_codes.forget_of_worker(tx, worker_id)


def forget_useless(tx: Transaction) -> int:
    """Remove consents whose app or worker is gone; answers how many."""
    table: Any = CONSENT.sql
    app, worker = table_named("oauth_app"), table_named("worker")

    def build() -> Any:
        is_useless = table.app_id.not_in(app.select(app.c.id)) | table.worker_id.not_in(worker.select(worker.c.id))
        return table.delete().where(is_useless)

    return tx.run(build)
