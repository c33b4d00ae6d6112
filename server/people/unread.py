"""Unread notifications of a worker: their number, the newest one, and marking all as read."""

from typing import Any

import peewee

from server.context import Context
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction

MAX_AT_ONCE = 1000  # marked as read; the next call continues


def count(ctx: Context) -> int:
    """Returns the number of the caller's unread notifications."""
    return ctx.service.store.read(lambda tx: count_of(tx, ctx.actor.worker_id))


def count_of(tx: Transaction, worker_id: int) -> int:
    """Returns the number of a worker's unread notifications."""
    table = table_named("notification")
    return int(
        tx.value(
            lambda: table.select(peewee.fn.COUNT(table.c.id)).where(table.c.worker_id == slot(0), table.c.is_read == 0),
            (worker_id,),
        )
        or 0
    )


def newest(ctx: Context) -> dict[str, Any] | None:
    """Returns {id, text, age} of the caller's newest unread notification, age in seconds; None without one."""
    record_type = ctx.service.registry.type("notification")
    table = record_type.table
    row = ctx.service.store.read(
        lambda tx: tx.row(
            lambda: (
                table.sql.select(*table.all_columns)
                .where(table.sql.worker_id == slot(0), table.sql.is_read == 0)
                .order_by(table.sql.id.desc())
                .limit(1)
            ),
            (ctx.actor.worker_id,),
        )
    )
    if row is None:
        return None
    notification = record_type.record(row)
    return {
        "id": notification["id"],
        "text": record_type.label(notification),
        "age": max(ctx.now - notification["created"], 0),
    }


def read_all(ctx: Context) -> list[int]:
    """Marks the caller's notifications as read; returns the ids of those that were unread."""

    def write(tx: Transaction) -> list[int]:
        writing = RecordWriter(ctx, tx)
        table = writing.registry.type("notification").table
        ids = [row[0] for row in tx.some(table, MAX_AT_ONCE, worker_id=ctx.actor.worker_id, is_read=0)]
        for id in ids:
            writing.update("notification", id, {"is_read": 1})
        return ids

    return ctx.service.store.write(write)
