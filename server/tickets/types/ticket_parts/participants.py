"""The requesters of a ticket, the addresses that get its replies, changed by id or by address."""

import json
from collections.abc import Iterable, Sized
from typing import Any

from server import contexts
from server.digits import is_whole
from server.errors import Invalid
from server.fields.field import split_sign
from server.mail import addresses
from server.people.address_names import named_address
from server.record_types.parts import Change, Record, Writing
from server.record_types.shared.collections import ids_text
from server.record_types.shared.named_records import address_of
from server.record_types.shared.relation_tables import REQUESTER
from server.record_types.traits import Exported, together
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.store.transaction import Transaction

CONTEXT = contexts.TICKET
MAX_PARTICIPANTS = 500  # participants changed in one request
WANTED = "requester_changes"  # key of change.extras that passes them from one hook to the next


def read(change: Change, writing: Writing) -> None:
    """Converts `participant_ids` and `participants` to ids to add and remove, before anything is written.

    Creates unknown addresses; skips invalid ones, sender addresses of the service, and excluded ones. Raises Invalid
    for unknown ids."""
    if not change.extras:
        return
    changes = _ids(change.extras.get("participant_ids", ""), writing)
    changes += _written(change.extras.get("participants", ""), writing)
    if changes:
        change.extras[WANTED] = changes


def write(change: Change, writing: Writing) -> None:
    """Adds and removes the requesters, and logs each unless the ticket is new."""
    for adds, address_id in change.extras.get(WANTED, ()):
        changed = add(writing, change.id, [address_id]) if adds else remove(writing, change.id, address_id)
        if changed and not change.is_create:
            writing.log(
                "ticket.participant.added" if adds else "ticket.participant.removed",
                CONTEXT,
                change.id,
                {
                    "participant": named_address(writing, address_id),
                    "target": writing.label("ticket", change.id),
                },
            )


def add(writing: Writing, ticket_id: int, address_ids: Iterable[int]) -> list[int]:
    """Makes addresses requesters of a ticket and returns the new ones."""
    return [
        address_id
        for address_id in address_ids
        if writing.tx.add(REQUESTER, {"ticket_id": ticket_id, "address_id": address_id})
    ]


def add_first(writing: Writing, ticket_id: int, address_ids: Iterable[int]) -> None:
    """Makes addresses requesters of a new ticket; faster than add, because it returns nothing."""
    for address_id in address_ids:
        writing.tx.add_later(REQUESTER, {"ticket_id": ticket_id, "address_id": address_id})


def remove(writing: Writing, ticket_id: int, address_id: int) -> bool:
    """Removes a requester and returns whether the address was one."""
    return bool(writing.tx.delete(REQUESTER, ticket_id=ticket_id, address_id=address_id))


def may_request(email: str, patterns: Iterable[str]) -> bool:
    """Whether an address may become a requester: no exclude pattern matches it."""
    return not any(addresses.matches_pattern(email, pattern) for pattern in patterns)


def _ids(text: str, writing: Writing) -> list[tuple[bool, int]]:
    changes = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        sign, number = split_sign(part)
        if not is_whole(number):
            raise Invalid(f"participant_ids: '{part[:50]}' is not the id of an address", field="participant_ids")
        changes.append((sign != "-", int(number)))
    _limit(changes, "participant_ids")
    if changes:
        existing = {id for id, _, _ in _addresses(writing, "id", [id for _, id in changes])}
        for adds, id in changes:
            if adds and id not in existing:
                raise Invalid(f"participant_ids: there is no address {id}", field="participant_ids")
    return changes


def _written(text: str, writing: Writing) -> list[tuple[bool, int]]:
    """Returns (whether to add, id) of written addresses."""
    parsed = (split_sign(each.address.lower()) for each in addresses.parse_list(text, MAX_PARTICIPANTS + 1))
    signs = {email: sign for sign, email in parsed}
    _limit(signs, "participants")
    if not signs:
        return []
    patterns = writing.setting("mail_exclude_patterns")
    addresses_by_email = {
        email.lower(): (id, is_own) for id, email, is_own in _addresses(writing, "email", list(signs))
    }
    changes = []
    for email, sign in signs.items():
        id, is_own = addresses_by_email.get(email, (0, 0))
        if sign == "-":
            changes += [(False, id)] if id else []
        elif not is_own and may_request(email, patterns):
            changes.append((True, id or address_of(writing, email, "participants")))
    return changes


def _limit(changes: Sized, field: str) -> None:
    if len(changes) > MAX_PARTICIPANTS:
        raise Invalid(f"{field}: at most {MAX_PARTICIPANTS} participants in one request", field=field)


def _addresses(writing: Writing, column: str, values: list[Any]) -> list[tuple[Any, ...]]:
    """Returns (id, email, id of its mail transport) of the existing addresses."""
    address = table_named("address").alias("wanted")
    return writing.tx.rows(
        lambda: address.select(address.c.id, address.c.email, address.c.mail_transport_id).where(
            in_list(getattr(address.c, column), slot(0))
        ),
        (json.dumps(values),),
    )


def exported(tx: Transaction, tickets: list[Record]) -> Exported:
    """Exports `requesters`: the addresses of each ticket's requesters."""
    requester, address = REQUESTER.sql, table_named("address")
    rows = tx.rows(
        lambda: (
            requester.select(requester.ticket_id, address.c.email)
            .join(address, on=(address.c.id == requester.address_id))
            .where(in_list(requester.ticket_id, slot(0)))
            .order_by(requester.ticket_id, address.c.email)
        ),
        (ids_text(tickets),),
    )
    return together("requesters", rows)
