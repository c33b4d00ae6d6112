"""Consents of workers to apps, so that they are not asked twice, see a list and can withdraw."""

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
    """An app that a worker allowed. scopes: all allowed ones. granted_at: the last consent, in Unix seconds.
    live_tokens: valid access and refresh tokens. last_used_at: of any token, some minutes late, 0 for never."""

    app_id: int
    app_name: str
    app_url: str
    scopes: tuple[str, ...]
    granted_at: int
    live_tokens: int
    last_used_at: int


def scopes(tx: Transaction, worker_id: int, app_id: int) -> frozenset[str]:
    """Returns the scopes that a worker has allowed an app."""
    row = tx.first(CONSENT, worker_id=worker_id, app_id=app_id)
    return frozenset(row[CONSENT.position["scopes"]].split()) if row else frozenset()


def remember(tx: Transaction, worker_id: int, app_id: int, allowed: tuple[str, ...], now: int) -> None:
    """Adds scopes to the consent of a worker to an app."""
    together = sorted(scopes(tx, worker_id, app_id) | set(allowed))
    tx.put(CONSENT, {"worker_id": worker_id, "app_id": app_id, "scopes": " ".join(together), "granted_at": now})


def of_worker(tx: Transaction, worker_id: int, now: int) -> list[Consent]:
    """Returns the apps that a worker allowed, by name."""
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
    """Withdraws the consent to an app: its tokens for this worker end, and it must ask again. Returns False if there
    was none."""
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
    """Deletes all consents of a worker, with the codes not yet exchanged."""
    tx.delete(CONSENT, worker_id=worker_id)
    codes.forget_of_worker(tx, worker_id)
    device_codes.forget_of_worker(tx, worker_id)


def forget_of_app(tx: Transaction, app_id: int) -> None:
    """Deletes all consents to an app, with the codes not yet exchanged."""
    tx.delete(CONSENT, app_id=app_id)
    tx.delete(codes.CODE, app_id=app_id, used_at=0)


def forget_useless(tx: Transaction) -> int:
    """Deletes consents whose app or worker is gone; returns their number."""
    table: Any = CONSENT.sql
    app, worker = table_named("oauth_app"), table_named("worker")

    def build() -> Any:
        is_useless = table.app_id.not_in(app.select(app.c.id)) | table.worker_id.not_in(worker.select(worker.c.id))
        return table.delete().where(is_useless)

    return tx.run(build)
