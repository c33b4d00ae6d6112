"""Tokens that are good now, as people see them: whose, through which app, until when; and ending them. Source: ours."""

from dataclasses import dataclass
from typing import Any

from server.access.tokens import TOKEN
from server.context import Context
from server.desk.writing import RecordWriter
from server.errors import AdminOnly, NotFound
from server.store.statements import slot
from server.store.transaction import Transaction

MAX_LISTED = 500  # tokens, the newest


@dataclass(frozen=True, slots=True)
class Listed:
    """One token. prefix: how its text begins. kind: access or refresh."""

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


def all(ctx: Context) -> list[Listed]:
    """Every token that is good now, the newest first. Raises AdminOnly."""
    if not ctx.actor.is_admin:
        raise AdminOnly("only administrators may see the tokens of others")
    return ctx.service.store.read(lambda tx: _listed(ctx, tx, 0))


def own(ctx: Context) -> list[Listed]:
    """Those of the worker who asks."""
    return ctx.service.store.read(lambda tx: _listed(ctx, tx, ctx.actor.worker_id))


def revoke(ctx: Context, id: int) -> None:
    """End a token now: one's own, or any for administrators. Raises NotFound."""

    def write(tx: Transaction) -> None:
        row = tx.get(TOKEN, id)
        if row is None or not (ctx.actor.is_admin or row[TOKEN.position["worker_id"]] == ctx.actor.worker_id):
            raise NotFound(f"there is no token {id}")
        tx.update(TOKEN, id, {"revoked_at": ctx.now})

    ctx.service.store.write(write)


def revoke_app(ctx: Context, app_id: int) -> int:
    """End all tokens that the worker who asks has through an app; answers how many."""
    table: Any = TOKEN.sql
    return ctx.service.store.write(lambda tx: tx.run(
        ("tokens", "revoke app"),
        lambda: table.update({table.revoked_at: slot(0)}).where(
            table.app_id == slot(1), table.worker_id == slot(2), table.revoked_at == 0
        ),
        (ctx.now, app_id, ctx.actor.worker_id),
    ))  # fmt: skip


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
            each["created_at"], each["expires_at"],
        )
        for each in rows
        if each["app_id"] in apps and each["worker_id"] in workers
    ]  # fmt: skip


def _names(reading: RecordWriter, uri: str, ids: set[int]) -> dict[int, str]:
    record_type = reading.registry.type(uri)
    return {row[0]: record_type.label(record_type.record(row)) for row in reading.tx.get_many(record_type.table, ids)}
