"""The numbers of tickets in the lists that stand beside every page. One statement counts for all workers who may read
the same tickets, another for the worker, and neither runs again until a record has changed."""

from collections.abc import Mapping
from typing import Any

import peewee

from server.access.rules import Rules
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import Gone
from server.records import changes
from server.records.reading import RecordReader
from server.search.conditions import Condition, slots_from
from server.store.peewee_parts import stand_in
from server.store.statements import slot
from server.store.tables import Table
from server.store.transaction import Row, Transaction
from server.tickets import due_times
from server.tickets.types.ticket_parts.status import OPEN, WAITING

MAX_GROUPS = 12  # listed groups
ONE = peewee.SQL("1")
CHANGING = ("ticket", "draft", "saved_search")  # the types whose changes move these numbers


@dataclass(frozen=True, slots=True)
class TeamCounts:
    """Tickets that some workers may read. at: the cursor after the last change that is counted. groups: {id: (name,
    open tickets)} of the workers' groups, by name; of those with the most open tickets for workers without a group.
    has_targets: whether there are service targets. has_articles: whether there are help articles."""

    at: int
    unassigned: int
    open: int
    waiting: int
    groups: Mapping[int, tuple[str, int]]
    has_targets: bool
    has_articles: bool


@dataclass(frozen=True, slots=True)
class ListCounts:
    """A worker's tickets, and those of all who may read the same. drafts: the worker's, including email that is sent
    later."""

    open: int
    waiting: int
    drafts: int
    team: TeamCounts


def read(ctx: Context) -> ListCounts:
    """Returns the numbers of the caller's lists."""
    return ctx.service.store.read(lambda tx: _read(ctx, tx))


def changed_since(service: Service, cursor: int) -> tuple[bool, int]:
    """Returns whether a counted record changed after a cursor, and the next cursor. Tickets that the caller may not
    read count as well: a ticket that becomes unreadable leaves a list."""

    def read(tx: Transaction) -> tuple[bool, int]:
        try:
            page = changes.page_for_service(service, tx, cursor, 1, CHANGING)
        except Gone:  # so old, or of a database that was restored since
            return True, changes.now(tx)
        return (True, changes.now(tx)) if page.changes else (False, page.cursor)

    return service.store.read(lambda tx: changes.until_next(tx, (changed_since, cursor), lambda: read(tx)))


def _read(ctx: Context, tx: Transaction) -> ListCounts:
    readers = Rules(ctx.service.registry, ctx.actor).readers(ctx.service.registry.type("ticket"))
    key = (TeamCounts, readers, _own_groups(ctx), tx.version(due_times.VERSION))
    team = changes.until_next(tx, key, lambda: _count_for_team(ctx, tx))
    return changes.until_next(tx, (ListCounts, ctx.actor.reading, key), lambda: _count_own(ctx, tx, team))


def _own_groups(ctx: Context) -> frozenset[int]:
    return ctx.actor.member_of | ctx.actor.manages


def _count_for_team(ctx: Context, tx: Transaction) -> TeamCounts:
    rows = _counts_by_group(tx, *_tickets(ctx))
    open_rows = [row for row in rows if row[1] == OPEN]
    article = ctx.service.registry.type("kb_article").table.sql
    return TeamCounts(
        at=changes.now(tx),
        unassigned=sum(row[3] for row in open_rows),
        open=sum(row[2] for row in open_rows),
        waiting=sum(row[2] for row in rows if row[1] == WAITING),
        groups=_groups(ctx, tx, {row[0]: row[2] for row in open_rows}),
        has_targets=bool(due_times.enabled_targets(RecordReader(ctx, tx)).terms),
        has_articles=tx.value(lambda: article.select(article.id).limit(1)) is not None,
    )


def _count_own(ctx: Context, tx: Transaction, team: TeamCounts) -> ListCounts:
    tickets = _counts_of_owner(tx, *_tickets(ctx), ctx.actor.worker_id)
    draft = ctx.service.registry.type("draft").table.sql
    drafts = tx.value(
        lambda: draft.select(peewee.fn.COUNT(draft.id)).where(draft.worker_id == slot(0)), (ctx.actor.worker_id,)
    )
    return ListCounts(tickets.get(OPEN, 0), tickets.get(WAITING, 0), int(drafts or 0), team)


def _counts_by_group(tx: Transaction, table: Table, readable: Condition) -> list[Row]:
    """Returns rows of group, status, and the numbers of all open or waiting tickets and of those without owner."""
    if _is_summed(table, readable):
        rows = tx.rows(lambda: _by_group(*_summary(table), readable), readable.values)
    else:
        rows = tx.rows(lambda: _by_group(table.sql, ONE, readable), readable.values)
    return [tuple(int(value) for value in row) for row in rows]


def _counts_of_owner(tx: Transaction, table: Table, readable: Condition, owner_id: int) -> dict[int, int]:
    """Returns {status: number of the owner's open or waiting tickets}."""
    values = (*readable.values, owner_id)
    if _is_summed(table, readable):
        rows = tx.rows(lambda: _of_owner(*_summary(table), readable), values)
    else:
        rows = tx.rows(lambda: _of_owner(table.sql, ONE, readable), values)
    return {int(status): int(number) for status, number in rows}


def _tickets(ctx: Context) -> tuple[Table, Condition]:
    """Returns the table of tickets, and the condition for those that the worker may read."""
    record_type = ctx.service.registry.type("ticket")
    return record_type.table, Rules(ctx.service.registry, ctx.actor).readable(record_type)


def _is_summed(table: Table, readable: Condition) -> bool:
    """Returns whether the summary of tickets suffices to decide what the worker may read."""
    return readable.columns is not None and readable.columns <= set(table.summary)


def _summary(table: Table) -> tuple[Any, Any]:
    """Returns the summary in place of the table, and the number of tickets in a row."""
    summary = stand_in(table.sql, table.summary_table.sql)
    return summary, summary.n


def _by_group(tickets: Any, number: Any, readable: Condition) -> Any:
    """Builds a select. number: of tickets in a row."""
    unowned = peewee.Case(None, [(tickets.owner_id == 0, number)], 0)
    return (
        tickets.select(tickets.group_id, tickets.status_id, peewee.fn.SUM(number), peewee.fn.SUM(unowned))
        .where(tickets.status_id.in_((OPEN, WAITING)), readable.build(slots_from(0)))
        .group_by(tickets.group_id, tickets.status_id)
    )


def _of_owner(tickets: Any, number: Any, readable: Condition) -> Any:
    """Builds a select. number: of tickets in a row."""
    return (
        tickets.select(tickets.status_id, peewee.fn.SUM(number))
        .where(tickets.owner_id == slot(len(readable.values)), tickets.status_id.in_((OPEN, WAITING)))
        .where(readable.build(slots_from(0)))
        .group_by(tickets.status_id)
    )


def _groups(ctx: Context, tx: Transaction, open_tickets: Mapping[int, int]) -> dict[int, tuple[str, int]]:
    """Returns the listed groups. open_tickets: by group."""
    by_number = sorted(open_tickets, key=lambda id: (-open_tickets[id], id))
    group_type = ctx.service.registry.type("group")
    ids = sorted(_own_groups(ctx)) or by_number[:MAX_GROUPS]
    rows = map(group_type.record, tx.get_many(group_type.table, ids))
    named = sorted(((str(row["name"]), row["id"]) for row in rows), key=lambda each: (each[0].casefold(), each[1]))
    return {id: (name, open_tickets.get(id, 0)) for name, id in named[:MAX_GROUPS]}
