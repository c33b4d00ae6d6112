"""Former values of changed messages, and the log entries about the changes. Retained as long as the message.

Readers of a message see that it was changed, when and by whom; only administrators see the former values."""

import json
from typing import Any

from server.contexts import TICKET
from server.record_types.parts import Change, DictionaryContext, Expand, Record, Writing
from server.store.statements import in_list, slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

# {column whose former values are stored: its name in log entries}
LOG_NAMES = {
    "content": "the words",
    "html_attachment_id": "the HTML part",
    "headers": "the headers",
    "sender_id": "the sender",
    "worker_id": "the worker",
    "is_outgoing": "the direction",
    "created": "the date",
}

MESSAGE_FORMER = Table(
    "message_former",
    [
        Column("message_id", references="message(id)"),
        Column("changed_at"),
        Column("actor__context", "TEXT"),
        Column("actor_id"),
        Column("former", "TEXT"),
    ],
    [Index(("message_id", "id"), "what a message said before")],
)  # former: JSON, {column: value before}


def store(change: Change, writing: Writing) -> None:
    """Stores the former values after a submitted change, and logs it on the ticket; a move is logged on both
    tickets."""
    changed = [name for name in LOG_NAMES if change.changes(name)]
    if changed:
        writing.tx.insert(
            MESSAGE_FORMER,
            {
                "message_id": change.id,
                "changed_at": writing.now,
                "actor__context": writing.actor.context,
                "actor_id": writing.actor.id,
                "former": json.dumps({name: change.was(name) for name in changed}),
            },
        )
        ticket_id = change.value("ticket_id")
        writing.log(
            "ticket.message.changed",
            TICKET,
            ticket_id,
            {
                "what": ", ".join(LOG_NAMES[name] for name in changed),
                "message": str(change.id),
                "target": writing.label("ticket", ticket_id),
            },
        )
    if change.changes("ticket_id"):
        _log_moved(change, writing)


def _log_moved(change: Change, writing: Writing) -> None:
    source, destination = change.was("ticket_id"), change.value("ticket_id")
    variables = {
        "message": str(change.id),
        "source": writing.label("ticket", source),
        "destination": writing.label("ticket", destination),
    }
    for here, there in ((source, destination), (destination, source)):
        writing.log("ticket.message.moved", TICKET, here, variables, about=(TICKET, there))


def forget(tx: Transaction, message_id: int) -> None:
    """Deletes the former values of a deleted message."""
    tx.delete(MESSAGE_FORMER, message_id=message_id)


def original(tx: Transaction, message: Record) -> Record:
    """Returns the message with the values from before its first change."""
    first: Record = {}
    for row in tx.find(MESSAGE_FORMER, message_id=message["id"]):
        first = json.loads(row[MESSAGE_FORMER.position["former"]]) | first
    return message | first


def is_changed(tx: Transaction, message_id: int) -> bool:
    """Whether a message was changed after it was stored."""
    return tx.first(MESSAGE_FORMER, message_id=message_id) is not None


def _load_changes(view: DictionaryContext, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
    return {
        id: {
            "changes": [
                {name: each[name] for name in ("changed_at", "actor__context", "actor_id")}
                | {"changed": [name for name in LOG_NAMES if name in each]}
                for each in values["former"]
            ]
        }
        for id, values in _load_former(view, records, form).items()
    }


def _load_former(view: DictionaryContext, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
    former: Any = MESSAGE_FORMER.sql
    ids = "[" + ",".join(str(record["id"]) for record in records) + "]"
    rows = view.tx.rows(
        lambda: (
            former.select(*MESSAGE_FORMER.all_columns)
            .where(in_list(former.message_id, slot(0)))
            .order_by(former.message_id, former.id.desc())
        ),
        (ids,),
    )
    by_message: dict[int, dict[str, Any]] = {record["id"]: {"former": []} for record in records}
    for row in rows:
        each = dict(zip(MESSAGE_FORMER.names, row, strict=True))
        by_message[each["message_id"]]["former"].append(
            {
                "changed_at": each["changed_at"],
                "actor__context": each["actor__context"],
                "actor_id": each["actor_id"],
                **json.loads(each["former"]),
            }
        )
    return by_message


CHANGES = Expand(
    "changes",
    "array",
    "Changes after it was stored, newest first: changed_at, actor, and the names of the changed parts.",
    _load_changes,
)
FORMER = Expand(
    "former",
    "array",
    "Versions before changes, newest first: changed_at, actor, and the previous values.",
    _load_former,
)
