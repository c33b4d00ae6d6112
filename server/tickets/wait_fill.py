"""Computes how long requesters waited for the replies that are older than this figure: in portions, the newest tickets
first. Progress survives a crash."""

from functools import partial

import peewee

from server.context import Service
from server.jobs.scheduler import periodic
from server.store.statements import slot
from server.store.tables import Column, Table, table_named
from server.store.transaction import Transaction
from server.tickets.types.message_parts import waits
from server.translation import N_

PORTION = 50  # tickets per write
TURN_PORTIONS = 20  # per scan, so that other scans run in between
WAIT_FILL = Table("wait_fill", [Column("name", "TEXT"), Column("next_id")], key=("name",))
NAME = "replies"  # the only row. next_id: the ticket to continue with, 0 at the end


@periodic(N_("times of older replies"), N_("Computes how long customers waited for them, until all are known."))
def fill(service: Service, now: int) -> int | None:
    """Computes a limited number of portions per scan. Returns `now` while tickets remain."""
    for _ in range(TURN_PORTIONS):
        next_id = service.store.read(_next_id)
        if not next_id:
            return None
        service.store.write(partial(_portion, next_id))
    return now


def _next_id(tx: Transaction) -> int:
    """Returns the ticket to continue with, at first the newest one; 0 at the end."""
    row = tx.first(WAIT_FILL, name=NAME)
    if row is not None:
        return int(row[1])
    ticket = table_named("ticket")
    return int(tx.value(lambda: ticket.select(peewee.fn.MAX(ticket.c.id))) or 0)


def _portion(next_id: int, tx: Transaction) -> None:
    ticket = table_named("ticket")
    ids = [
        row[0]
        for row in tx.rows(
            lambda: (
                ticket.select(ticket.c.id).where(ticket.c.id <= slot(0)).order_by(ticket.c.id.desc()).limit(slot(1))
            ),
            (next_id, PORTION),
        )
    ]
    waits.recompute(tx, ids)
    tx.put(WAIT_FILL, {"name": NAME, "next_id": ids[-1] - 1 if len(ids) == PORTION else 0})
