"""The requesters of a ticket, the addresses that get its replies: looked up, added, removed, with activity entries.

For mail in and mail out alike. The rows themselves are kept by tickets/types/ticket_parts/participants.py."""

from collections.abc import Iterable

from server.contexts import TICKET
from server.mail import addresses
from server.people.address_names import named_address
from server.record_types.base import Record
from server.record_types.shared.tables import REQUESTER
from server.records.writing import RecordWriter
from server.store.transaction import Transaction
from server.tickets.types.ticket_parts import participants


def address_of(writing: RecordWriter, email: str) -> Record:
    """The record of a mail address, in any case; made, in lower case, when there is none. No contact is made.

    Takes what was parsed as an address, and does not look at it again."""
    email = email.strip().lower()
    known = writing.find("address", email=email)
    if known is None:
        known = writing.record("address", writing.create("address", {"email": email}))
    assert known is not None
    return known


def may_request(address: Record, exclude_patterns: Iterable[str]) -> bool:
    """Whether an address may become a requester: not one that we send from, and covered by no exclude pattern."""
    return not address["mail_transport_id"] and participants.may_request(address["email"], exclude_patterns)


def ids_of(tx: Transaction, ticket_id: int) -> list[int]:
    """The address ids of a ticket's requesters, in order."""
    return [row[1] for row in tx.find(REQUESTER, ticket_id=ticket_id)]


def is_requester(tx: Transaction, ticket_id: int, address_id: int) -> bool:
    """Whether the address gets this ticket's replies."""
    return tx.first(REQUESTER, ticket_id=ticket_id, address_id=address_id) is not None


def add(writing: RecordWriter, ticket_id: int, address_ids: Iterable[int], *, is_new_ticket: bool = False) -> list[int]:
    """Make addresses requesters; answers those that were none before, in order, and for a new ticket all.

    Each is an entry on the ticket, but for those that a ticket is made with. Who may become one is not asked here."""
    wanted = dict.fromkeys(address_ids)
    if is_new_ticket:
        participants.add_first(writing, ticket_id, wanted)
        return list(wanted)
    added = participants.add(writing, ticket_id, wanted)
    _log(writing, "ticket.participant.added", ticket_id, added)
    return added


def remove(writing: RecordWriter, ticket_id: int, address_ids: Iterable[int]) -> list[int]:
    """Take requesters away; answers those that were some, each of which is an entry on the ticket."""
    removed = [id for id in dict.fromkeys(address_ids) if participants.remove(writing, ticket_id, id)]
    _log(writing, "ticket.participant.removed", ticket_id, removed)
    return removed


def recipients_in(header_text: str) -> set[str]:
    """The addresses in To, Cc and Bcc of the stored headers of a message, in lower case."""
    found: set[str] = set()
    for line in header_text.split("\n"):
        name, _, value = line.partition(":")
        if name.strip().lower() in ("to", "cc", "bcc"):
            found.update(each.address.lower() for each in addresses.parse_list(value))
    return found


def _log(writing: RecordWriter, point: str, ticket_id: int, address_ids: list[int]) -> None:
    if not address_ids:
        return
    writing.touch(TICKET, id=ticket_id)
    target = writing.label("ticket", ticket_id)
    for id in address_ids:
        writing.log(point, TICKET, ticket_id, {"participant": named_address(writing, id), "target": target})
