"""Finds tickets by mask, the number that people see."""

from server.context import Context
from server.record_types.record_type import Record
from server.records import records
from server.store.transaction import Transaction
from server.tickets.types.ticket_parts import merges


def ticket_id(ctx: Context, mask: str) -> int | None:
    """Returns the id of the ticket with a mask, or None. For a merged ticket, returns the ticket it was merged into.

    Does not check whether the caller may read it; the page that shows it does."""
    tickets = ctx.service.registry.type("ticket")

    def read(tx: Transaction) -> int | None:
        def record_of(id: int) -> Record | None:
            row = tx.get(tickets.table, id)
            return tickets.record(row) if row is not None else None

        first = tx.first(tickets.table, mask=mask)
        ticket = merges.survivor(record_of, tickets.record(first) if first is not None else None)
        return int(ticket["id"]) if ticket is not None else None

    return records.reading(ctx, read)
