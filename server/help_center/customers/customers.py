"""Customers: people who have proved an email address at the help center of a brand, and whose tickets they see there.

An address of a worker and a sender address of the service are never a customer's."""

import json

from server.dataclass import dataclass
from server.people import identity
from server.record_types.record_type import Record
from server.record_types.shared import brands
from server.record_types.shared.brands import BrandProfile
from server.records.reading import RecordReader
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction

MAX_ADDRESSES = 50  # addresses of a contact that are read


@dataclass(frozen=True, slots=True)
class SignedInCustomer:
    """A signed-in customer. address_id, email: the proved address. name: their own display name, since the name of the
    contact is chosen by workers. emails: {id: email} of all addresses of the contact, including the proved one.
    group_ids: the groups of the brand. open_group_ids: the groups of the brand that are not private. org_id: the
    organization whose tickets they may read, 0 for none."""

    session_id: int
    address_id: int
    email: str
    name: str
    contact_id: int
    emails: dict[int, str]
    brand: BrandProfile
    group_ids: frozenset[int]
    open_group_ids: frozenset[int]
    org_id: int
    timezone: str

    def address_ids(self, group_id: int = 0) -> str:
        """Returns the ids of the addresses whose tickets the customer can read in a group, as a JSON list; by default
        all addresses. In a private group only the proved address counts, because workers without access to the group
        can add addresses to a contact."""
        is_private = group_id in self.group_ids - self.open_group_ids
        return json.dumps([self.address_id] if is_private else sorted(self.emails))


def is_open(brand: BrandProfile | None) -> bool:
    """Whether customers can sign in to the help center of a brand."""
    return brand is not None and brand.is_public and brand.has_requests


def may_sign_in(reading: RecordReader, address: Record | None) -> bool:
    """Whether the owner of an address can be a customer: it is not banned, and neither a worker's nor the service's."""
    if address is None or address["is_banned"] or address["worker_id"]:
        return False
    return reading.find("worker", email_id=address["id"]) is None and not identity.is_sender(reading, address)


def customer_of(reading: RecordReader, session_id: int, address: Record, brand: BrandProfile) -> SignedInCustomer:
    """Returns the customer with an address that may sign in."""
    contact = reading.record("contact", address["contact_id"]) if address["contact_id"] else None
    emails = {address["id"]: address["email"]}
    if contact is not None:
        addresses = reading.registry.type("address")
        for row in reading.tx.some(addresses.table, MAX_ADDRESSES, contact_id=contact["id"]):
            other = addresses.record(row)
            if may_sign_in(reading, other):
                emails[other["id"]] = other["email"]
    group_ids = groups_of(reading.tx, brand)
    org_id = (contact["org_id"] if contact is not None else 0) or address["org_id"]
    org = reading.record("org", org_id) if org_id else None
    return SignedInCustomer(
        session_id,
        address["id"],
        address["email"],
        address["display_name"],
        contact["id"] if contact is not None else 0,
        emails,
        brand,
        group_ids,
        group_ids - _private_groups(reading.tx),
        org_id if org is not None and org["shares_requests"] else 0,
        (contact["timezone"] if contact is not None else "") or "UTC",
    )


def groups_of(tx: Transaction, brand: BrandProfile) -> frozenset[int]:
    """Returns the ids of the groups that work for a brand. A group that is assigned to no brand works for the brand
    without a host name, or for the only brand."""
    group, everyone = table_named("group"), brands.all_brands(tx)
    ids = [id for (id,) in tx.rows(lambda: group.select(group.c.id))]
    return frozenset(id for id in ids if (own := brands.brand_of_group(everyone, id)) and own.id == brand.id)


def _private_groups(tx: Transaction) -> frozenset[int]:
    group = table_named("group")
    rows = tx.rows(lambda: group.select(group.c.id).where(group.c.is_private == slot(0)), (1,))
    return frozenset(id for (id,) in rows)
