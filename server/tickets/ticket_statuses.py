"""Names of ticket statuses as workers choose them: those of a group, their order, and what remains of deleted ones."""

from collections.abc import Iterable
from typing import Any

import peewee

from server.access.service_actor import own_context
from server.context import Context, Service
from server.jobs.scheduler import periodic
from server.records import records
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.tickets.types.ticket_parts import status_names
from server.tickets.types.ticket_parts.status_names import NamedStatus
from server.translation import N_

URI = "ticket_status"
BATCH = 200  # tickets in one transaction; other writers run between two transactions


def all_of(ctx: Context) -> Iterable[NamedStatus]:
    """Returns all names, by state and in order; without a statement while none changes."""
    return records.reading(ctx, lambda tx: status_names.read(tx).by_id.values())


def of_group(ctx: Context, group_id: int) -> list[NamedStatus]:
    """Returns the names that tickets of a group may get."""
    return [each for each in all_of(ctx) if each.group_id in (0, group_id)]


def move(ctx: Context, id: int, by: int) -> None:
    """Moves a status down among those of its state, up if `by` is negative. Raises NotFound, Forbidden."""

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        state = writing.retrieve(URI, id)["status_id"]
        listed = [each for each in status_names.read(tx).by_id.values() if each.status_id == state]
        place = next(number for number, each in enumerate(listed) if each.id == id)
        listed.insert(min(max(place + by, 0), len(listed) - 1), listed.pop(place))
        for number, each in enumerate(listed):
            if each.position != number:
                writing.update_sent(writing.registry.type(URI), each.id, {"position": str(number)})

    ctx.service.store.write(write)


@periodic(N_("names of deleted statuses"), N_("Clears them on tickets, which stay in their state."))
def clear_deleted(service: Service, now: int) -> None:
    """Clears the ids of deleted statuses on tickets."""
    ctx = own_context(service, now)
    for id in service.store.read(_deleted_ids):
        while service.store.write(lambda tx, id=id: _clear_some(RecordWriter(ctx, tx), id)):  # type: ignore[misc]
            pass


def _deleted_ids(tx: Transaction) -> list[int]:
    counts, status = table_named("ticket_summary"), table_named(URI)
    rows = tx.rows(
        lambda: (
            counts.select(counts.c.status_name_id)
            .where(counts.c.status_name_id > 0, counts.c.status_name_id.not_in(status.select(status.c.id)))
            .distinct()
        )
    )
    return [row[0] for row in rows]


def _clear_some(writing: RecordWriter, id: int) -> bool:
    """Clears the id on some tickets; returns whether there were any."""
    ticket: Any = table_named("ticket")
    rows = writing.tx.rows(
        # The second condition as literal SQL, so that SQLite uses the partial index.
        lambda: (
            ticket.select(ticket.c.id)
            .where(ticket.c.status_name_id == slot(0), peewee.SQL('"status_name_id" > 0'))
            .limit(slot(1))
        ),
        (id, BATCH),
    )
    for row in rows:
        writing.touch("ticket", id=row[0])
        writing.set("ticket", row[0], {status_names.COLUMN: 0})
    return bool(rows)
