"""The tickets that a customer can read: tickets with one of their addresses as requester, and the tickets of their
organization if it shares them. All are in groups that work for the brand of the help center."""

import json
import unicodedata
from typing import Any

from server.context import Service
from server.dataclass import dataclass
from server.help_center.customers import public_conversation
from server.help_center.customers.customers import SignedInCustomer
from server.markup.typed_text import SEARCH_SIGNS, clean_query
from server.record_types.shared.relation_tables import REQUESTER
from server.store import fulltext
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.tickets.types.message_parts.message_filters import MESSAGE_TEXT
from server.tickets.types.ticket_parts.status import CLOSED, DELETED, OPEN, WAITING
from server.translation import N_

MAX_LISTED = 1000  # newest tickets that are read
PAGE = 20  # tickets on a page
MAX_HITS = 500  # messages that a search reads
MAX_MERGES = 20  # successive merges that are followed
SEARCH_SECONDS = 2.0  # a customer does not hold a thread longer
# The states that customers see. Names of statuses are the team's own.
WORDS = {OPEN: N_("Open"), WAITING: N_("Waiting for you"), CLOSED: N_("Closed")}
STATES = {"open": OPEN, "waiting": WAITING, "closed": CLOSED}
STATE_NAMES = {number: name for name, number in STATES.items()}
_COLUMNS = ("id", "mask", "subject", "status_id", "created", "updated", "group_id", "merged_into")


@dataclass(frozen=True, slots=True)
class OwnRequest:
    """A ticket as its customer sees it. is_own: a requester sees it; others of the organization only read it."""

    id: int
    mask: str
    subject: str
    status_id: int
    created: int
    updated: int
    group_id: int
    is_own: bool


@dataclass(frozen=True, slots=True)
class RequestList:
    """A page of tickets. page: from 1. total: on all pages."""

    requests: tuple[OwnRequest, ...]
    page: int
    pages: int
    total: int


def list_requests(
    service: Service,
    customer: SignedInCustomer,
    *,
    query: str = "",
    state: str = "",
    is_shared: bool = False,
    page: int = 1,
) -> RequestList:
    """Returns a page of a customer's tickets, most recently changed first. query: words to search for. state: one of
    STATES, "" for all. is_shared: list the tickets of the organization instead of the customer's own."""

    def read(tx: Transaction) -> list[OwnRequest]:
        requests = [each for each in _visible(tx, customer) if each.is_own != is_shared]
        if state in STATES:
            requests = [each for each in requests if each.status_id == STATES[state]]
        return _with_words(tx, customer, requests, query) if query.strip() else requests

    requests = service.store.read(read, seconds=SEARCH_SECONDS)
    pages = max(1, -(-len(requests) // PAGE))
    page = min(max(page, 1), pages)
    return RequestList(tuple(requests[(page - 1) * PAGE : page * PAGE]), page, pages, len(requests))


def find_request(service: Service, customer: SignedInCustomer, mask: str) -> OwnRequest | None:
    """Returns the ticket with a mask, or the ticket into which it was merged; None if the customer cannot read it."""
    return service.store.read(lambda tx: request_with(tx, customer, mask))


def request_with(tx: Transaction, customer: SignedInCustomer, mask: str) -> OwnRequest | None:
    """Returns the same as find_request, inside a transaction."""
    ticket = table_named("ticket")
    row = tx.row(lambda: _light(ticket).where(ticket.c.mask == slot(0)), (mask[:100],))
    for _ in range(MAX_MERGES):
        if row is None or not row[_COLUMNS.index("merged_into")]:
            break
        row = tx.row(lambda: _light(ticket).where(ticket.c.id == slot(0)), (row[_COLUMNS.index("merged_into")],))
    return _seen(tx, customer, row) if row is not None else None


def all_requests(tx: Transaction, customer: SignedInCustomer) -> list[OwnRequest]:
    """Returns the customer's own tickets, most recently changed first."""
    return [each for each in _visible(tx, customer) if each.is_own]


def _seen(tx: Transaction, customer: SignedInCustomer, row: Any) -> OwnRequest | None:
    values = dict(zip(_COLUMNS, row, strict=True))
    if values["group_id"] not in customer.group_ids or values["status_id"] not in WORDS or values["merged_into"]:
        return None
    requester, ticket = REQUESTER.sql, table_named("ticket")
    is_own = tx.value(
        lambda: requester.select(requester.ticket_id).where(
            requester.ticket_id == slot(0), in_list(requester.address_id, slot(1))
        ),
        (values["id"], customer.address_ids(values["group_id"])),
    )
    if is_own is None:
        org_id = tx.value(lambda: ticket.select(ticket.c.org_id).where(ticket.c.id == slot(0)), (values["id"],))
        is_shared = customer.org_id and values["group_id"] in customer.open_group_ids
        if not is_shared or org_id != customer.org_id:
            return None
    return _request(values, is_own=is_own is not None)


def _visible(tx: Transaction, customer: SignedInCustomer) -> list[OwnRequest]:
    """Returns all tickets that a customer can read, most recently changed first."""
    requests: dict[int, OwnRequest] = {}
    everywhere, elsewhere = json.dumps(sorted(customer.group_ids)), json.dumps(sorted(customer.open_group_ids))
    for address_ids, groups in ((json.dumps([customer.address_id]), everywhere), (customer.address_ids(), elsewhere)):
        for row in _rows_of_addresses(tx, address_ids, groups):
            requests[row[0]] = _request(dict(zip(_COLUMNS, row, strict=True)), is_own=True)
    if customer.org_id:
        for row in _rows_of_organization(tx, customer.org_id, elsewhere):
            requests.setdefault(row[0], _request(dict(zip(_COLUMNS, row, strict=True)), is_own=False))
    return sorted(requests.values(), key=lambda each: (-each.updated, -each.id))


def _rows_of_addresses(tx: Transaction, address_ids: str, groups: str) -> list[Any]:
    requester, ticket = REQUESTER.sql, table_named("ticket")
    return tx.rows(
        lambda: (
            _light(ticket)
            .where(
                ticket.c.id.in_(
                    requester.select(requester.ticket_id).where(in_list(requester.address_id, slot(0))).distinct()
                ),
                in_list(ticket.c.group_id, slot(1)),
                ticket.c.status_id != slot(2),
                ticket.c.merged_into == slot(3),
            )
            .order_by(ticket.c.updated.desc(), ticket.c.id.desc())
            .limit(slot(4))
        ),
        (address_ids, groups, DELETED, 0, MAX_LISTED),
    )


def _rows_of_organization(tx: Transaction, org_id: int, groups: str) -> list[Any]:
    ticket = table_named("ticket")
    return tx.rows(
        lambda: (
            _light(ticket)
            .where(
                ticket.c.org_id == slot(0),
                in_list(ticket.c.group_id, slot(1)),
                ticket.c.status_id != slot(2),
                ticket.c.merged_into == slot(3),
            )
            .order_by(ticket.c.updated.desc(), ticket.c.id.desc())
            .limit(slot(4))
        ),
        (org_id, groups, DELETED, 0, MAX_LISTED),
    )


def _light(ticket: Any) -> Any:
    return ticket.select(*(getattr(ticket.c, name) for name in _COLUMNS))


def _request(values: dict[str, Any], *, is_own: bool) -> OwnRequest:
    names = ("id", "mask", "subject", "status_id", "created", "updated", "group_id")
    return OwnRequest(**{name: values[name] for name in names}, is_own=is_own)


# -- search ------------------------------------------------------------------------------------------------------------


def _with_words(
    tx: Transaction, customer: SignedInCustomer, requests: list[OwnRequest], query: str
) -> list[OwnRequest]:
    """Returns the tickets that have all words in subject and mask, or in one message that the customer can read."""
    words = clean_query(query, f"{SEARCH_SIGNS}*")
    folded = [_folded(each) for each in words.split()]
    named = {each.id for each in requests if all(word in _folded(f"{each.mask} {each.subject}") for word in folded)}
    said = _tickets_that_say(tx, customer, requests, words) if words else set()
    return [each for each in requests if each.id in named or each.id in said]


def _tickets_that_say(tx: Transaction, customer: SignedInCustomer, requests: list[OwnRequest], words: str) -> set[int]:
    text = fulltext.words_query(words, column="content")
    if text is None:
        return set()
    message = table_named("message")
    ids = json.dumps([each.id for each in requests])
    rows = tx.rows(
        lambda: (
            message.select(message.c.id)
            .where(
                in_list(message.c.ticket_id, slot(1)),
                message.c.id.in_(
                    MESSAGE_TEXT.sql.select(MESSAGE_TEXT.sql.rowid).where(fulltext.match(MESSAGE_TEXT, slot(0)))
                ),
            )
            .order_by(message.c.id.desc())
            .limit(slot(2))
        ),
        (text, ids, MAX_HITS),
    )
    return set(public_conversation.public_ids(tx, customer, [id for (id,) in rows]).values())


def _folded(text: str) -> str:
    """Returns a text in lower case and without accents."""
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(each for each in apart if not unicodedata.combining(each))
