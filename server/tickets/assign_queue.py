"""Assigns tickets that had to wait for a worker: nobody was available, or the hours of their group had not begun."""

from functools import partial

import peewee

from server import contexts
from server.access.service_actor import own_context
from server.context import Context, Service
from server.jobs.scheduler import periodic
from server.people import next_owner
from server.people.next_owner import ASSIGN_QUEUE, OFF, Outlook
from server.record_types.parts import Reading, Record
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Row, Transaction
from server.tickets.assignment import ASSIGNED
from server.tickets.types.ticket_parts.status import OPEN
from server.translation import N_

BATCH = 20  # tickets assigned in one transaction; other writers run between two transactions
MAX_BATCHES = 50  # batches of one group in one scan; the next scan does the rest
MAX_ADDED = 500  # tickets added to a queue at once
AGAIN_SECONDS = 15  # until waiting tickets are tried again


@periodic(N_("tickets to assign"), N_("Assigns tickets that wait for a worker, by the way of their group."))
def assign_waiting(service: Service, now: int) -> int | None:
    """Assigns waiting tickets, the oldest first, and returns when to try again."""
    ctx = own_context(service, now)
    service.store.read(lambda tx: _load_hours(tx, now))
    group_ids = service.store.read(_groups_in_queue)
    times = [_assign_in_group(ctx, id) for id in group_ids]
    return min((at for at in times if at is not None), default=None)


def outlook(ctx: Context, group_id: int) -> Outlook:
    """Returns what happens to the next ticket of a group. Raises NotFound."""

    def read(tx: Transaction) -> Outlook:
        return next_owner.outlook(tx, ctx.now, RecordReader(ctx, tx).retrieve("group", group_id))

    return ctx.service.store.read(read)


def add_unowned(ctx: Context, group_id: int) -> int:
    """Adds the oldest open tickets of a group without an owner to its queue, at most MAX_ADDED, and returns their
    number. Raises NotFound, Forbidden."""
    ids = ctx.service.store.read(lambda tx: _unowned_ids(tx, group_id))

    def write(tx: Transaction) -> int:
        writing = RecordWriter(ctx, tx)
        writing.require("update", "group", group_id)
        for id in ids:
            tx.add(ASSIGN_QUEUE, {"ticket_id": id, "group_id": group_id, "way": "", "since": writing.now})
        writing.log(
            "group.tickets.queued",
            contexts.GROUP,
            group_id,
            {"target": writing.label("group", group_id), "count": str(len(ids))},
        )
        writing.wake()
        return len(ids)

    return ctx.service.store.write(write)


def _unowned_ids(tx: Transaction, group_id: int) -> list[int]:
    ticket, queue = table_named("ticket"), ASSIGN_QUEUE.sql
    rows = tx.rows(
        lambda: (
            ticket.select(ticket.c.id)
            .join(queue, peewee.JOIN.LEFT_OUTER, on=(queue.ticket_id == ticket.c.id))
            .where(
                ticket.c.group_id == slot(0),
                ticket.c.status_id == OPEN,
                ticket.c.owner_id == 0,
                queue.ticket_id.is_null(),
            )
            .order_by(ticket.c.updated)
            .limit(MAX_ADDED)
        ),
        (group_id,),
    )
    return [row[0] for row in rows]


def _load_hours(tx: Transaction, now: int) -> None:
    """Loads the hours of groups into the cache, so that no write has to."""
    group = table_named("group")
    rows = tx.rows(
        lambda: group.select(group.c.assign_calendar_id).where(
            group.c.assign_way != OFF, group.c.assign_calendar_id > 0
        )
    )
    for row in rows:
        next_owner.hours_begin(tx, now, {"assign_calendar_id": row[0]})


def _groups_in_queue(tx: Transaction) -> list[int]:
    queue = ASSIGN_QUEUE.sql
    return [row[0] for row in tx.rows(lambda: queue.select(queue.group_id).distinct())]


def _assign_in_group(ctx: Context, group_id: int) -> int | None:
    """Does the work of assign_waiting for one group."""
    store = ctx.service.store
    for _ in range(MAX_BATCHES):
        at = store.read(lambda tx: _ready_at(RecordReader(ctx, tx), group_id))
        if at != ctx.now:
            return at
        store.write(partial(_assign, ctx, group_id))
    return ctx.now


def _ready_at(reading: RecordReader, group_id: int) -> int | None:
    """Returns when the first ticket in the queue of a group can be assigned or leave it; None for an empty queue."""
    rows = _first_in_queue(reading.tx, group_id, 1)
    if not rows:
        return None
    ticket, group = _waiting_ticket(reading, group_id, rows[0]), reading.record("group", group_id)
    if ticket is None or group is None:
        return reading.now
    begins_at = next_owner.hours_begin(reading.tx, reading.now, group)
    if begins_at != 0:
        return begins_at
    way = _way_of_row(group, rows[0])
    is_ready = way == OFF or next_owner.choose(reading.tx, reading.now, group, way) is not None
    return reading.now + (0 if is_ready else AGAIN_SECONDS)


def _assign(ctx: Context, group_id: int, tx: Transaction) -> None:
    """Assigns the first tickets in the queue of a group, and removes those that no longer wait."""
    writing = RecordWriter(ctx, tx)
    group = writing.record("group", group_id)
    for row in _first_in_queue(tx, group_id, BATCH):
        ticket, way = _waiting_ticket(writing, group_id, row), _way_of_row(group, row)
        if ticket is not None and group is not None and way != OFF:
            candidate = next_owner.choose(tx, writing.now, group, way)
            if candidate is None:
                return
            writing.update("ticket", ticket["id"], {"owner_id": candidate.worker_id, ASSIGNED: way})
        tx.delete(ASSIGN_QUEUE, ticket_id=row[0])


def _first_in_queue(tx: Transaction, group_id: int, most: int) -> list[Row]:
    """Returns (ticket id, way) of the tickets that have waited longest."""
    queue = ASSIGN_QUEUE.sql
    return tx.rows(
        lambda: (
            queue.select(queue.ticket_id, queue.way)
            .where(queue.group_id == slot(0))
            .order_by(queue.since, queue.ticket_id)
            .limit(slot(1))
        ),
        (group_id, most),
    )


def _waiting_ticket(reading: Reading, group_id: int, row: Row) -> Record | None:
    """Returns the ticket of a row of the queue, None if it does not wait any more."""
    ticket = reading.record("ticket", row[0])
    if ticket is None or ticket["owner_id"] or ticket["status_id"] != OPEN or ticket["group_id"] != group_id:
        return None
    return ticket


def _way_of_row(group: Record | None, row: Row) -> str:
    return OFF if group is None else str(row[1] or group["assign_way"])
