"""The customer of a ticket: the person who wrote it, their other tickets, and their colleagues."""

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import peewee

from server.context import Context
from server.contexts import CONTACT
from server.dataclass import dataclass
from server.record_types.field_labels import field_label
from server.record_types.record_type import Record
from server.record_types.shared import custom
from server.record_types.shared.custom import FieldDefinition
from server.record_types.shared.relation_tables import REQUESTER
from server.records import records, sheet
from server.records.dictionary import Dictionaries
from server.records.sheet import Fact
from server.search.conditions import ALWAYS, NEVER, slots_from
from server.store.statement_shapes import keyed
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.tickets.types.ticket_parts import status

MAX_TICKETS, MAX_COLLEAGUES = 5, 5  # entries of the two lists
MAX_ADDRESSES = 5  # addresses of one contact whose tickets are read
MAX_READ = 100  # newest tickets of an address, and newest open tickets of an organization
MAX_NOTE_CHARS = 400
MAX_BLANK = 12  # custom fields without a value

Customs = dict[str, tuple[tuple[FieldDefinition, ...], dict[str, Any]]]  # {type: its fields, keys of the record}


@dataclass(frozen=True, slots=True)
class OtherTicket:
    """Another ticket of the customer. created: in Unix seconds."""

    mask: str
    subject: str
    status: str
    created: int


@dataclass(frozen=True, slots=True)
class Colleague:
    """Another contact of the organization. open_tickets: their open tickets among the newest of the organization."""

    id: int
    name: str
    open_tickets: int


@dataclass(frozen=True, slots=True)
class Note:
    """The newest comment on the contact. created: in Unix seconds."""

    id: int
    text: str
    created: int


@dataclass(frozen=True, slots=True)
class Customer:
    """The customer of a ticket, as far as the caller may read.

    contact, org: stored values, None if the address has no contact or the contact no organization. emails: {id: email}
    of all addresses of the contact. tickets: the newest other tickets. ticket_count: the number of tickets that are not
    deleted, including this one; None if only the newest were read. facts: custom fields of the contact that have
    values; blank: others, without those of fieldsets; customs: {field id: value}. sites: web addresses in custom fields
    of the contact and the organization, and the organization's website."""

    address_id: int
    email: str
    name: str
    contact: Record | None
    org: Record | None
    emails: dict[int, str]
    tickets: tuple[OtherTicket, ...]
    ticket_count: int | None
    note: Note | None = None
    colleagues: tuple[Colleague, ...] = ()
    has_more_colleagues: bool = False
    facts: tuple[Fact, ...] = ()
    blank: tuple[Fact, ...] = ()
    customs: dict[str, Any] = dataclasses.field(default_factory=dict)
    sites: tuple[Fact, ...] = ()


def customer_of_ticket(ctx: Context, ticket: dict[str, Any], address_id: int = 0) -> Customer | None:
    """Returns the customer of a ticket; None if it has no requesters. ticket: its keys, with `requesters`. address_id:
    the requester, by default who wrote first."""
    requesters = ticket["requesters"] or {}
    wanted = [str(address_id), str(ticket.get("initial_message_sender_id")), *requesters]
    requester = next((requesters[id] for id in wanted if id in requesters), None)
    if requester is None:
        return None
    customer, customs = records.reading(ctx, lambda tx: _read(Dictionaries(ctx, tx), ticket, requester))
    facts = {uri: tuple(sheet.custom_facts(ctx, *each)) for uri, each in customs.items()}
    website = Fact("website", field_label("website"), "url", customer.org["website"] if customer.org else "")
    sites = [each for each in (*facts["contact"], *facts["org"], website) if is_site(each)]
    own = [each for each in facts["contact"] if not is_site(each)]
    values = customs["contact"][1].get("custom", {})
    filled = {each.key for each in facts["contact"]}
    fields = [
        Fact(f"custom_{each.id}", each.name, "text", "") for each in customs["contact"][0] if not each.fieldset_id
    ]
    blank = tuple(each for each in fields if each.key not in filled)[:MAX_BLANK]
    return dataclasses.replace(customer, facts=tuple(own), blank=blank, customs=values, sites=tuple(sites))


def is_site(fact: Fact) -> bool:
    """Whether the value of a custom field is a web address."""
    return fact.kind == "url" and str(fact.value).startswith(("http://", "https://"))


def _read(view: Dictionaries, ticket: dict[str, Any], requester: dict[str, Any]) -> tuple[Customer, Customs]:
    contact = next(iter(view.records("contact", [requester["contact_id"]])), None)
    org_id = contact["org_id"] if contact and contact["org_id"] else requester["org_id"]
    org = next(iter(view.records("org", [org_id])), None)
    addresses = _addresses(view.tx, contact["id"]) if contact else {}
    addresses |= {requester["id"]: requester["email"]}
    tickets, count = _tickets(view, ticket["id"], [*addresses][-MAX_ADDRESSES:])
    colleagues = _colleagues(view, org["id"], contact["id"] if contact else 0) if org else []
    customer = Customer(
        address_id=requester["id"],
        email=requester["email"],
        name=requester["name"] or "",
        contact=contact,
        org=org,
        emails=addresses,
        tickets=tuple(tickets),
        ticket_count=count,
        note=_note(view.tx, contact["id"]) if contact else None,
        colleagues=tuple(colleagues[:MAX_COLLEAGUES]),
        has_more_colleagues=len(colleagues) > MAX_COLLEAGUES,
    )
    return customer, {each[0]: each[1:] for each in (_customs(view, "contact", contact), _customs(view, "org", org))}


def _customs(
    view: Dictionaries, uri: str, record: Record | None
) -> tuple[str, tuple[FieldDefinition, ...], dict[str, Any]]:
    fields = custom.definitions(view.tx).fields_of(view.type(uri).context) if record else ()
    return uri, fields, view.dictionaries(uri, [record], "custom_")[0] if record and fields else {}


def _addresses(tx: Transaction, contact_id: int) -> dict[int, str]:
    """Returns {id: email} of the addresses of a contact."""
    address = table_named("address")
    return dict(
        tx.rows(
            lambda: (
                address.select(address.c.id, address.c.email)
                .where(address.c.contact_id == slot(0))
                .order_by(address.c.id)
                .limit(slot(1))
            ),
            (contact_id, MAX_ADDRESSES),
        )
    )


def _tickets(view: Dictionaries, ticket_id: int, address_ids: Sequence[int]) -> tuple[list[OtherTicket], int | None]:
    """Returns the newest other tickets of addresses, and the number of all; None if not all were read."""
    ids = {ticket_id}
    is_all = True
    for address_id in address_ids:
        newest = view.tx.rows(_newest_tickets, (address_id, MAX_READ))
        ids.update(id for (id,) in newest)
        is_all = is_all and len(newest) < MAX_READ
    readable, ticket = view.readable("ticket"), view.type("ticket").table.sql
    if readable is NEVER:
        return [], None
    at = len(readable.values)

    def build() -> Any:
        columns = (ticket.id, ticket.mask, ticket.subject, ticket.status_id, ticket.created)
        query = ticket.select(*columns, peewee.fn.COUNT(ticket.id).over())
        query = query.where(in_list(ticket.id, slot(at)), ticket.status_id != status.DELETED)
        if readable is not ALWAYS:
            query = query.where(readable.build(slots_from(0)))
        return query.order_by(ticket.id.desc()).limit(slot(at + 1))

    rows = view.tx.rows(keyed(build, readable.key), (*readable.values, json.dumps(sorted(ids)), MAX_TICKETS + 1))
    others = [
        OtherTicket(mask, subject, status.WORDS[status_id], created)
        for id, mask, subject, status_id, created, _count in rows
        if id != ticket_id
    ]
    return others[:MAX_TICKETS], (rows[0][-1] if rows else 0) if is_all else None


def _newest_tickets() -> Any:
    """Builds a query that reads the end of an index, whatever the number of tickets."""
    requester: Any = REQUESTER.sql
    query = requester.select(requester.ticket_id).where(requester.address_id == slot(0))
    return query.order_by(requester.ticket_id.desc()).limit(slot(1))


def _note(tx: Transaction, contact_id: int) -> Note | None:
    comment = table_named("comment")
    row = tx.row(
        lambda: (
            comment.select(comment.c.id, _beginning(comment.c.comment), comment.c.created)
            .where(comment.c.target__context == slot(0), comment.c.target_id == slot(1))
            .order_by(comment.c.id.desc())
            .limit(1)
        ),
        (CONTACT, contact_id),
    )
    if row is None:
        return None
    id, text, created = row
    return Note(id, text if len(text) < MAX_NOTE_CHARS else f"{text}…", created)


def _beginning(column: Any) -> Any:
    return peewee.fn.SUBSTR(column, peewee.SQL("1"), peewee.SQL(str(MAX_NOTE_CHARS)))


def _colleagues(view: Dictionaries, org_id: int, contact_id: int) -> list[Colleague]:
    """Returns other contacts of an organization, those with most open tickets first, one more than are listed."""
    contact = table_named("contact")
    rows = view.tx.rows(
        lambda: contact.select(contact.c.id).where(contact.c.org_id == slot(0)).order_by(contact.c.id).limit(slot(1)),
        (org_id, MAX_COLLEAGUES + 2),
    )
    others = [id for (id,) in rows if id != contact_id]
    if not others:
        return []
    counts = _open_tickets(view, org_id)
    counts.pop(contact_id, None)
    ids = list(dict.fromkeys((*counts, *others)))[: MAX_COLLEAGUES + 1]
    names = {each["id"]: each["full_name"] for each in view.records("contact", ids)}
    return [Colleague(id, names[id], counts.get(id, 0)) for id in ids if id in names]


def _open_tickets(view: Dictionaries, org_id: int) -> dict[int, int]:
    """Returns {contact id: number of open tickets} of the contacts of an organization with most of them."""
    readable, ticket = view.readable("ticket"), view.type("ticket").table.sql
    if readable is NEVER:
        return {}
    requester: Any = REQUESTER.sql
    address, contact = table_named("address"), table_named("contact")
    at = len(readable.values)

    def build() -> Any:
        newest = ticket.select(ticket.id).where(ticket.org_id == slot(at), ticket.status_id == status.OPEN)
        if readable is not ALWAYS:
            newest = newest.where(readable.build(slots_from(0)))
        newest = newest.order_by(ticket.id.desc()).limit(slot(at + 1))
        count = peewee.fn.COUNT(requester.ticket_id.distinct())
        return (
            requester.select(contact.c.id, count)
            .join(address, on=(address.c.id == requester.address_id))
            .join(contact, on=(contact.c.id == address.c.contact_id))
            .where(requester.ticket_id.in_(newest), contact.c.org_id == slot(at + 2))
            .group_by(contact.c.id)
            .order_by(count.desc(), contact.c.id)
            .limit(slot(at + 3))
        )

    values = (*readable.values, org_id, MAX_READ, org_id, MAX_COLLEAGUES + 2)
    return dict(view.tx.rows(keyed(build, readable.key), values))
