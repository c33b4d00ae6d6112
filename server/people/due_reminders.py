"""Due reminders: their workers are notified once, also of reminders that became due while the service was down.

A scan of an index finds them, so that a changed reminder leaves no other data to update."""

from typing import Any

import peewee

from server import contexts
from server.access.service_actor import own_context
from server.context import Context, Service
from server.jobs.scheduler import periodic
from server.record_types.shared import points
from server.record_types.shared.relation_tables import LINK
from server.records import activity, event_publishing, notification_mail
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.translation import N_

CONTEXT = contexts.REMINDER
POINT = "custom.other"
BATCH = 100  # reminders of one transaction; other writes run between two of them
MAX_BATCHES = 50  # batches of one scan; the next scan handles the rest


@periodic(N_("reminders due"), N_("Notifies their workers."))
def remind_due(service: Service, now: int) -> int | None:
    """Notifies of due reminders; returns the time of the next one."""
    ctx = own_context(service, now)
    for _ in range(MAX_BATCHES):
        if service.store.read(lambda tx: not _due(tx, now, 1)):
            return service.store.read(_next_time)
        service.store.write(lambda tx: _remind(ctx, tx))
    return now


def _remind(ctx: Context, tx: Transaction) -> None:
    """Closes reminders in the transaction that notifies of them, so that no worker is notified twice."""
    writing = RecordWriter(ctx, tx)
    for id, worker_id, name in _due(tx, ctx.now, BATCH):
        writing.update("reminder", id, {"is_closed": 1})
        event_publishing.publish(writing, "reminder.remind", event_publishing.record_values("reminder", CONTEXT, id))
        about = _about(writing, worker_id, id)
        params = points.body(POINT, {"message": name}, {"message": f"ctx://{about[0]}:{about[1]}"})
        activity.notify(writing, worker_id, POINT, *about, params, notification_mail.DUE)


def _about(writing: RecordWriter, worker_id: int, id: int) -> tuple[str, int]:
    """Returns the only record that a reminder is linked to, if its worker may read it; else the reminder itself."""
    linked = [(row[2], row[3]) for row in writing.tx.find(LINK, from_context=CONTEXT, from_id=id)]
    others = [each for each in linked if each[0] != contexts.WORKER]  # linked workers watch it
    is_one = len(others) == 1 and activity.may_read_all(writing, worker_id, others[0])
    return others[0] if is_one else (CONTEXT, id)


def _due(tx: Transaction, now: int, limit: int) -> list[tuple[Any, ...]]:
    """Returns [(id, worker id, name)] of open reminders that are due, the oldest first."""
    reminder: Any = table_named("reminder")
    return tx.rows(
        lambda: (
            reminder.select(reminder.c.id, reminder.c.worker_id, reminder.c.name)
            .where(_open(), reminder.c.remind_at <= slot(0))
            .order_by(reminder.c.remind_at, reminder.c.id)
            .limit(slot(1))
        ),
        (now, limit),
    )


def _next_time(tx: Transaction) -> int | None:
    reminder: Any = table_named("reminder")
    earliest = tx.value(lambda: reminder.select(peewee.fn.MIN(reminder.c.remind_at)).where(_open()))
    return int(earliest) if earliest else None


def _open() -> peewee.SQL:
    """Written as text, so that SQLite uses the partial index."""
    return peewee.SQL('"is_closed" = 0')
