"""Finds the ticket of a mail: by the messages that it replies to, by the ticket's own id, or by masks in its subject.
Also finds copies of the same mail."""

import json
from collections.abc import Iterable
from typing import Any

from server.dataclass import dataclass
from server.mailroom.incoming import IncomingMail
from server.outbox.ticket_ids import referenced_tickets
from server.record_types.record_type import Record
from server.records.reading import RecordReader
from server.store.statements import in_list, slot
from server.tickets.types.ticket_parts import merges


@dataclass(frozen=True, slots=True)
class ReferencedMessage:
    """A stored message that a mail refers to."""

    id: int
    ticket_id: int
    created: int
    message_id: str
    sender_id: int
    is_outgoing: bool
    body_digest: str


@dataclass(frozen=True, slots=True)
class Thread:
    """ticket: of the mail, None for a new one. copies: stored messages with the mail's own id. bounced: our mail that
    came back; is_returned: whether it is identified by the ticket's own id only. answered: the message that led to the
    ticket."""

    ticket: Record | None
    copies: tuple[ReferencedMessage, ...] = ()
    bounced: ReferencedMessage | None = None
    answered: ReferencedMessage | None = None
    is_returned: bool = False


def find(reading: RecordReader, incoming: IncomingMail) -> Thread:
    """Finds ticket and copies, in at most three statements unless the ticket was merged."""
    own = incoming.own_id
    messages = _messages(reading, [*filter(None, (own, incoming.bounced)), *incoming.references])
    copies = tuple(each for each in messages if each.message_id == own) if own else ()
    bounced = next((each for each in _named(messages, incoming.bounced) if each.is_outgoing), None)
    answered = [bounced] if bounced else []
    for reference in incoming.references:
        answered += _named(messages, reference)
    for message in answered:
        ticket = survivor(reading, message.ticket_id)
        if ticket is not None:
            return Thread(ticket, copies, bounced, message)
    returned = incoming.mail.bounce.original_references if incoming.mail.bounce else ()
    for reference, ticket_id in referenced_tickets(reading.tx, (*returned, *incoming.references)).items():
        ticket = survivor(reading, ticket_id)
        if ticket is not None:
            return Thread(ticket, copies, bounced, is_returned=reference in returned)
    return Thread(_by_mask(reading, incoming.masks), copies, bounced)


def survivor(reading: RecordReader, ticket_id: int) -> Record | None:
    """The ticket, or the one that it was finally merged into; None if it does not exist."""
    return merges.survivor(lambda id: reading.record("ticket", id), reading.record("ticket", ticket_id))


def _messages(reading: RecordReader, ids: list[str]) -> list[ReferencedMessage]:
    """The stored messages with one of these ids, in any case, the oldest first. One statement."""
    if not ids:
        return []
    table: Any = reading.registry.type("message").table.sql
    rows = reading.tx.rows(
        lambda: (
            table.select(
                table.id,
                table.ticket_id,
                table.created,
                table.message_id,
                table.sender_id,
                table.is_outgoing,
                table.body_digest,
            )
            .where(in_list(table.message_id, slot(0)))
            .order_by(table.id)
        ),
        (json.dumps(ids),),
    )
    return [
        ReferencedMessage(id, ticket, created, message_id, sender, bool(outgoing), body)
        for id, ticket, created, message_id, sender, outgoing, body in rows
    ]


def _named(messages: Iterable[ReferencedMessage], message_id: str | None) -> list[ReferencedMessage]:
    """Messages with exactly this id, then those with it in another case."""
    if not message_id:
        return []
    folded = message_id.lower()
    matches = [each for each in messages if each.message_id.lower() == folded]
    return sorted(matches, key=lambda each: each.message_id != message_id)


def _by_mask(reading: RecordReader, masks: tuple[str, ...]) -> Record | None:
    if not masks:
        return None
    table: Any = reading.registry.type("ticket").table.sql
    rows = reading.tx.rows(
        lambda: table.select(table.id, table.mask).where(in_list(table.mask, slot(0))),
        (json.dumps(masks),),
    )
    ids = {mask.upper(): id for id, mask in rows}
    tickets = (survivor(reading, ids[mask]) for mask in masks if mask in ids)
    return next((ticket for ticket in tickets if ticket is not None), None)
