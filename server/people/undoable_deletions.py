"""Records that a worker has deleted on a page with an undo, for a day. Only deletions write here, so that what is
restored was there before."""

import json
from typing import Any

from server.context import Context
from server.errors import NotFound
from server.jobs.expiry import expire
from server.record_types.record_type import RecordType
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction
from server.translation import N_, _

MAX_RECORD_CHARS = 1024 * 1024  # of a record, as JSON; a longer one cannot be restored
RETENTION_SECONDS = 86400

UNDOABLE_DELETION = Table(
    "undoable_deletion",
    [
        Column("worker_id", references="worker(id)"),
        Column("uri", "TEXT"),
        Column("record_id"),
        Column("record", "TEXT"),
        Column("deleted_at"),
    ],
    [Index(("deleted_at",), "those that are too old"), Index(("uri", "record_id"), "whether a record can be restored")],
    key=("worker_id", "uri", "record_id"),
)  # record: JSON


def store(ctx: Context, tx: Transaction, uri: str, id: int, record: dict[str, Any]) -> bool:
    """Stores a record that the worker deletes in this transaction. Returns whether it can be restored."""
    text = json.dumps(record)
    if not ctx.actor.worker_id or len(text) > MAX_RECORD_CHARS:
        return False
    values = {"worker_id": ctx.actor.worker_id, "uri": uri, "record_id": id, "record": text, "deleted_at": ctx.now}
    tx.put(UNDOABLE_DELETION, values)
    return True


def take(ctx: Context, tx: Transaction, uri: str, id: int) -> dict[str, Any]:
    """Removes and returns a record that the worker restores in this transaction. Raises NotFound."""
    key = {"worker_id": ctx.actor.worker_id, "uri": uri, "record_id": id}
    row = tx.first(UNDOABLE_DELETION, **key)
    if row is None:
        raise NotFound(_("There is nothing to restore."), type=uri, id=id)
    tx.delete(UNDOABLE_DELETION, **key)
    record: dict[str, Any] = json.loads(row[UNDOABLE_DELETION.position["record"]])
    return record


def fields_of(record_type: RecordType, stored: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields with which a stored record is created again, without blank custom fields."""
    return {
        name: value
        for name, value in stored.items()
        if (name.startswith("custom_") and value) or (name in record_type.fields and name != "id")
    }


def holds(tx: Transaction, uri: str, id: int) -> bool:
    """Returns whether a worker can restore a deleted record."""
    table: Any = UNDOABLE_DELETION.sql
    return bool(
        tx.rows(
            lambda: table.select(table.record_id).where(table.uri == slot(0), table.record_id == slot(1)).limit(1),
            (uri, id),
        )
    )


forget_old = expire(
    N_("old deletions"),
    N_("Removes records that can no longer be restored."),
    UNDOABLE_DELETION,
    "deleted_at",
    RETENTION_SECONDS,
)
