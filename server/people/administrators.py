"""The workers who are notified of problems of the service."""

from server.store.tables import table_named
from server.store.transaction import Transaction


def administrators(tx: Transaction) -> tuple[int, ...]:
    """The ids of the workers who are notified of problems of the service."""
    worker = table_named("worker")
    rows = tx.rows(
        lambda: worker.select(worker.c.id).where(worker.c.is_superuser == 1, worker.c.is_disabled == 0),
    )
    return tuple(row[0] for row in rows)
