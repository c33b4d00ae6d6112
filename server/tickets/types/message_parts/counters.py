"""The message counters and pointers of a ticket: number, first, first response, newest, and their senders."""

from typing import Any

import peewee

from server.record_types.parts import Change, Record, Writing
from server.store.statements import slot
from server.store.tables import table_named
from server.tickets import due_times
from server.tickets.types.message_parts import waits

WATCHED = ("ticket_id", "is_outgoing", "worker_id", "sender_id", "created")  # columns that the counters depend on


def of_first(writing: Writing, sender_id: int, *, is_outgoing: bool) -> dict[str, Any]:
    """Returns the columns of a ticket about to be created with its first message, equal to the result of `add`.

    The message must be the next one that this transaction creates, and not an automatic reply."""
    id = writing.tx.next_ids(writing.registry.type("message").table, 1).start
    return {
        "num_messages": 1,
        "num_messages_in": int(not is_outgoing),
        "num_messages_out": int(is_outgoing),
        "initial_message_id": id,
        "first_wrote_address_id": sender_id,
        "latest_message_id": id,
        "last_wrote_address_id": sender_id,
    }


def add(change: Change, writing: Writing) -> bool:
    """Counts a new message on its ticket and sets the last activity to now. Returns whether the ticket had messages
    before.

    An automatic reply without a worker is counted but is not activity: an unread ticket must not look as if it had a
    reply. The notice of a program is not activity either, and does not count as a reply."""
    ticket = writing.record("ticket", change.value("ticket_id"))
    if ticket is None or ticket["latest_message_id"] == change.id:  # counted by of_first
        return False
    is_outgoing, is_notice = change.value("is_outgoing"), change.value("is_notice")
    values: dict[str, Any] = {
        "num_messages": ticket["num_messages"] + 1,
        "num_messages_in": ticket["num_messages_in"] + (not is_outgoing),
        "num_messages_out": ticket["num_messages_out"] + bool(is_outgoing),
    }
    if not is_notice and (not change.value("is_autoreply") or change.value("worker_id")):
        values |= {
            "latest_message_id": change.id,
            "last_wrote_address_id": change.value("sender_id"),
            "updated": writing.now,
        }
    if not ticket["initial_message_id"]:
        values |= {"initial_message_id": change.id, "first_wrote_address_id": change.value("sender_id")}
    elif _is_response(change):
        if not ticket["initial_response_message_id"]:
            values |= _response(ticket, change.id, change.value("created"))
        values |= due_times.replied(writing, ticket, values, change.value("created"))
    elif not is_outgoing and not is_notice and not change.value("is_autoreply") and _had_reply(writing, ticket):
        values |= due_times.awaited(writing, ticket, change.value("created"))
    writing.set("ticket", ticket["id"], values)
    return bool(ticket["num_messages"]) and not is_notice


def _is_response(change: Change) -> bool:
    """Whether a message is a reply of a worker to the requesters."""
    return bool(change.value("is_outgoing") and change.value("worker_id") and not change.value("is_forward"))


def _had_reply(writing: Writing, ticket: Record) -> bool:
    """Whether a worker wrote to the requesters, who wait for nothing yet."""
    if ticket["next_response_since"] or not ticket["num_messages_out"]:
        return False
    first = writing.record("message", ticket["initial_message_id"])
    return bool(ticket["initial_response_message_id"]) or (first is not None and bool(first["is_outgoing"]))


def recount(writing: Writing, ticket_id: int) -> None:
    """Recomputes everything from the messages, after one was deleted, moved or changed."""
    ticket = writing.record("ticket", ticket_id)
    if ticket is None:
        return
    message = table_named("message").alias("counted")
    rows = writing.tx.rows(
        lambda: message.select(
            peewee.fn.COUNT(message.c.id),
            peewee.fn.SUM(message.c.is_outgoing),
            peewee.fn.MIN(message.c.id),
            peewee.fn.MAX(message.c.id),
            _newest_of(
                message, (message.c.is_notice == 0) & ((message.c.is_autoreply == 0) | (message.c.worker_id != 0))
            ),
            _newest_of(message, _is_reply(message)),
        ).where(message.c.ticket_id == slot(0)),
        (ticket_id,),
    )
    count, outgoing, first, newest, written, last_reply = (value or 0 for value in rows[0])
    latest = written or newest
    reply = _first_reply(writing, ticket_id, first)
    values: dict[str, Any] = {
        "num_messages": count,
        "num_messages_in": count - outgoing,
        "num_messages_out": outgoing,
        "initial_message_id": first,
        "latest_message_id": latest,
        "first_wrote_address_id": _sender(writing, first),
        "last_wrote_address_id": _sender(writing, latest),
        "initial_response_message_id": 0,
        "elapsed_response_first": 0,
    } | (_response(ticket, *reply) if reply else {})
    values |= due_times.replied(writing, ticket, values, reply[1] if reply else writing.now)
    since = _awaited_since(writing, ticket_id, last_reply) if last_reply and due_times.is_pending(ticket) else 0
    if since:
        since = max(since, ticket["next_response_since"])
        values |= due_times.awaited(writing, {**ticket, **values}, since)
    writing.set("ticket", ticket_id, values)
    waits.recompute(writing.tx, (ticket_id,))


def _newest_of(message: Any, condition: Any) -> Any:
    return peewee.fn.MAX(peewee.Case(None, ((condition, message.c.id),)))


def _is_reply(message: Any) -> Any:
    """The condition that a worker wrote to the requesters."""
    return (message.c.is_outgoing == 1) & (message.c.worker_id != 0) & (message.c.is_forward == 0)


def _awaited_since(writing: Writing, ticket_id: int, reply_id: int) -> int:
    """Returns when a requester first wrote after a reply, 0 if none did."""
    message = table_named("message").alias("awaited")
    created = writing.tx.value(
        lambda: (
            message.select(message.c.created)
            .where(
                message.c.ticket_id == slot(0),
                message.c.id > slot(1),
                message.c.is_outgoing == 0,
                message.c.is_notice == 0,
                message.c.is_autoreply == 0,
            )
            .order_by(message.c.id)
            .limit(1)
        ),
        (ticket_id, reply_id),
    )
    return int(created or 0)


def _response(ticket: Record, id: int, created: int) -> dict[str, Any]:
    return {
        "initial_response_message_id": id,
        "elapsed_response_first": max(created - ticket["created"], 0),
    }


def _first_reply(writing: Writing, ticket_id: int, first: int) -> tuple[int, int] | None:
    """Returns (id, created) of the first worker's reply; a composed message starts the ticket, and a forward goes to
    third parties."""
    message = table_named("message").alias("replied")
    row = writing.tx.row(
        lambda: (
            message.select(message.c.id, message.c.created)
            .where(
                message.c.ticket_id == slot(0),
                message.c.id != slot(1),
                _is_reply(message),
            )
            .order_by(message.c.id)
            .limit(1)
        ),
        (ticket_id, first),
    )
    return (row[0], row[1]) if row else None


def _sender(writing: Writing, message_id: int) -> int:
    message = writing.record("message", message_id)
    return int(message["sender_id"]) if message else 0
