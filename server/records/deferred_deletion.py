"""Takes away what hung on deleted records and was too much for one transaction: messages, comments and files, in
portions, so that others can write in between. What a process that was killed has left goes after the next
start."""

from functools import partial

from server.access.service_actor import own_context
from server.context import Context, Service
from server.jobs.scheduler import periodic
from server.record_types.shared.tables import REMAINS
from server.records.writing import RecordWriter
from server.store.transaction import Transaction

TURN_PORTIONS = 50  # of one scan, so that other scans get their turn


@periodic("what hung on deleted records")
def clear_remains(service: Service, now: int) -> int | None:
    """Do some portions; answers when there is more: now."""
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
