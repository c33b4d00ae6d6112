"""Notifies once each about service targets that are nearly missed and missed, and renews the targets of open and
waiting tickets when targets, calendars or clocks of statuses change. Both are scans of indexes."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import peewee

from server import contexts
from server.access.service_actor import own_context
from server.context import Context, Service
from server.jobs.scheduler import periodic
from server.record_types.record_type import Record
from server.record_types.shared.relation_tables import GROUP_MEMBER
from server.records import event_publishing
from server.records.reading import RecordReader
from server.records.service_settings import get, put
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.transaction import Transaction
from server.tickets import due_times, rule_events
from server.tickets.types.ticket_parts.status import PENDING
from server.translation import N_

BATCH = 200  # tickets in one transaction; other writers run between two transactions
MAX_BATCHES = 50  # batches of one scan; the next scan does the rest
SEEN = "service_targets_seen"  # the version of targets and calendars applied to all open tickets
GOALS = {
    "response": N_("first response"),
    "next_response": N_("next response"),
    "resolution": N_("resolution"),
}


@periodic(N_("service targets"), N_("Assigns targets to open tickets, and notifies workers of those that are due."))
def watch(service: Service, now: int) -> int | None:
    """Renews the targets of open tickets, notifies about due ones, and returns when the next is due."""
    ctx = own_context(service, now)
    _renew_all(ctx)
    for _ in range(MAX_BATCHES):
        if service.store.read(lambda tx: not _ids_to_notify(ctx, tx, 1)):
            return service.store.read(lambda tx: _next_time(ctx, tx))
        service.store.write(lambda tx: _notify_all(RecordWriter(ctx, tx)))
    return now


def are_there(ctx: Context) -> bool:
    """Whether any service target is enabled."""
    return ctx.service.store.read(lambda tx: bool(due_times.enabled_targets(RecordReader(ctx, tx)).terms))


# -- after a change of targets or calendars ---------------------------------------------------------------------------


def _renew_all(ctx: Context) -> None:
    store = ctx.service.store

    def read(tx: Transaction) -> tuple[int, bool]:
        due_times.enabled_targets(RecordReader(ctx, tx))  # loads the hours into the cache before the writes
        version = tx.version(due_times.VERSION)
        return version, version != get(tx, SEEN, 0)

    version, has_changed = store.read(read)
    if has_changed:
        ids = store.read(lambda tx: _pending_ids(ctx, tx, 0))
        while ids:
            store.write(partial(_renew, ctx, ids))
            ids = store.read(partial(_pending_ids, ctx, after=ids[-1]))
        store.write(lambda tx: put(tx, SEEN, version))


def _pending_ids(ctx: Context, tx: Transaction, after: int) -> list[int]:
    """Returns the ids of a batch of open and waiting tickets after an id."""
    table: Any = ctx.service.registry.type("ticket").table.sql
    rows = tx.rows(
        lambda: (
            table.select(table.id)
            .where(table.status_id.in_(PENDING), table.id > slot(0))
            .order_by(table.id)
            .limit(BATCH)
        ),
        (after,),
    )
    return [row[0] for row in rows]


def _renew(ctx: Context, ids: Sequence[int], tx: Transaction) -> None:
    """Renews the columns of open and waiting tickets."""
    writing = RecordWriter(ctx, tx)
    targets = due_times.enabled_targets(writing)
    tickets = writing.registry.type("ticket")
    for ticket in map(tickets.record, tx.get_many(tickets.table, ids)):
        values = due_times.renewed(targets, ticket, writing.now) if due_times.is_pending(ticket) else {}
        if any(ticket[name] != value for name, value in values.items()):
            writing.set("ticket", ticket["id"], values)


# -- due notifications ------------------------------------------------------------------------------------------------


def _notify_all(writing: RecordWriter) -> None:
    """Sends due notifications; the same transaction marks them as sent, so that none is sent twice."""
    for id in _ids_to_notify(writing.ctx, writing.tx, BATCH):
        ticket = writing.record("ticket", id)
        if ticket is not None:
            _notify(writing, ticket)


def _notify(writing: RecordWriter, ticket: Record) -> None:
    goal = due_times.next_goal(ticket)
    is_missed = ticket["due_at"] <= writing.now
    missed = {f"{goal}_missed": 1, "tell_at": 0}
    writing.set("ticket", ticket["id"], missed if is_missed else {"tell_at": ticket["due_at"]})
    variables = {"target": writing.label("ticket", ticket["id"]), "goal": GOALS[goal]}
    if not is_missed:
        variables["minutes"] = str(max((ticket["due_at"] - writing.now + 59) // 60, 1))
    point = "ticket.target.missed" if is_missed else "ticket.target.due"
    writing.log(point, contexts.TICKET, ticket["id"], variables, also_notify=_managers(writing, ticket))
    rule_events.record(writing, ticket["id"], "target_missed" if is_missed else "target_due")
    event_publishing.publish(
        writing,
        "ticket.target",
        {
            "goal": goal,
            "due_at": ticket["due_at"],
            "is_missed": int(is_missed),
            **event_publishing.record_values("ticket", contexts.TICKET, ticket["id"]),
        },
    )


def _managers(writing: RecordWriter, ticket: Record) -> tuple[int, ...]:
    """The managers of the group, if the ticket has no owner."""
    if ticket["owner_id"]:
        return ()
    return tuple(
        row[GROUP_MEMBER.position["worker_id"]]
        for row in writing.tx.find(GROUP_MEMBER, group_id=ticket["group_id"], is_manager=1)
    )


def _ids_to_notify(ctx: Context, tx: Transaction, most: int) -> list[int]:
    table: Any = ctx.service.registry.type("ticket").table.sql
    rows = tx.rows(
        # As literal SQL, so that SQLite uses the partial index.
        lambda: (
            table.select(table.id)
            .where(peewee.SQL('"tell_at" > 0'), table.tell_at <= slot(0))
            .order_by(table.tell_at)
            .limit(slot(1))
        ),
        (ctx.now, most),
    )
    return [row[0] for row in rows]


def _next_time(ctx: Context, tx: Transaction) -> int | None:
    table: Any = ctx.service.registry.type("ticket").table.sql
    next_time = tx.value(lambda: table.select(peewee.fn.MIN(table.tell_at)).where(peewee.SQL('"tell_at" > 0')))
    return int(next_time) if next_time else None
