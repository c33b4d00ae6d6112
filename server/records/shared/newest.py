"""The newest message from, or to, an address, a contact or an organization: `last_sender_message` and
`last_recipient_message`."""

from collections.abc import Callable
from typing import Any

import peewee

from server.records.parts import Expand, Loader, Record, Shown
from server.records.shared.collections import ids_text
from server.store.statements import in_list, slot

Reached = Callable[[Any, Any], Any]  # (own table, address table) -> the condition that an address belongs to the record


def expands(uri: str, of: str, reached: Reached | None = None) -> tuple[Expand, Expand]:
    """Both names for a type. of: "the contact" and the like, for the notes. reached: how addresses belong to a record;
    None when the records are the addresses."""
    return (
        Expand(
            "last_recipient_message", "record", f"Newest message sent to {of}.",
            _load("last_recipient_message", uri, reached, _sent_to), "message",
        ),
        Expand(
            "last_sender_message", "record", f"Newest message from {of}.",
            _load("last_sender_message", uri, reached, _sent_by), "message",
        ),
    )  # fmt: skip


def _load(name: str, uri: str, reached: Reached | None, messages_of: Callable[..., Any]) -> Loader:
    def load(shown: Shown, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
        rows = shown.tx.rows((name, uri), lambda: _newest(uri, reached, messages_of), (ids_text(records),))
        newest = {own: message for own, message in rows if message}
        messages = shown.records("message", newest.values())
        dictionaries = shown.dictionaries("message", messages)
        by_id = {
            record["id"]: {f"{name}_{key}": value for key, value in dictionary.items()}
            for record, dictionary in zip(messages, dictionaries, strict=True)
        }
        return {own: by_id[message] for own, message in newest.items() if message in by_id}

    return load


def _newest(uri: str, reached: Reached | None, messages_of: Callable[..., Any]) -> Any:
    """For each record one look into an index of messages."""
    own = peewee.Table(uri, alias="own")
    message, address = peewee.Table("message", alias="newest"), peewee.Table("address", alias="its_address")

    def is_its(column: Any) -> Any:
        if reached is None:
            return column == own.c.id
        return column.in_(address.select(address.c.id).where(reached(own, address)))

    found = messages_of(message, is_its).order_by(message.c.created.desc(), message.c.id.desc()).limit(1)
    return own.select(own.c.id, found).where(in_list(own.c.id, slot(0)))


def _sent_by(message: Any, is_its: Callable[[Any], Any]) -> Any:
    return message.select(message.c.id).where(is_its(message.c.sender_id))


def _sent_to(message: Any, is_its: Callable[[Any], Any]) -> Any:
    """Messages keep no list of recipients; what was sent on a ticket was sent to its requesters."""
    requester = peewee.Table("requester", alias="addressed")
    tickets = requester.select(requester.c.ticket_id).where(is_its(requester.c.address_id))
    return message.select(message.c.id).where(message.c.is_outgoing == 1, message.c.ticket_id.in_(tickets))
