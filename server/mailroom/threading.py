"""Finds the ticket that a mail belongs to: by the messages that it answers, by the ticket's own id, by masks in its
subject; and whether the same mail is there already."""

import json
from collections.abc import Iterable
from typing import Any

from server.dataclass import dataclass
from server.mailroom.incoming import IncomingMail
from server.outbox.ticket_ids import referenced_tickets
from server.record_types.base import Record
from server.records.reading import RecordReader
from server.store.statements import in_list, slot
from server.tickets.types.ticket_parts import merges


@dataclass(frozen=True, slots=True)
class ReferencedMessage:
    """A stored message that a mail names."""

    id: int
    ticket_id: int
    created: int
    message_id: str
    sender_id: int
    is_outgoing: bool
    body_digest: str


@dataclass(frozen=True, slots=True)
class Thread:
    """ticket: where the mail belongs, None for a new one. copies: stored messages with the mail's own id. bounced: the
    mail of ours that came back; is_returned: whether it is known by the ticket's own id alone. answered: the message by
    which the ticket was found."""

    ticket: Record | None
    copies: tuple[ReferencedMessage, ...] = ()
    bounced: ReferencedMessage | None = None
    answered: ReferencedMessage | None = None
    is_returned: bool = False


def find(reading: RecordReader, incoming: IncomingMail) -> Thread:
    """Three statements at most for a mail that answers nothing merged."""
    own = incoming.own_id
    known = _messages(reading, [*filter(None, (own, incoming.bounced)), *incoming.references])
    copies = tuple(each for each in known if each.message_id == own) if own else ()
    bounced = next((each for each in _named(known, incoming.bounced) if each.is_outgoing), None)
    answered = [bounced] if bounced else []
    for reference in incoming.references:
        answered += _named(known, reference)
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
    """The ticket, or the one that it was merged into in the end; None when there is none."""
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


def _named(known: Iterable[ReferencedMessage], message_id: str | None) -> list[ReferencedMessage]:
    """Those with exactly this id, then those with it in another case."""
    if not message_id:
        return []
    folded = message_id.lower()
    named = [each for each in known if each.message_id.lower() == folded]
    return sorted(named, key=lambda each: each.message_id != message_id)


def _by_mask(reading: RecordReader, masks: tuple[str, ...]) -> Record | None:
    if not masks:
        return None
    table: Any = reading.registry.type("ticket").table.sql
    rows = reading.tx.rows(
        lambda: table.select(table.id, table.mask).where(in_list(table.mask, slot(0))),
        (json.dumps(masks),),
    )
    ids = {mask.upper(): id for id, mask in rows}
    found = (survivor(reading, ids[mask]) for mask in masks if mask in ids)
    return next((ticket for ticket in found if ticket is not None), None)
