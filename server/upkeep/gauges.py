"""Records measurements every five minutes: active workers, and open tickets by group."""

from typing import Any

import peewee

from server.context import Service
from server.jobs.scheduler import periodic
from server.record_types.shared.usage_buffer import BIN_SECONDS
from server.records.metrics import builtin, record
from server.store.statements import slot
from server.store.store_local import StoreLocal
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.tickets.types.ticket_parts.status import OPEN
from server.translation import N_

ACTIVE_SECONDS = BIN_SECONDS  # time after a request in which a worker counts as active


MEASURED: StoreLocal[int] = StoreLocal()  # the begin of the last measured bin, in Unix seconds


@periodic(N_("gauges"), N_("Records the current value of each gauge."))
def measure(service: Service, now: int) -> int:
    """Measures once in each bin; returns when the next one begins."""
    begins = now - now % BIN_SECONDS
    if MEASURED.get(service.store) != begins:
        MEASURED.set(service.store, begins)
        _measure(service, now)
    return begins + BIN_SECONDS


def _measure(service: Service, now: int) -> None:
    open_tickets, active = service.store.read(lambda tx: (_open_tickets(tx), _active(tx, now - ACTIVE_SECONDS)))
    for group_id, bucket_id, count in open_tickets:
        record(service, builtin.TICKETS_OPEN, count, {"group_id": group_id, "bucket_id": bucket_id}, now)
    for worker_id in active:
        record(service, builtin.WORKERS_ACTIVE, 1, {"worker_id": worker_id}, now)


def _open_tickets(tx: Transaction) -> list[tuple[int, int, int]]:
    """Returns [(group, bucket, number)] from the counts that triggers maintain; with 0 where all tickets are closed."""
    counts = table_named("ticket_summary")

    def build() -> Any:
        is_open = peewee.Case(None, [(counts.c.status_id == slot(0), counts.c.n)], 0)
        return counts.select(counts.c.group_id, counts.c.bucket_id, peewee.fn.SUM(is_open)).group_by(
            counts.c.group_id, counts.c.bucket_id
        )

    return [(row[0], row[1], int(row[2])) for row in tx.rows(build, (OPEN,))]


def _active(tx: Transaction, since: int) -> list[int]:
    worker = table_named("worker")
    rows = tx.rows(
        lambda: worker.select(worker.c.id).where(worker.c.last_activity_at >= slot(0)),
        (since,),
    )
    return [row[0] for row in rows]
