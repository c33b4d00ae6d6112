"""How long requesters waited for each reply of a worker, whether it was the first one, and whether it met its service
target. Stored with the reply, so that reports count replies without reading whole conversations.

The first response counts from the creation of the ticket, a later one from the oldest message without a reply. A reply
that nobody waited for has no time and no target."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import peewee

from server.record_types.parts import Change, Writing
from server.store.statements import in_list, slot
from server.store.tables import Column, table_named
from server.store.transaction import Transaction

# waited: in seconds. target_result: one of RESULTS, of the target when the reply was written.
COLUMNS = (Column("waited"), Column("is_first_response"), Column("target_result"))
NO_TARGET, MET, LATE = range(3)
_WRITTEN = tuple(each.name for each in COLUMNS)
RESULTS = {"none": NO_TARGET, "met": MET, "late": LATE}
_READ = (
    "id",
    "ticket_id",
    "created",
    "is_outgoing",
    "worker_id",
    "is_forward",
    "is_notice",
    "is_autoreply",
    "waited",
    "is_first_response",
    "target_result",
)


def apply(change: Change, writing: Writing) -> None:
    """Adds the time that requesters waited to a reply that is about to be created."""
    if not (change.value("is_outgoing") and change.value("worker_id")) or change.value("is_forward"):
        return
    ticket = writing.record("ticket", change.value("ticket_id"))
    if ticket is None or not ticket["num_messages_in"]:
        return
    reply, since = _last(writing.tx, ticket["id"]) if ticket["num_messages_out"] else (0, 0)
    created = change.value("created") or writing.now
    columns = _columns(created, since if reply else ticket["created"], is_first=not reply)
    if columns["waited"]:
        due = ticket["next_response_due_at" if reply else "response_due_at"]
        columns["target_result"] = (LATE if due < created else MET) if due else NO_TARGET
    change.new.update(columns)


def recompute(tx: Transaction, ticket_ids: Iterable[int]) -> int:
    """Corrects the times of all messages of some tickets; returns the number of changed messages."""
    message, ticket, ids = table_named("message"), table_named("ticket"), str(sorted(ticket_ids))
    rows = tx.rows(
        lambda: (
            message.select(*(getattr(message.c, name) for name in _READ))
            .where(in_list(message.c.ticket_id, slot(0)))
            .order_by(message.c.ticket_id, message.c.id)
        ),
        (ids,),
    )
    opened: dict[int, int] = dict(
        tx.rows(lambda: ticket.select(ticket.c.id, ticket.c.created).where(in_list(ticket.c.id, slot(0))), (ids,))
    )
    conversations: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        conversations[row[1]].append(dict(zip(_READ, row, strict=True)))
    changed = 0
    for id, messages in conversations.items():
        for each, values in _waits(messages, opened.get(id, 0)):
            # A deadline of the past is not known any more, only that there is none if nobody waited.
            values["target_result"] = each["target_result"] if values["waited"] else NO_TARGET
            if any(each[name] != value for name, value in values.items()):
                tx.run(
                    lambda: message.update(
                        {getattr(message.c, name): slot(place) for place, name in enumerate(_WRITTEN)}
                    ).where(message.c.id == slot(len(_WRITTEN))),
                    (*(values[name] for name in _WRITTEN), each["id"]),
                )
                changed += 1
    return changed


def _waits(messages: Iterable[Mapping[str, Any]], opened: int) -> Iterable[tuple[Mapping[str, Any], dict[str, int]]]:
    """Yields each message of a ticket with its columns. opened: when the ticket was created."""
    since, has_reply = 0, False
    for each in messages:
        values = {"waited": 0, "is_first_response": 0}
        if each["is_outgoing"] and each["worker_id"] and not each["is_forward"]:
            values = _columns(each["created"], since, is_first=not has_reply)
            since, has_reply = 0, True
        elif not (each["is_outgoing"] or each["is_notice"] or each["is_autoreply"]) and not since:
            since = each["created"] if has_reply else opened
        yield each, values


def _columns(created: int, since: int, *, is_first: bool) -> dict[str, int]:
    """Returns the columns of a reply. since: when the wait began, 0 if nobody waited."""
    if not since:
        return {"waited": 0, "is_first_response": 0}
    return {"waited": max(created - since, 1), "is_first_response": int(is_first)}


def _last(tx: Transaction, ticket_id: int) -> tuple[int, int]:
    """Returns the id of the last reply to a ticket, and when a requester first wrote after it; 0 for none."""
    message = table_named("message").alias("replied")
    reply = tx.value(
        lambda: message.select(peewee.fn.MAX(message.c.id)).where(
            message.c.ticket_id == slot(0),
            message.c.is_outgoing == 1,
            message.c.worker_id != 0,
            message.c.is_forward == 0,
        ),
        (ticket_id,),
    )
    since = tx.value(
        lambda: message.select(peewee.fn.MIN(message.c.created)).where(
            message.c.ticket_id == slot(0),
            message.c.is_outgoing == 0,
            message.c.is_notice == 0,
            message.c.is_autoreply == 0,
            message.c.id > slot(1),
        ),
        (ticket_id, reply or 0),
    )
    return int(reply or 0), int(since or 0)
