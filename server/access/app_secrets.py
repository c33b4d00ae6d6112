"""The secrets of apps: the present one, and the one before it for as long as it was given to change over.

The apps' rows hold the hashes (people/types/oauth_app.py); here is which of them are good at an instant, and when
programs came with each of them last, so that people know when the old one can be ended."""

from collections.abc import Mapping
from typing import Any

import peewee

from server.context import Context
from server.dataclass import dataclass
from server.store.tables import Column, Table, table_named
from server.store.transaction import Transaction

USE_SECONDS = 60  # a use that follows another within this time is not noted

SECRET_USE = Table(
    "oauth_secret_use", [Column("app_id"), Column("hash", "TEXT"), Column("used_at")], key=("app_id", "hash")
)


@dataclass(frozen=True, slots=True)
class Secret:
    """One secret that is good now. used_at: Unix seconds, 0 for never. until: when it ends, 0 for not by itself."""

    is_present: bool
    used_at: int
    until: int


def good(app: Mapping[str, Any], now: int) -> tuple[str, ...]:
    """The hashes of an app's secrets that are good at an instant, the present one first; none of a public app."""
    if app["is_public"]:
        return ()
    until = app["overlap_until"]
    old = app["previous_secret_hash"] if not until or until > now else ""
    return tuple(each for each in (app["client_secret_hash"], old) if each)


def note_use(tx: Transaction, app_id: int, hashed: str, now: int) -> None:
    """A program has shown this secret."""
    row = tx.first(SECRET_USE, app_id=app_id, hash=hashed)
    if row is None or row[SECRET_USE.position["used_at"]] <= now - USE_SECONDS:
        tx.put(SECRET_USE, {"app_id": app_id, "hash": hashed, "used_at": now})


def list_secrets(tx: Transaction, app: Mapping[str, Any], now: int) -> list[Secret]:
    """The secrets of an app that are good at an instant, the present one first."""
    at = SECRET_USE.position
    used = {row[at["hash"]]: row[at["used_at"]] for row in tx.find(SECRET_USE, app_id=app["id"])}
    present = app["client_secret_hash"]
    return [
        Secret(each == present, used.get(each, 0), 0 if each == present else app["overlap_until"])
        for each in good(app, now)
    ]


def forget_useless(tx: Transaction) -> int:
    """Remove what is known of secrets that are those of no app any more; answers how many."""
    table: Any = SECRET_USE.sql
    app = table_named("oauth_app")

    def build() -> Any:
        is_its = (app.c.client_secret_hash == table.hash) | (app.c.previous_secret_hash == table.hash)
        owners = app.select(app.c.id).where(app.c.id == table.app_id, is_its)
        return table.delete().where(~peewee.fn.EXISTS(owners))

    return tx.run(build)


def of_app(ctx: Context, app: Mapping[str, Any]) -> list[Secret]:
    """The secrets of an app, for people to look at. Raises AdminOnly."""
    ctx.require_admin("see the secrets of apps")
    return ctx.service.store.read(lambda tx: list_secrets(tx, app, ctx.now))
