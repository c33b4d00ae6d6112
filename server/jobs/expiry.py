"""Scans that remove rows after some time."""

from typing import Any

import peewee

from server.context import Service
from server.jobs.scheduler import Scan, periodic
from server.store.statements import slot
from server.store.tables import Table
from server.store.transaction import Transaction


def expire(name: str, does: str, table: Table, column: str, seconds: int) -> Scan:
    """Registers a scan that removes the rows of a table `seconds` after the time in a column, and returns when the next
    one expires. name, does: as of periodic()."""
    rows: Any = table.sql

    def next_at(tx: Transaction) -> int | None:
        oldest = tx.value(lambda: rows.select(peewee.fn.MIN(getattr(rows, column))))
        return None if oldest is None else int(oldest) + seconds

    def remove_old(service: Service, now: int) -> int | None:
        found = service.store.read(next_at)
        if found is None or found > now:
            return found
        service.store.write(
            lambda tx: tx.run(lambda: rows.delete().where(getattr(rows, column) <= slot(0)), (now - seconds,))
        )
        return service.store.read(next_at)

    return periodic(name, does, deletes=True)(remove_old)
