"""Tickets by what people call them by."""

from server.context import Context
from server.record_types.base import Record
from server.records import records
from server.store.transaction import Transaction
from server.tickets.types.ticket_parts import merges


def ticket_id(ctx: Context, mask: str) -> int | None:
    """The ticket with a mask; of one that was merged, the one that took over. None when there is none. Whether the
    caller may read it is for whoever shows it."""
    tickets = ctx.service.registry.type("ticket")

    def read(tx: Transaction) -> int | None:
        def record_of(id: int) -> Record | None:
            row = tx.get(tickets.table, id)
            return tickets.record(row) if row is not None else None

        first = tx.first(tickets.table, mask=mask)
        found = merges.survivor(record_of, tickets.record(first) if first is not None else None)
        return int(found["id"]) if found is not None else None

    return records.reading(ctx, read)
