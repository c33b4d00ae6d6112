"""Stores the state of an automation at an `await` as a row, so that the run can be resumed later."""

import json
import secrets
from typing import Any

from server.automation.run_dictionary import plain
from server.context import Service
from server.jobs.scheduler import periodic
from server.store.statements import slot
from server.store.tables import Column, Index, Table, table_named
from server.store.transaction import Transaction
from server.translation import N_

KEPT_SECONDS = 7 * 86400  # retention after the time at which the run should have been resumed
TOKEN_BYTES = 48  # gives a token of 64 characters

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
    """Stores the state of a run and returns the id of its row. id: 0 for a new row. values: the whole dictionary of the
    run."""
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
    """Returns the automation's name and the dictionary to resume with; None if the row does not exist."""
    row = tx.get(CONTINUATION, id) if id else None
    if row is None:
        return None
    at = CONTINUATION.position
    return str(row[at["automation"]]), json.loads(row[at["state_data"]])


def drop(tx: Transaction, id: int) -> None:
    """Deletes the state of a finished run."""
    if id:
        tx.delete(CONTINUATION, id=id)


@periodic(N_("old continuations"), N_("Removes runs that nothing resumed."), deletes=True)
def forget_old(service: Service, now: int) -> None:
    """Deletes states that were never resumed, except those that an enabled timer waits for: the service may have been
    down."""
    table: Any = CONTINUATION.sql
    if service.store.read(lambda tx: tx.value(lambda: _old(table.select(table.id)).limit(1), (now,))):
        service.store.write(lambda tx: tx.run(lambda: _old(table.delete()), (now,)))


def _old(query: Any) -> Any:
    table, timer = CONTINUATION.sql, table_named("automation_timer")
    awaited = timer.select(timer.c.continuation_id).where(timer.c.is_disabled == 0)
    return query.where(table.expires_at < slot(0), table.id.not_in(awaited))
