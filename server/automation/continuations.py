"""Runs that wait: what an automation had in its hands at an `await`, as a row, to go on from later."""

import json
import secrets
from typing import Any

from server.automation.dictionary import plain
from server.context import Service
from server.jobs.scheduler import periodic
from server.store.statements import slot
from server.store.tables import Column, Index, Table, table_named
from server.store.transaction import Transaction

KEPT_SECONDS = 7 * 86400  # after the time that it waits for
TOKEN_BYTES = 48  # 64 characters

CONTINUATION = Table(
    "automation_continuation",
    [
        Column("token", "TEXT"),
        Column("automation", "TEXT"),
        Column("state_data", "TEXT", "{}"),
        Column("updated_at"),
        Column("expires_at"),
    ],
    [Index(("token",), "the run that goes on", unique=True), Index(("expires_at",), "those that may be dropped")],
)


def keep(tx: Transaction, id: int, automation: str, values: dict[str, Any], now: int, until: int) -> int:
    """Write what a run goes on with. id: its row, 0 for a new one. values: the whole dictionary of the run.

    Answers the row's id."""
    row = {
        "automation": automation,
        "state_data": json.dumps(plain(values)),
        "updated_at": now,
        "expires_at": max(until, now) + KEPT_SECONDS,
    }
    if id and tx.update(CONTINUATION, id, row):
        return id
    return tx.insert(CONTINUATION, row | {"token": secrets.token_urlsafe(TOKEN_BYTES)})


def read(tx: Transaction, id: int) -> tuple[str, dict[str, Any]] | None:
    """The automation's name and the dictionary that it goes on with; None when it is gone."""
    row = tx.get(CONTINUATION, id) if id else None
    if row is None:
        return None
    at = CONTINUATION.position
    return str(row[at["automation"]]), json.loads(row[at["state_data"]])


def drop(tx: Transaction, id: int) -> None:
    """Forget a run that is over."""
    if id:
        tx.delete(CONTINUATION, id=id)


@periodic("old continuations", deletes=True)
def forget_old(service: Service, now: int) -> None:
    """Drop what nobody went on with, but not what an enabled timer waits for: the service may have been down."""
    table: Any = CONTINUATION.sql
    if service.store.read(lambda tx: tx.value(lambda: _old(table.select(table.id)).limit(1), (now,))):
        service.store.write(lambda tx: tx.run(lambda: _old(table.delete()), (now,)))


def _old(query: Any) -> Any:
    table, timer = CONTINUATION.sql, table_named("automation_timer")
    awaited = timer.select(timer.c.continuation_id).where(timer.c.is_disabled == 0)
    return query.where(table.expires_at < slot(0), table.id.not_in(awaited))
