"""Opens a ticket while a reply on it cannot be sent, so that a worker notices, and restores its status afterwards."""

import json
from typing import Any

import peewee

from server.contexts import TICKET
from server.outbox import queue_rows
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction

WAITING, CLOSED = 1, 2
# Activity that overrides the stored status: a worker set it, or a message arrived or was sent.
_DECIDES = (
    "ticket.status.open",
    "ticket.status.waiting",
    "ticket.status.closed",
    "ticket.status.deleted",
    "ticket.status.named",
    "ticket.message.inbound",
    "ticket.message.outbound",
)


def reopen(writing: RecordWriter, draft_id: int, ticket_id: int) -> None:
    """Opens a ticket that waits or is closed, and stores its previous status with the mail that failed."""
    ticket = writing.record("ticket", ticket_id)
    if ticket is None or ticket["status_id"] not in (WAITING, CLOSED):
        return
    before: dict[str, Any] = {name: ticket[name] for name in ("status_id", "status_name_id", "reopen_date")}
    writing.update("ticket", ticket_id, {"status_id": 0})
    before["entry"] = _last_entry(writing.tx, ticket_id)
    queue_rows.change(writing.tx, draft_id, {"reopened": json.dumps(before)})


def restore(writing: RecordWriter, ticket_id: int, reopened: str) -> None:
    """Restores the status of a ticket, unless it was set or written on since. reopened: as stored by reopen()."""
    if not reopened:
        return
    before = json.loads(reopened)
    ticket = writing.record("ticket", ticket_id)
    if ticket is None or _last_entry(writing.tx, ticket_id) != before.pop("entry"):
        return
    writing.update("ticket", ticket_id, before)


def _last_entry(tx: Transaction, ticket_id: int) -> int:
    entries = table_named("activity_log")
    return int(
        tx.value(
            lambda: entries.select(peewee.fn.MAX(entries.c.id)).where(
                entries.c.target__context == TICKET,
                entries.c.target_id == slot(0),
                entries.c.activity_point.in_(_DECIDES),
            ),
            (ticket_id,),
        )
        or 0
    )
