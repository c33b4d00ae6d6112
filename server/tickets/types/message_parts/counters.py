"""What a ticket keeps of its messages: how many there are, the first, the first reply, the newest, and the writers."""

from typing import Any

import peewee

from server.record_types.parts import Change, Record, Writing
from server.store.statements import slot
from server.store.tables import table_named
from server.tickets import due_times

WATCHED = ("ticket_id", "is_outgoing", "worker_id", "sender_id", "created")  # columns that they rest on


def of_first(writing: Writing, sender_id: int, *, is_outgoing: bool) -> dict[str, Any]:
    """The columns of a ticket that is about to be created with its first message, as `add` would leave them, where the
    message is the next that this transaction creates, and no automatic answer."""
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
    """Count a new message on its ticket, whose last activity is now; answers whether the ticket had messages before.
    An automatic answer of no worker is counted and is no activity: a ticket that nobody has looked at must not seem
    answered. Neither is a notice of a program, and it does not count as an answer."""
    ticket = writing.record("ticket", change.value("ticket_id"))
    if ticket is None or ticket["latest_message_id"] == change.id:  # of_first counted it
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
    elif (
        is_outgoing
        and change.value("worker_id")
        and not change.value("is_forward")
        and not ticket["initial_response_message_id"]
    ):
        values |= _response(ticket, change.id, change.value("created"))
        values |= due_times.answered(writing, ticket, values, change.value("created"))
    writing.set("ticket", ticket["id"], values)
    return bool(ticket["num_messages"]) and not is_notice


def _is_response(change: Change) -> bool:
    return bool(change.value("is_outgoing") and change.value("worker_id") and not change.value("is_forward"))


def recount(writing: Writing, ticket_id: int) -> None:
    """Work everything out again from the messages there are; after one was removed, moved or changed."""
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
            peewee.fn.MAX(
                peewee.Case(
                    None,
                    (
                        (
                            (message.c.is_notice == 0) & ((message.c.is_autoreply == 0) | (message.c.worker_id != 0)),
                            message.c.id,
                        ),
                    ),
                )
            ),
        ).where(message.c.ticket_id == slot(0)),
        (ticket_id,),
    )
    count, outgoing, first, newest, written = (value or 0 for value in rows[0])
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
    created = reply[1] if reply else writing.now
    writing.set("ticket", ticket_id, values | due_times.answered(writing, ticket, values, created))


def _response(ticket: Record, id: int, created: int) -> dict[str, Any]:
    return {
        "initial_response_message_id": id,
        "elapsed_response_first": max(created - ticket["created"], 0),
    }


def _first_reply(writing: Writing, ticket_id: int, first: int) -> tuple[int, int] | None:
    """(id, created) of the first message that a worker sent in answer: a composed one begins the ticket, and a
    forward goes to others."""
    message = table_named("message").alias("replied")
    row = writing.tx.row(
        lambda: (
            message.select(message.c.id, message.c.created)
            .where(
                message.c.ticket_id == slot(0),
                message.c.id != slot(1),
                message.c.is_outgoing == 1,
                message.c.worker_id != 0,
                message.c.is_forward == 0,
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
