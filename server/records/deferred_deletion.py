"""Deletes the data of deleted records that was too much for one transaction: messages, comments and files, in portions
between which other writes run. After a crash, the next start continues."""

from functools import partial

from server.access.service_actor import own_context
from server.context import Context, Service
from server.jobs.scheduler import periodic
from server.record_types.shared.relation_tables import REMAINS
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.translation import N_

TURN_PORTIONS = 50  # per scan, so that other scans run in between


@periodic(
    N_("what hung on deleted records"),
    N_("Removes messages, comments and files of deleted records that had many of them."),
)
def clear_remains(service: Service, now: int) -> int | None:
    """Deletes some portions. Returns `now` if more remain, which schedules the next scan at once."""
    ctx = own_context(service, now)
    for _ in range(TURN_PORTIONS):
        row = service.store.read(lambda tx: tx.first(REMAINS))
        if row is None:
            return None
        context, id = row
        service.store.write(partial(_clear_some, ctx, context, id))
    return now


def _clear_some(ctx: Context, context: str, id: int, tx: Transaction) -> None:
    if not RecordWriter(ctx, tx).clear(context, id):
        tx.delete(REMAINS, context=context, record_id=id)
