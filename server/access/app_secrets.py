"""The secrets of apps: the current one, and the previous one during the overlap.

The rows of apps store the hashes (people/types/oauth_app.py). This module decides which are valid at an instant and
records their last use, so that administrators know when the previous one can be ended."""

from collections.abc import Mapping
from typing import Any

import peewee

from server.context import Context
from server.dataclass import dataclass
from server.store.tables import Column, Table, table_named
from server.store.transaction import Transaction

USE_SECONDS = 60  # further uses within this time are not recorded

SECRET_USE = Table(
    "oauth_secret_use", [Column("app_id"), Column("hash", "TEXT"), Column("used_at")], key=("app_id", "hash")
)


@dataclass(frozen=True, slots=True)
class Secret:
    """A valid secret. used_at: Unix seconds, 0 for never. until: its end, 0 for none."""

    is_present: bool
    used_at: int
    until: int


def good(app: Mapping[str, Any], now: int) -> tuple[str, ...]:
    """Returns the hashes of the secrets of an app that are valid at an instant, the current one first; () for a public
    app."""
    if app["is_public"]:
        return ()
    until = app["overlap_until"]
    old = app["previous_secret_hash"] if not until or until > now else ""
    return tuple(each for each in (app["client_secret_hash"], old) if each)


def record_use(tx: Transaction, app_id: int, hashed: str, now: int) -> None:
    """Records that a program used this secret."""
    row = tx.first(SECRET_USE, app_id=app_id, hash=hashed)
    if row is None or row[SECRET_USE.position["used_at"]] <= now - USE_SECONDS:
        tx.put(SECRET_USE, {"app_id": app_id, "hash": hashed, "used_at": now})


def list_secrets(tx: Transaction, app: Mapping[str, Any], now: int) -> list[Secret]:
    """Returns the secrets of an app that are valid at an instant, the current one first."""
    at = SECRET_USE.position
    used = {row[at["hash"]]: row[at["used_at"]] for row in tx.find(SECRET_USE, app_id=app["id"])}
    present = app["client_secret_hash"]
    return [
        Secret(each == present, used.get(each, 0), 0 if each == present else app["overlap_until"])
        for each in good(app, now)
    ]


def forget_useless(tx: Transaction) -> int:
    """Deletes the recorded uses of secrets that no app has any more; returns their number."""
    table: Any = SECRET_USE.sql
    app = table_named("oauth_app")

    def build() -> Any:
        is_its = (app.c.client_secret_hash == table.hash) | (app.c.previous_secret_hash == table.hash)
        owners = app.select(app.c.id).where(app.c.id == table.app_id, is_its)
        return table.delete().where(~peewee.fn.EXISTS(owners))

    return tx.run(build)


def of_app(ctx: Context, app: Mapping[str, Any]) -> list[Secret]:
    """Returns the valid secrets of an app for display. Raises AdminOnly."""
    ctx.require_admin("see the secrets of apps")
    return ctx.service.store.read(lambda tx: list_secrets(tx, app, ctx.now))
