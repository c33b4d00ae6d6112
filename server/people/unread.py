"""Notifications that a worker has not read: how many, the newest, and all of them read at once."""

from typing import Any

import peewee

from server.context import Context
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction

MAX_AT_ONCE = 1000  # marked as read; the next call goes on


def count(ctx: Context) -> int:
    """Of the caller."""
    table = table_named("notification")
    mine = (ctx.actor.worker_id,)
    return int(
        ctx.service.store.read(
            lambda tx: tx.value(
                lambda: table.select(peewee.fn.COUNT(table.c.id)).where(
                    table.c.worker_id == slot(0), table.c.is_read == 0
                ),
                mine,
            )
        )
        or 0
    )


def newest(ctx: Context) -> dict[str, Any] | None:
    """{id, text, age} of the caller's newest, age in seconds; None for none."""
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
    found = record_type.record(row)
    return {"id": found["id"], "text": record_type.label(found), "age": max(ctx.now - found["created"], 0)}


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
