"""Tickets whose time has come: waiting and closed ones open again, deleted ones are removed for good.

Found by scans of an index, so that changing a ticket leaves nothing behind that would have to be changed too."""

from typing import Any

import peewee

from server.access.own import own_context
from server.context import Context, Service
from server.desk.writing import RecordWriter
from server.jobs.scheduler import periodic
from server.records.tickets.status import CLOSED, DELETED, OPEN, WAITING
from server.store.statements import slot
from server.store.transaction import Transaction

BATCH = 100  # tickets changed in one transaction; between two of them others get their turn
MAX_BATCHES = 50  # of one scan; more are left to the next
PURGE_BATCH = 20  # a purged ticket takes its messages along
DAY_SECONDS = 86400


@periodic("tickets due to open")
def reopen_due(service: Service, now: int) -> int | None:
    """Open what is due; answers when the next ticket will be. `updated` stays. Source: Ticket state, reopen due."""
    ctx = own_context(service, now)
    for _ in range(MAX_BATCHES):
        if service.store.read(lambda tx: not _due_ids(tx, now, 1)):
            return service.store.read(lambda tx: _next_date(tx, now))
        service.store.write(lambda tx: _reopen(ctx, tx))
    return now


@periodic("deleted tickets")
def purge_deleted(service: Service, now: int) -> int | None:
    """Remove tickets that were deleted longer ago than the setting `purge_deleted_days`; 0 keeps them for ever.

    Merged ones stay, since their masks lead to the ticket that took over. Source: decisions, deleted tickets."""
    days = service.settings.purge_deleted_days
    if not days:
        return None
    ctx, before = own_context(service, now), now - days * DAY_SECONDS
    for _ in range(MAX_BATCHES):
        if service.store.read(lambda tx: not _deleted_ids(tx, before, 1)):
            return None
        service.store.write(lambda tx: _purge(ctx, tx, before))
    return now


def _reopen(ctx: Context, tx: Transaction) -> None:
    writing = RecordWriter(ctx, tx)
    for id in _due_ids(tx, ctx.now, BATCH):
        writing.update("ticket", id, {"status_id": OPEN, "reopen_date": 0})


def _purge(ctx: Context, tx: Transaction, before: int) -> None:
    writing = RecordWriter(ctx, tx)
    for id in _deleted_ids(tx, before, PURGE_BATCH):
        writing.delete("ticket", id)


def _due_ids(tx: Transaction, now: int, limit: int) -> list[int]:
    ticket = peewee.Table("ticket")
    rows = tx.rows(
        ("tickets to reopen",),
        lambda: _waiting(ticket)
        .where(ticket.c.reopen_date <= slot(0))
        .order_by(ticket.c.reopen_date, ticket.c.id)
        .limit(slot(1)),
        (now, limit),
    )
    return [row[0] for row in rows]


def _next_date(tx: Transaction, now: int) -> int | None:
    ticket = peewee.Table("ticket")
    row = tx.row(
        ("ticket to reopen next",),
        lambda: _waiting(ticket).where(ticket.c.reopen_date > slot(0)).order_by(ticket.c.reopen_date).limit(1),
        (now,),
    )
    return int(row[1]) if row else None


def _waiting(ticket: Any) -> Any:
    statuses = [_written_out(WAITING), _written_out(CLOSED)]
    query = ticket.select(ticket.c.id, ticket.c.reopen_date)
    return query.where(ticket.c.status_id.in_(statuses), ticket.c.reopen_date > _written_out(0))


def _written_out(number: int) -> peewee.SQL:
    """A constant that is no bound value: only so SQLite sees that a partial index serves."""
    return peewee.SQL(str(number))


def _deleted_ids(tx: Transaction, before: int, limit: int) -> list[int]:
    ticket = peewee.Table("ticket")
    rows = tx.rows(
        ("tickets to purge",),
        lambda: ticket.select(ticket.c.id)
        .where(ticket.c.status_id == _written_out(DELETED), ticket.c.deleted_at.between(1, slot(0)),
               ticket.c.merged_into == 0)
        .order_by(ticket.c.deleted_at, ticket.c.id)
        .limit(slot(1)),
        (before, limit),
    )  # fmt: skip
    return [row[0] for row in rows]
