"""Detects messages, notes and queued replies that others wrote on a ticket after a page of it was shown, before a reply
from that page is sent; and stores what each worker has seen of a ticket, for their next visit."""

from typing import Any

import peewee

from server import contexts
from server.context import Context
from server.dataclass import dataclass
from server.errors import Conflict
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.tables import Column, Index, Table, table_named
from server.store.transaction import Transaction
from server.translation import N_

DIGITS = 18  # maximum length of a number in a mark
TICKET_LOOK = Table(
    "ticket_look",
    [
        Column("ticket_id", references="ticket(id)"),
        Column("worker_id", references="worker(id)"),
        Column("message_id"),
        Column("comment_id"),
        Column("seen_at"),
    ],
    [Index(("worker_id",), "the rows of a deleted worker")],
    key=("ticket_id", "worker_id"),
)  # message_id, comment_id: the newest message and note of others that the worker has seen


@dataclass(frozen=True, slots=True)
class Mark:
    """The newest message, note and queued reply of others by id, and the number of messages, because a merge adds older
    ones."""

    messages: int
    message: int
    comment: int
    draft: int

    def __str__(self) -> str:
        return f"{self.messages}.{self.message}.{self.comment}.{self.draft}"

    def is_before(self, other: "Mark") -> bool:
        """Whether the other mark includes something newer."""
        return (
            other.messages > self.messages
            or other.message > self.message
            or other.comment > self.comment
            or other.draft > self.draft
        )


def parse(text: str) -> Mark | None:
    """Parses the mark in a form; returns None for an invalid one."""
    parts = text.split(".")
    if len(parts) != 4 or not all(each.isascii() and each.isdigit() and len(each) <= DIGITS for each in parts):
        return None
    return Mark(*map(int, parts))


def mark(ctx: Context, ticket_id: int) -> Mark:
    """Returns the mark of everything that others have written on a ticket so far."""
    return ctx.service.store.read(lambda tx: _mark(tx, ticket_id, ctx.actor.worker_id))


def last_look(ctx: Context, ticket_id: int) -> tuple[Mark, int] | None:
    """Returns the mark of what the caller saw of a ticket by their last visit, without queued replies, and when they
    saw the newest of it; None if they never saw the ticket."""
    row = ctx.service.store.read(lambda tx: tx.first(TICKET_LOOK, ticket_id=ticket_id, worker_id=ctx.actor.worker_id))
    if row is None:
        return None
    message, comment, seen_at = (row[TICKET_LOOK.position[name]] for name in ("message_id", "comment_id", "seen_at"))
    return Mark(0, message, comment, 0), seen_at


def store_look(ctx: Context, ticket_id: int, seen: Mark) -> None:
    """Stores what the caller has seen of a ticket, if anything of it is new."""
    before = last_look(ctx, ticket_id)
    if before is not None and seen.message <= before[0].message and seen.comment <= before[0].comment:
        return
    values = {"ticket_id": ticket_id, "worker_id": ctx.actor.worker_id, "seen_at": ctx.now}
    values |= {"message_id": seen.message, "comment_id": seen.comment}
    ctx.service.store.write(lambda tx: tx.put(TICKET_LOOK, values))


def require_seen(writing: RecordWriter, ticket_id: int, mark: Mark | None) -> None:
    """Raises Conflict if others wrote on the ticket after the mark."""
    if mark is not None and mark.is_before(_mark(writing.tx, ticket_id, writing.ctx.actor.worker_id)):
        raise Conflict(N_("somebody wrote on the ticket in the meantime; read it, then send again"), unseen=True)


def _mark(tx: Transaction, ticket_id: int, worker_id: int) -> Mark:
    [(messages, message_id)] = tx.rows(_messages, (ticket_id, worker_id))
    comment_id: Any = tx.value(_newest_comment, (contexts.TICKET, ticket_id, contexts.WORKER, worker_id))
    draft_id: Any = tx.value(_newest_waiting, (ticket_id, worker_id))
    return Mark(messages, message_id or 0, comment_id or 0, draft_id or 0)


def _messages() -> Any:
    """The number and newest id of the messages on a ticket that a given worker did not send."""
    table = table_named("message")
    return table.select(peewee.fn.COUNT(peewee.SQL("*")), peewee.fn.MAX(table.c.id)).where(
        table.c.ticket_id == slot(0), (table.c.is_outgoing == 0) | (table.c.worker_id != slot(1))
    )


def _newest_comment() -> Any:
    """The newest note of another worker on a ticket."""
    table = table_named("comment")
    return table.select(peewee.fn.MAX(table.c.id)).where(
        table.c.target__context == slot(0),
        table.c.target_id == slot(1),
        table.c.author__context == slot(2),
        table.c.author_id != slot(3),
    )


def _newest_waiting() -> Any:
    """The newest queued reply of another worker."""
    table = table_named("draft")
    return table.select(peewee.fn.MAX(table.c.id)).where(
        table.c.ticket_id == slot(0), table.c.is_queued == 1, table.c.worker_id != slot(1)
    )
