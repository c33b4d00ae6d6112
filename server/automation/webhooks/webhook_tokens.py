"""The tokens in the secret addresses of webhooks: finds their listeners, and rotates them."""

from typing import Any

from server.automation.types.webhook_listener import GUID_CHARS
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import NotFound
from server.jobs.scheduler import periodic
from server.record_types.record_type import Record
from server.record_types.shared.secrets import random_text
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction
from server.translation import N_

URI = "webhook_listener"
MAX_OVERLAP_SECONDS = 30 * 86400
DEFAULT_OVERLAP_SECONDS = 86400

FORMER_TOKEN = Table(
    "webhook_former_token",
    [
        Column("token", "TEXT"),
        Column("listener_id", references="webhook_listener(id)"),
        Column("until"),
        Column("last_used_at"),
    ],
    [
        Index(("token",), "the webhook that a request with an old token is for", unique=True),
        Index(("listener_id",), "the old addresses of a webhook"),
        Index(("until",), "those that are over"),
    ],
)


@dataclass(frozen=True, slots=True)
class FormerToken:
    """An old address that still works. until: when it expires; last_used_at: 0 if it was not used since its
    replacement."""

    id: int
    token: str
    until: int
    last_used_at: int


def listener_of(ctx: Context, tx: Transaction, token: str) -> tuple[Record, int] | None:
    """Returns the listener of a token, and the id of the token if it was replaced recently, else 0; None for an unknown
    token."""
    record_type = ctx.service.registry.type(URI)
    row, former_id = tx.first(record_type.table, guid=token), 0
    if row is None:
        former = tx.first(FORMER_TOKEN, token=token)
        if former is None or former[FORMER_TOKEN.position["until"]] <= ctx.now:
            return None
        row, former_id = tx.get(record_type.table, former[FORMER_TOKEN.position["listener_id"]]), former[0]
    return (record_type.record(row), former_id) if row is not None else None


def require(ctx: Context, tx: Transaction, id: int) -> Record:
    """Returns the listener of an id. Raises NotFound."""
    record_type = ctx.service.registry.type(URI)
    row = tx.get(record_type.table, id)
    if row is None:
        raise NotFound(f"there is no webhook {id}")
    return record_type.record(row)


def rotate(ctx: Context, id: int, overlap_seconds: int) -> dict[str, Any]:
    """Gives a listener a new token; the old one works for `overlap_seconds` more. Returns id, guid, url and until when
    the old one works. Raises NotFound, Forbidden."""

    def write(tx: Transaction) -> dict[str, Any]:
        writing = RecordWriter(ctx, tx)
        writing.require("update", URI, id)
        old = writing.record(URI, id) or {}
        until = ctx.now + overlap_seconds
        if overlap_seconds:
            tx.insert(FORMER_TOKEN, {"token": old["guid"], "listener_id": id, "until": until})
        token = random_text(GUID_CHARS)
        writing.update(URI, id, {"guid": token})
        _log(writing, "webhook_listener.address.renewed", id)
        url = ctx.service.webhook_url(token)
        return {"id": id, "guid": token, "url": url, "old_until": until if overlap_seconds else 0}

    return ctx.service.store.write(write)


def former(tx: Transaction, id: int, now: int) -> list[FormerToken]:
    """Returns the old addresses of a listener that still work, the one that expires last first."""
    at = FORMER_TOKEN.position
    tokens = [
        FormerToken(row[0], row[at["token"]], row[at["until"]], row[at["last_used_at"]])
        for row in tx.find(FORMER_TOKEN, listener_id=id)
        if row[at["until"]] > now
    ]
    return sorted(tokens, key=lambda each: -each.until)


def record_use(tx: Transaction, former_id: int, now: int) -> None:
    """Records a call of an old address."""
    tx.update(FORMER_TOKEN, former_id, {"last_used_at": now})


def end_former(ctx: Context, id: int, former_id: int) -> None:
    """Revokes an old address of a listener. Raises NotFound, Forbidden."""

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        writing.require("update", URI, id)
        if not tx.delete(FORMER_TOKEN, id=former_id, listener_id=id):
            raise NotFound("this old address has already ended")
        _log(writing, "webhook_listener.address.ended", id)

    ctx.service.store.write(write)


def log_call(ctx: Context, id: int) -> None:
    """Writes to the activity log that an administrator runs a webhook manually. Raises AdminOnly."""
    ctx.require_admin("let webhooks respond")
    ctx.service.store.write(lambda tx: _log(RecordWriter(ctx, tx), "webhook_listener.called", id))


def _log(writing: RecordWriter, point: str, id: int) -> None:
    writing.log(point, writing.registry.type(URI).context, id, {"target": writing.label(URI, id)})


@periodic(N_("old webhook tokens"), N_("Expires addresses that were replaced."), deletes=True)
def forget_old(service: Service, now: int) -> None:
    """Deletes expired replaced tokens."""
    table: Any = FORMER_TOKEN.sql
    if service.store.read(
        lambda tx: tx.value(lambda: table.select(table.id).where(table.until <= slot(0)).limit(1), (now,))
    ):
        service.store.write(lambda tx: tx.run(lambda: table.delete().where(table.until <= slot(0)), (now,)))


def former_of(ctx: Context, id: int) -> list[FormerToken]:
    """Returns the old addresses of a webhook that still work. Raises AdminOnly."""
    ctx.require_admin("see the addresses of webhooks")
    return ctx.service.store.read(lambda tx: former(tx, id, ctx.now))
