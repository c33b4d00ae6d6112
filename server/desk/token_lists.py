"""Tokens that are good now, as people see them: whose, through which app, until when; and ending them. Source: ours."""

from dataclasses import dataclass
from typing import Any

from server.access import consents, families, tokens
from server.access.consents import Consent
from server.access.tokens import TOKEN
from server.context import Context
from server.desk.writing import RecordWriter
from server.errors import AdminOnly, NotFound
from server.store.statements import slot
from server.store.transaction import Transaction

MAX_LISTED = 500  # tokens, the newest


@dataclass(frozen=True, slots=True)
class Listed:
    """One token. prefix: how its text begins. kind: access or refresh. last_used_at: some minutes late, 0 for never."""

    id: int
    kind: str
    prefix: str
    app_id: int
    app: str
    worker_id: int
    worker: str
    scopes: tuple[str, ...]
    label: str
    created_at: int
    expires_at: int
    last_used_at: int


def all(ctx: Context) -> list[Listed]:
    """Every token that is good now, the newest first. Raises AdminOnly."""
    if not ctx.actor.is_admin:
        raise AdminOnly("only administrators may see the tokens of others")
    return ctx.service.store.read(lambda tx: _listed(ctx, tx, 0))


def own(ctx: Context) -> list[Listed]:
    """Those of the worker who asks."""
    return ctx.service.store.read(lambda tx: _listed(ctx, tx, ctx.actor.worker_id))


def own_apps(ctx: Context) -> list[Consent]:
    """The apps that may act for the worker who asks, by name: those let in, and those with tokens that administrators
    made."""
    worker_id = ctx.actor.worker_id
    let_in = ctx.service.store.read(lambda tx: consents.of_worker(tx, worker_id, ctx.now))
    found = {each.app_id: each for each in let_in}
    by_app: dict[int, list[Listed]] = {}
    for each in own(ctx):
        by_app.setdefault(each.app_id, []).append(each)
    for id, listed in by_app.items():
        scopes = tuple(sorted({scope for each in listed for scope in each.scopes}))
        made = Consent(id, listed[0].app, "", scopes, max(each.created_at for each in listed), len(listed))
        found.setdefault(id, made)
    return sorted(found.values(), key=lambda each: (each.app_name, each.app_id))


def revoke(ctx: Context, id: int) -> None:
    """End a token now: one's own, or any for administrators. A refresh token takes all of its login along. Raises
    NotFound."""

    def write(tx: Transaction) -> None:
        row = tx.get(TOKEN, id)
        if row is None or not (ctx.actor.is_admin or row[TOKEN.position["worker_id"]] == ctx.actor.worker_id):
            raise NotFound(f"there is no token {id}")
        families.revoke(tx, tokens.of_row(row), ctx.now)

    ctx.service.store.write(write)


def revoke_app(ctx: Context, app_id: int) -> None:
    """Let an app act for the worker who asks no longer; it must ask for consent again."""
    ctx.service.store.write(lambda tx: consents.withdraw(tx, ctx.actor.worker_id, app_id, ctx.now))


def _listed(ctx: Context, tx: Transaction, worker_id: int) -> list[Listed]:
    """worker_id: 0 for everybody's."""
    table: Any = TOKEN.sql

    def build() -> Any:
        query = table.select(*TOKEN.all_columns).where(table.revoked_at == 0, table.expires_at > slot(0))
        if worker_id:
            query = query.where(table.worker_id == slot(1))
        return query.order_by(table.id.desc()).limit(MAX_LISTED)

    rows = [dict(zip(TOKEN.names, row, strict=True)) for row in tx.rows(
        ("tokens", "listed", bool(worker_id)), build, (ctx.now, worker_id) if worker_id else (ctx.now,)
    )]  # fmt: skip
    reading = RecordWriter(ctx, tx)
    apps = _names(reading, "oauth_app", {each["app_id"] for each in rows})
    workers = _names(reading, "worker", {each["worker_id"] for each in rows})
    return [
        Listed(
            each["id"], each["kind"], each["prefix"], each["app_id"], apps.get(each["app_id"], ""),
            each["worker_id"], workers.get(each["worker_id"], ""), tuple(each["scopes"].split()), each["label"],
            each["created_at"], each["expires_at"], each["last_used_at"],
        )
        for each in rows
        if each["app_id"] in apps and each["worker_id"] in workers
    ]  # fmt: skip


def _names(reading: RecordWriter, uri: str, ids: set[int]) -> dict[int, str]:
    record_type = reading.registry.type(uri)
    return {row[0]: record_type.label(record_type.record(row)) for row in reading.tx.get_many(record_type.table, ids)}
