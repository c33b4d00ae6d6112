"""The data of a customer, and their request to erase it, which becomes a ticket. data_archive.py packs it."""

import hashlib
from typing import Any

from server.access.service_actor import own_context
from server.context import Service
from server.help_center.customers import customer_requests, request_acts
from server.help_center.customers.customers import SignedInCustomer
from server.mail.mail_bytes import OutgoingMail
from server.mailroom.receiving import Receipt
from server.outbox.sender import default_sender
from server.records.reading import RecordReader
from server.settings import VERSION
from server.translation import _

DAY_SECONDS = 86400
CONTACT_FIELDS = (
    *("first_name", "last_name", "title", "phone", "mobile", "location", "language", "timezone", "dob"),
    "username",
)


def person_and_requests(
    service: Service, customer: SignedInCustomer, now: int
) -> tuple[dict[str, Any], list[customer_requests.OwnRequest]]:
    """Returns the contact of a customer, and the tickets that they requested, newest first."""
    ctx = own_context(service, now)
    return service.store.read(lambda tx: _person(RecordReader(ctx, tx), customer))


def ask_for_erasure(service: Service, customer: SignedInCustomer, now: int) -> Receipt:
    """Creates a ticket that asks to erase the data of a customer, at most one a day. Raises Rejected."""
    ctx = own_context(service, now)
    group_id, to = service.store.read(lambda tx: _deciding_group(RecordReader(ctx, tx), customer))
    day = now - now % DAY_SECONDS
    name = hashlib.sha256(f"erasure {customer.address_id} {customer.brand.id} {day}".encode()).hexdigest()[:40]
    mail = OutgoingMail(
        message_id=f"{name}@{to.rpartition('@')[2] or 'help-center.invalid'}",
        date=now,
        from_name=customer.name,
        from_address=customer.email,
        to=(("", to),) if to else (),
        subject=_("Request to erase personal data"),
        text=_(
            "{email} has signed in to the help center {brand} and asks to erase their personal data.",
            email=customer.email,
            brand=customer.brand.name,
        ),
        installation="",
        version=VERSION,
    )
    return request_acts.receive(service, mail, now, {"group_id": group_id} if group_id else {})


def _person(
    reading: RecordReader, customer: SignedInCustomer
) -> tuple[dict[str, Any], list[customer_requests.OwnRequest]]:
    contact = reading.record("contact", customer.contact_id) if customer.contact_id else None
    org = reading.record("org", contact["org_id"]) if contact is not None and contact["org_id"] else None
    person: dict[str, Any] = {"emails": sorted(customer.emails.values()), "name": customer.name}
    if contact is not None:
        person |= {name: contact[name] for name in CONTACT_FIELDS}
    if org is not None:
        person["organization"] = org["name"]
    return person, customer_requests.all_requests(reading.tx, customer)


def _deciding_group(reading: RecordReader, customer: SignedInCustomer) -> tuple[int, str]:
    """Returns the id of the group that decides on erasure, 0 for none, and the address that it sends from, "" for
    none."""
    newest = customer_requests.all_requests(reading.tx, customer)[:1]
    ids = [customer.brand.privacy_group_id, *(each.group_id for each in newest), *sorted(customer.group_ids)]
    group = next((each for id in ids if id and (each := reading.record("group", id)) is not None), None)
    address_id = (group["reply_address_id"] if group is not None else 0) or default_sender(reading.tx)
    address = reading.record("address", address_id) if address_id else None
    return (group["id"] if group is not None else 0), (address["email"] if address is not None else "")
