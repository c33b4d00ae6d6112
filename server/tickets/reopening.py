"""Records whose time has come: those that wait open again, deleted tickets are removed for good.

Found by scans of an index, so that changing a ticket leaves nothing behind that would have to be changed too."""

from typing import Any

import peewee

from server.access.service_actor import own_context
from server.context import Context, Service
from server.jobs.scheduler import periodic
from server.record_types.base import RecordType, Reopening
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.tickets.types.ticket_parts.status import DELETED

BATCH = 100  # records changed in one transaction; between two of them others get their turn
MAX_BATCHES = 50  # of one scan; more are left to the next
PURGE_BATCH = 5  # a purged ticket takes up to 50 messages along; the rest go after it
DAY_SECONDS = 86400


@periodic("records due to open")
def reopen_due(service: Service, now: int) -> int | None:
    """Open what is due, of every type that declares it; answers when the next one will be. `updated` of a ticket
    stays."""
    ctx = own_context(service, now)
    times = [_reopen_all(ctx, each) for each in service.registry if each.reopening is not None]
    return min((at for at in times if at is not None), default=None)


def _reopen_all(ctx: Context, record_type: RecordType) -> int | None:
    """As reopen_due, for one type."""
    store = ctx.service.store
    for _ in range(MAX_BATCHES):
        if store.read(lambda tx: not _due_ids(tx, record_type, ctx.now, 1)):
            return store.read(lambda tx: _next_date(tx, record_type, ctx.now))
        store.write(lambda tx: _reopen(ctx, tx, record_type))
    return ctx.now


@periodic("deleted tickets", deletes=True)
def purge_deleted(service: Service, now: int) -> int | None:
    """Remove tickets that were deleted longer ago than the setting `purge_deleted_days`; 0 keeps them for ever.

    Merged ones stay, since their masks lead to the ticket that took over."""
    days = service.settings.purge_deleted_days
    if not days:
        return None
    ctx, before = own_context(service, now), now - days * DAY_SECONDS
    for _ in range(MAX_BATCHES):
        if service.store.read(lambda tx: not _deleted_ids(tx, before, 1)):
            return None
        service.store.write(lambda tx: _purge(ctx, tx, before))
    return now


def _reopen(ctx: Context, tx: Transaction, record_type: RecordType) -> None:
    writing, declared = RecordWriter(ctx, tx), _reopening(record_type)
    for id in _due_ids(tx, record_type, ctx.now, BATCH):
        writing.update(record_type.uri, id, {declared.status: declared.open, declared.at: 0})


def _purge(ctx: Context, tx: Transaction, before: int) -> None:
    writing = RecordWriter(ctx, tx)
    for id in _deleted_ids(tx, before, PURGE_BATCH):
        writing.delete("ticket", id)


def _due_ids(tx: Transaction, record_type: RecordType, now: int, limit: int) -> list[int]:
    table, at, is_waiting = _waiting(record_type)
    rows = tx.rows(
        lambda: (
            table.select(table.id)
            .where(peewee.SQL(is_waiting), getattr(table, at) <= slot(0))
            .order_by(getattr(table, at), table.id)
            .limit(slot(1))
        ),
        (now, limit),
    )
    return [row[0] for row in rows]


def _next_date(tx: Transaction, record_type: RecordType, now: int) -> int | None:
    table, at, is_waiting = _waiting(record_type)
    found: int | None = tx.value(
        lambda: (
            table.select(getattr(table, at))
            .where(peewee.SQL(is_waiting), getattr(table, at) > slot(0))
            .order_by(getattr(table, at))
            .limit(1)
        ),
        (now,),
    )
    return found


def _waiting(record_type: RecordType) -> tuple[Any, str, str]:
    declared = _reopening(record_type)
    return record_type.table.sql, declared.at, declared.is_waiting


def _reopening(record_type: RecordType) -> Reopening:
    assert record_type.reopening is not None
    return record_type.reopening


def _written_out(number: int) -> peewee.SQL:
    """A constant that is no bound value: only so SQLite sees that a partial index serves."""
    return peewee.SQL(str(number))


def _deleted_ids(tx: Transaction, before: int, limit: int) -> list[int]:
    ticket = table_named("ticket")
    rows = tx.rows(
        lambda: (
            ticket.select(ticket.c.id)
            .where(
                ticket.c.status_id == _written_out(DELETED),
                ticket.c.deleted_at.between(1, slot(0)),
                ticket.c.merged_into == 0,
            )
            .order_by(ticket.c.deleted_at, ticket.c.id)
            .limit(slot(1))
        ),
        (before, limit),
    )
    return [row[0] for row in rows]
