"""Exports the data of a customer as a file, and turns their request to erase it into a ticket."""

import hashlib
import json
from typing import Any

from server.access import lockout
from server.access.service_actor import own_context
from server.clock import utc_text
from server.context import Service
from server.errors import TooMany
from server.help_center.customers import customer_requests, public_conversation, request_acts
from server.help_center.customers.customers import SignedInCustomer
from server.mail.mail_bytes import OutgoingMail
from server.mailroom.receiving import Receipt
from server.outbox.sender import default_sender
from server.records.reading import RecordReader
from server.settings import VERSION
from server.translation import _, lazy_gettext

MAX_REQUESTS = 300  # newest tickets in the file
MAX_BYTES = 20 * 1024 * 1024  # size of the file; further tickets are left out
DAY_SECONDS = 86400
CONTACT_FIELDS = (
    *("first_name", "last_name", "title", "phone", "mobile", "location", "language", "timezone", "dob"),
    "username",
)


def data_of(service: Service, customer: SignedInCustomer, now: int) -> bytes:
    """Returns a JSON document with the contact of a customer and the tickets that they requested, without the contents
    of files. Raises TooMany."""
    key = f"customer data:{customer.address_id}"
    if not service.store.write(lambda tx: lockout.has_left(tx, key, now)):
        raise TooMany(
            lazy_gettext("Your data was downloaded several times. Try again in ten minutes."),
            retry_after=lockout.WINDOW_SECONDS,
        )
    ctx = own_context(service, now)
    person, requests = service.store.read(lambda tx: _person(RecordReader(ctx, tx), customer))
    document: dict[str, Any] = {"created": utc_text(now), "person": person, "requests": [], "is_complete": True}
    size = len(json.dumps(document))
    for each in requests[:MAX_REQUESTS]:
        entry = _entry(service, customer, each)
        size += len(json.dumps(entry))
        if size > MAX_BYTES:
            break
        document["requests"].append(entry)
    document["is_complete"] = len(document["requests"]) == len(requests)
    return json.dumps(document, ensure_ascii=False, indent=2).encode()


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


def _entry(service: Service, customer: SignedInCustomer, request: customer_requests.OwnRequest) -> dict[str, Any]:
    messages = public_conversation.read(service, customer, request.id, has_look=False)
    return {
        "number": request.mask,
        "subject": request.subject,
        "status": customer_requests.STATE_NAMES[request.status_id],
        "created": utc_text(request.created),
        "updated": utc_text(request.updated),
        "messages": [
            {
                "at": utc_text(each.at),
                "from": customer.email if each.is_own else each.who,
                "text": "\n".join(text for _kind, text in each.parts),
                "files": [{"name": file.name, "bytes": file.size} for file in each.files],
            }
            for each in messages
        ],
    }


def _deciding_group(reading: RecordReader, customer: SignedInCustomer) -> tuple[int, str]:
    """Returns the id of the group that decides on erasure, 0 for none, and the address that it sends from, "" for
    none."""
    newest = customer_requests.all_requests(reading.tx, customer)[:1]
    ids = [customer.brand.privacy_group_id, *(each.group_id for each in newest), *sorted(customer.group_ids)]
    group = next((each for id in ids if id and (each := reading.record("group", id)) is not None), None)
    address_id = (group["reply_address_id"] if group is not None else 0) or default_sender(reading.tx)
    address = reading.record("address", address_id) if address_id else None
    return (group["id"] if group is not None else 0), (address["email"] if address is not None else "")
