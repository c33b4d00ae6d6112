"""The newest message from, or to, an address, a contact or an organization: `last_sender_message` and
`last_recipient_message`."""

from collections.abc import Callable
from typing import Any

from server.record_types.parts import DictionaryContext, Expand, Loader, Record
from server.record_types.shared.collections import ids_text
from server.search.conditions import ALWAYS, NEVER, Condition, slots_from
from server.store.statements import in_list, slot
from server.store.tables import table_named

Reached = Callable[[Any, Any], Any]  # (own table, address table) -> the condition that an address belongs to the record


def expands(uri: str, owner: str, reached: Reached | None = None) -> tuple[Expand, Expand]:
    """Returns both expandable keys for a type. owner: "the contact" and the like, for the notes. reached: the condition
    that relates addresses to a record; None if the records are addresses."""
    return (
        Expand(
            "last_recipient_message",
            "record",
            f"Newest message sent to {owner}.",
            _load("last_recipient_message", uri, reached, _sent_to),
            "message",
        ),
        Expand(
            "last_sender_message",
            "record",
            f"Newest message from {owner}.",
            _load("last_sender_message", uri, reached, _sent_by),
            "message",
        ),
    )


def _load(name: str, uri: str, reached: Reached | None, messages_of: Callable[..., Any]) -> Loader:
    def load(context: DictionaryContext, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
        readable, table = context.readable("message"), context.type("message").table.sql
        if readable is NEVER:
            return {}
        rows = context.tx.rows(
            lambda: _newest(uri, reached, messages_of, table, readable),
            (*readable.values, ids_text(records)),
        )
        newest = {own: message for own, message in rows if message}
        messages = context.records("message", newest.values())
        dictionaries = context.dictionaries("message", messages)
        by_id = {
            record["id"]: {f"{name}_{key}": value for key, value in dictionary.items()}
            for record, dictionary in zip(messages, dictionaries, strict=True)
        }
        return {own: by_id[message] for own, message in newest.items() if message in by_id}

    return load


def _newest(
    uri: str, reached: Reached | None, messages_of: Callable[..., Any], message: Any, readable: Condition
) -> Any:
    """Builds a query with one index lookup per record; messages that the caller may not read are skipped."""
    own = table_named(uri).alias("own")
    address = table_named("address").alias("its_address")

    def is_its(column: Any) -> Any:
        if reached is None:
            return column == own.c.id
        return column.in_(address.select(address.c.id).where(reached(own, address)))

    query = messages_of(message, is_its).order_by(message.created.desc(), message.id.desc()).limit(1)
    if readable is not ALWAYS:
        query = query.where(readable.build(slots_from(0)))
    return own.select(own.c.id, query).where(in_list(own.c.id, slot(len(readable.values))))


def _sent_by(message: Any, is_its: Callable[[Any], Any]) -> Any:
    return message.select(message.id).where(is_its(message.sender_id))


def _sent_to(message: Any, is_its: Callable[[Any], Any]) -> Any:
    """Messages do not store recipients; outgoing messages of a ticket were sent to its requesters."""
    requester = table_named("requester").alias("addressed")
    tickets = requester.select(requester.c.ticket_id).where(is_its(requester.c.address_id))
    return message.select(message.id).where(message.is_outgoing == 1, message.ticket_id.in_(tickets))
