"""How many tickets were open, unassigned and overdue at each full hour, by group: what a list is compared with."""

import json
import statistics
from datetime import datetime, timedelta
from typing import Any

import peewee

from server.access.rules import Rules
from server.context import Context, Service
from server.jobs.scheduler import periodic
from server.records import records
from server.search.conditions import Condition, slots_from
from server.store.peewee_parts import stand_in
from server.store.statements import in_list, slot
from server.store.tables import Column, Table, table_named
from server.store.transaction import Transaction
from server.tickets.types.ticket_parts.status import OPEN
from server.translation import N_

HOUR_SECONDS, WEEK_SECONDS = 3600, 7 * 86400
LATE_SECONDS = 600  # a count so long after the full hour is left out
WEEKS, MIN_WEEKS = 8, 2  # compared hours of the same weekday, and how many of them show what is normal
EVERY = 0  # the group of a row that each counted hour has, also without tickets

HOURLY_COUNT = Table(
    "hourly_count",
    [Column("at"), Column("group_id"), Column("unassigned"), Column("opened"), Column("overdue")],
    key=("at", "group_id"),
)  # opened: open tickets, whoever owns them


@periodic(N_("hourly counts"), N_("Counts open, unassigned and overdue tickets, for comparison."))
def count_lists(service: Service, now: int) -> int:
    """Stores the counts of this hour, once, and returns when the next is due."""
    hour = now - now % HOUR_SECONDS
    if now - hour <= LATE_SECONDS and not service.store.read(lambda tx: tx.find(HOURLY_COUNT, at=hour, group_id=EVERY)):
        rows = service.store.read(lambda tx: _count(tx, hour))

        service.store.write(lambda tx: _store(tx, hour, rows))
    return hour + HOUR_SECONDS


def _count(tx: Transaction, hour: int) -> list[tuple[int, ...]]:
    """Returns the rows of an hour."""
    summary, ticket = table_named("ticket_summary"), table_named("ticket")
    rows = tx.rows(
        lambda: (
            summary.select(
                summary.c.group_id,
                peewee.fn.SUM(peewee.Case(None, ((summary.c.owner_id == 0, summary.c.n),), 0)),
                peewee.fn.SUM(summary.c.n),
            )
            .where(summary.c.status_id == OPEN)
            .group_by(summary.c.group_id)
        )
    )
    counts = {group_id: [unassigned, opened, 0] for group_id, unassigned, opened in rows}
    overdue = tx.rows(
        # As literal SQL, so that SQLite uses the partial index.
        lambda: (
            ticket.select(ticket.c.group_id, peewee.fn.COUNT(ticket.c.id))
            .where(peewee.SQL('"due_at" > 0'), ticket.c.due_at <= slot(0))
            .group_by(ticket.c.group_id)
        ),
        (hour,),
    )
    for group_id, number in overdue:
        counts.setdefault(group_id, [0, 0, 0])[2] = number
    return [(hour, EVERY, 0, 0, 0), *((hour, group_id, *map(int, each)) for group_id, each in counts.items())]


def usual(ctx: Context) -> dict[str, int]:
    """Returns {unassigned, open, late: the median at this hour of the same weekday} of the tickets that the caller may
    read; {} unless MIN_WEEKS were counted."""
    record_type = ctx.service.registry.type("ticket")
    readable = Rules(ctx.service.registry, ctx.actor).readable(record_type)
    if readable.columns is None or not readable.columns <= {"group_id"}:
        return {}
    local = datetime.fromtimestamp(ctx.now - ctx.now % HOUR_SECONDS, ctx.tz)
    hours = [int((local - timedelta(weeks=back)).timestamp()) for back in range(1, WEEKS + 1)]
    tickets = record_type.table.sql
    values = (*readable.values, json.dumps(hours))
    rows = records.reading(ctx, lambda tx: tx.rows(lambda: _sums(tickets, readable), values))
    if len(rows) < MIN_WEEKS:
        return {}
    return {
        name: round(statistics.median(int(row[place]) for row in rows))
        for place, name in enumerate(("unassigned", "open", "late"))
    }


def _store(tx: Transaction, hour: int, rows: list[tuple[int, ...]]) -> None:
    """Stores the rows of an hour, and removes those that are too old."""
    table: Any = HOURLY_COUNT.sql
    tx.put_many(HOURLY_COUNT, HOURLY_COUNT.names, rows)
    tx.run(lambda: table.delete().where(table.at < slot(0)), (hour - (WEEKS + 1) * WEEK_SECONDS,))


def _sums(tickets: Any, readable: Condition) -> Any:
    """Builds the select of the sums of each hour, of the groups whose tickets are readable."""
    table = stand_in(tickets, HOURLY_COUNT.sql)
    is_readable = readable.build(slots_from(0)) | (table.group_id == EVERY)
    return (
        table.select(*(peewee.fn.SUM(each) for each in (table.unassigned, table.opened, table.overdue)))
        .where(in_list(table.at, slot(len(readable.values))), is_readable)
        .group_by(table.at)
    )
