"""Shows and changes the tags of tickets."""

from collections.abc import Iterable

from server.context import Context
from server.records import records
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.tickets.types.ticket_parts import tags

Shown = dict[int, list[tuple[str, str]]]


def of_tickets(ctx: Context, ids: Iterable[int]) -> Shown:
    """Returns (name, color) of the tags by the id of their ticket. ids: of tickets that the caller may read."""
    shown: Shown = {}
    tickets = [{"id": id} for id in ids]
    for ticket_id, name, color in records.reading(ctx, lambda tx: tags.rows_of(tx, tickets)):
        shown.setdefault(ticket_id, []).append((name, color))
    return shown


def change(ctx: Context, id: int, text: str) -> dict[str, str]:
    """Adds and removes tags by name, and returns the fields that undo it. Raises NotFound, Forbidden, Invalid."""

    def write(tx: Transaction) -> dict[str, str]:
        writing, ticket = RecordWriter(ctx, tx), [{"id": id}]
        before = {name for _, name, _ in tags.rows_of(tx, ticket)}
        writing.update_sent(writing.registry.type("ticket"), id, {"tag_names": text})
        after = {name for _, name, _ in tags.rows_of(tx, ticket)}
        return {"tag_names": ", ".join([*(f"-{name}" for name in sorted(after - before)), *sorted(before - after)])}

    return ctx.service.store.write(write)
