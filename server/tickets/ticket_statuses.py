"""Names of ticket statuses as workers choose them: those of a group, their order, and what remains of deleted ones."""

from collections.abc import Iterable
from typing import Any

import peewee

from server.access.service_actor import own_context
from server.context import Context, Service
from server.jobs.expiry import expire
from server.jobs.scheduler import periodic
from server.people import undoable_deletions
from server.record_types.shared.relation_tables import TICKET_STATUS_NAME
from server.records import records
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.tables import Column, Index, Table, table_named
from server.store.transaction import Transaction
from server.tickets.types.ticket_parts import status_names
from server.tickets.types.ticket_parts.status_names import NamedStatus
from server.translation import N_

URI = "ticket_status"
BATCH = 200  # tickets in one transaction; other writers run between two transactions
FIELDS = ("name", "status_id", "group_id", "color", "clock", "position")
CLEARED = Table(
    "ticket_status_cleared",
    [Column("ticket_id", references="ticket(id)"), Column("ticket_status_id"), Column("cleared_at")],
    [
        Index(("ticket_status_id",), "the tickets that had a deleted status"),
        Index(("cleared_at",), "those of deletions that can no longer be undone"),
    ],
    key=("ticket_id",),
)  # tickets whose name was cleared by a deletion that can be undone


def all_of(ctx: Context) -> Iterable[NamedStatus]:
    """Returns all names, by state and in order; without a statement while none changes."""
    return records.reading(ctx, lambda tx: status_names.read(tx).by_id.values())


def of_group(ctx: Context, group_id: int) -> list[NamedStatus]:
    """Returns the names that tickets of a group may get."""
    return [each for each in all_of(ctx) if each.is_used_by(group_id)]


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


def delete(ctx: Context, id: int, **more: Any) -> bool:
    """Deletes a name. more: to be returned by restore(), as JSON. Returns whether the worker can restore it. Raises
    NotFound, Forbidden."""

    def write(tx: Transaction) -> bool:
        writing = RecordWriter(ctx, tx)
        stored: dict[str, Any] = {
            name: str(value) for name, value in writing.retrieve(URI, id).items() if name in FIELDS
        }
        keys = [key for key, status_id in tx.find(TICKET_STATUS_NAME) if status_id == id]
        writing.delete_sent(writing.registry.type(URI), id)
        return undoable_deletions.store(ctx, tx, URI, id, {"fields": stored, "keys": keys, "more": more})

    return ctx.service.store.write(write)


def restore(ctx: Context, id: int) -> tuple[str, dict[str, Any]]:
    """Creates a name again that the worker has deleted, with its id and former names, and sets it on the tickets that
    had it and are still in its state; returns it with what delete() was given.

    Raises NotFound, Forbidden, and Conflict for a name that another status has meanwhile."""

    def write(tx: Transaction) -> tuple[str, dict[str, Any]]:
        stored = undoable_deletions.take(ctx, tx, URI, id)
        writing = RecordWriter(ctx, tx)
        writing.create_sent(writing.registry.type(URI), stored["fields"], id)
        taken = {key for key, status_id in tx.find(TICKET_STATUS_NAME) if status_id}
        for key in stored["keys"]:
            if key not in taken:
                tx.put(TICKET_STATUS_NAME, {"name_key": key, "ticket_status_id": id})
        _restore_some(writing, id)
        writing.wake()
        return stored["fields"]["name"], stored["more"]

    return ctx.service.store.write(write)


@periodic(
    N_("names of deleted statuses"),
    N_("Clears them on tickets, which stay in their state, and sets them again after an undo."),
)
def clear_deleted(service: Service, now: int) -> None:
    """Clears the ids of deleted statuses on tickets, and sets those of restored ones again."""
    ctx = own_context(service, now)
    for change, ids in (
        (_clear_some, service.store.read(_deleted_ids)),
        (_restore_some, service.store.read(_restored_ids)),
    ):
        for id in ids:
            while service.store.write(lambda tx, change=change, id=id: change(RecordWriter(ctx, tx), id)):  # type: ignore[misc]
                pass


forget_cleared = expire(
    N_("tickets of deleted statuses"),
    N_("Forgets which tickets had a deleted status, once it can no longer be restored."),
    CLEARED,
    "cleared_at",
    undoable_deletions.RETENTION_SECONDS,
)


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


def _restored_ids(tx: Transaction) -> list[int]:
    cleared: Any = CLEARED.sql
    status = table_named(URI)
    rows = tx.rows(
        lambda: (
            cleared.select(cleared.ticket_status_id)
            .where(cleared.ticket_status_id.in_(status.select(status.c.id)))
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
    is_undoable = bool(rows) and undoable_deletions.holds(writing.tx, URI, id)
    for row in rows:
        _set(writing, row[0], 0)
        if is_undoable:
            writing.tx.put(CLEARED, {"ticket_id": row[0], "ticket_status_id": id, "cleared_at": writing.now})
    return bool(rows)


def _restore_some(writing: RecordWriter, id: int) -> bool:
    """Sets the id of a restored status on some of its tickets, if they are still in its state and its group and have no
    other name; returns whether there were any."""
    cleared: Any = CLEARED.sql
    named = status_names.read(writing.tx).by_id.get(id)
    if named is None:  # deleted again
        return False
    rows = writing.tx.rows(
        lambda: cleared.select(cleared.ticket_id).where(cleared.ticket_status_id == slot(0)).limit(slot(1)), (id, BATCH)
    )
    for (ticket_id,) in rows:
        writing.tx.delete(CLEARED, ticket_id=ticket_id)
        ticket = writing.record("ticket", ticket_id)
        if ticket is None or not named.is_used_by(ticket["group_id"]):
            continue
        if (ticket["status_id"], ticket[status_names.COLUMN]) == (named.status_id, 0):
            _set(writing, ticket_id, id)
    return bool(rows)


def _set(writing: RecordWriter, ticket_id: int, id: int) -> None:
    writing.touch("ticket", id=ticket_id)
    writing.set("ticket", ticket_id, {status_names.COLUMN: id})
