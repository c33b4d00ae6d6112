"""The requesters of a ticket, the addresses that get its replies: finds, adds and removes them, with activity entries.

For incoming and outgoing mail. tickets/types/ticket_parts/participants.py stores the rows."""

from collections.abc import Iterable

from server.contexts import TICKET
from server.mail import addresses
from server.people.address_names import named_address
from server.record_types.record_type import Record
from server.record_types.shared.relation_tables import REQUESTER
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.tickets.types.ticket_parts import participants


def address_of(writing: RecordWriter, email: str) -> Record:
    """Returns the record of a mail address in any case; creates it in lower case, without a contact, if there is none.

    Expects a parsed address and does not validate it."""
    email = email.strip().lower()
    address = writing.find("address", email=email)
    if address is None:
        address = writing.record("address", writing.create("address", {"email": email}))
    assert address is not None
    return address


def may_request(address: Record, exclude_patterns: Iterable[str]) -> bool:
    """Whether an address may become a requester: not a sender address of the service, and not excluded by a pattern."""
    return not address["mail_transport_id"] and participants.may_request(address["email"], exclude_patterns)


def ids_of(tx: Transaction, ticket_id: int) -> list[int]:
    """Returns the address ids of a ticket's requesters, in order."""
    return [row[1] for row in tx.find(REQUESTER, ticket_id=ticket_id)]


def is_requester(tx: Transaction, ticket_id: int, address_id: int) -> bool:
    """Whether the address gets this ticket's replies."""
    return tx.first(REQUESTER, ticket_id=ticket_id, address_id=address_id) is not None


def add(writing: RecordWriter, ticket_id: int, address_ids: Iterable[int], *, is_new_ticket: bool = False) -> list[int]:
    """Makes addresses requesters and returns the new ones in order, for a new ticket all of them.

    Logs each on the ticket, except for a new ticket. Does not check may_request."""
    new_ids = dict.fromkeys(address_ids)
    if is_new_ticket:
        participants.add_first(writing, ticket_id, new_ids)
        return list(new_ids)
    added = participants.add(writing, ticket_id, new_ids)
    _log(writing, "ticket.participant.added", ticket_id, added)
    return added


def remove(writing: RecordWriter, ticket_id: int, address_ids: Iterable[int]) -> list[int]:
    """Removes requesters, logs each on the ticket, and returns those that were requesters."""
    removed = [id for id in dict.fromkeys(address_ids) if participants.remove(writing, ticket_id, id)]
    _log(writing, "ticket.participant.removed", ticket_id, removed)
    return removed


def recipients_in(header_text: str) -> set[str]:
    """Returns the addresses in To, Cc and Bcc of the stored headers of a message, in lower case."""
    emails: set[str] = set()
    for line in header_text.split("\n"):
        name, _, value = line.partition(":")
        if name.strip().lower() in ("to", "cc", "bcc"):
            emails.update(each.address.lower() for each in addresses.parse_list(value))
    return emails


def _log(writing: RecordWriter, point: str, ticket_id: int, address_ids: list[int]) -> None:
    if not address_ids:
        return
    writing.touch(TICKET, id=ticket_id)
    target = writing.label("ticket", ticket_id)
    for id in address_ids:
        writing.log(point, TICKET, ticket_id, {"participant": named_address(writing, id), "target": target})
