"""Opens waiting records when they are due, and removes deleted tickets for good.

Both scan an index rather than store jobs, so that a change of a ticket has no job to update."""

from typing import Any

import peewee

from server.access.service_actor import own_context
from server.context import Context, Service
from server.jobs.scheduler import periodic
from server.record_types.record_type import RecordType, Reopening
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.tickets.types.ticket_parts.status import DELETED
from server.translation import N_

BATCH = 100  # records changed in one transaction; other writers run between two transactions
MAX_BATCHES = 50  # batches of one scan; the next scan does the rest
PURGE_BATCH = 5  # a purge deletes up to 50 messages with each ticket and the rest later
DAY_SECONDS = 86400


@periodic(N_("records due to open"), N_("Opens tickets and tasks whose reopen date has come."))
def reopen_due(service: Service, now: int) -> int | None:
    """Opens due records of every type that declares reopening, and returns when the next is due. Does not change
    `updated` of a ticket."""
    ctx = own_context(service, now)
    times = [_reopen_all(ctx, each) for each in service.registry if each.reopening is not None]
    return min((at for at in times if at is not None), default=None)


def _reopen_all(ctx: Context, record_type: RecordType) -> int | None:
    """Does the work of reopen_due for one type."""
    store = ctx.service.store
    for _ in range(MAX_BATCHES):
        if store.read(lambda tx: not _due_ids(tx, record_type, ctx.now, 1)):
            return store.read(lambda tx: _next_date(tx, record_type, ctx.now))
        store.write(lambda tx: _reopen(ctx, tx, record_type))
    return ctx.now


@periodic(
    N_("deleted tickets"), N_("Removes tickets that were deleted long enough ago, with their messages."), deletes=True
)
def purge_deleted(service: Service, now: int) -> int | None:
    """Removes tickets that were deleted more than `purge_deleted_days` ago; 0 retains them forever. Merged tickets
    stay, because their masks lead to the surviving ticket."""
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
    next_date: int | None = tx.value(
        lambda: (
            table.select(getattr(table, at))
            .where(peewee.SQL(is_waiting), getattr(table, at) > slot(0))
            .order_by(getattr(table, at))
            .limit(1)
        ),
        (now,),
    )
    return next_date


def _waiting(record_type: RecordType) -> tuple[Any, str, str]:
    declared = _reopening(record_type)
    return record_type.table.sql, declared.at, declared.is_waiting


def _reopening(record_type: RecordType) -> Reopening:
    assert record_type.reopening is not None
    return record_type.reopening


def _written_out(number: int) -> peewee.SQL:
    """A constant as a literal: with a bound value SQLite would not use the partial index."""
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
