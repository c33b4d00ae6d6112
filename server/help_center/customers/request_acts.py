"""The actions of customers on their tickets: reply, close, reopen, and add a colleague.

A reply is received like an email of the customer, so that threading, automations, rules and limits apply as they do to
email. It carries the signed id of its ticket, which alone decides where it belongs."""

import hashlib
from collections.abc import Sequence
from typing import Any

from server.access.actor import Actor
from server.access.service_actor import own_context
from server.context import Service
from server.contexts import ADDRESS
from server.dataclass import dataclass
from server.errors import Conflict, Invalid, NotFound, Required, TooLarge
from server.help_center.customers import customer_requests, customers
from server.help_center.customers.customer_requests import OwnRequest
from server.help_center.customers.customers import SignedInCustomer
from server.mail import addresses
from server.mail.mail_bytes import OutFile, OutgoingMail, compose
from server.mailroom import receiving
from server.mailroom.receiving import Receipt
from server.markup.typed_text import clean_lines
from server.outbox import ticket_ids
from server.outbox.sender import default_sender
from server.people.address_names import named_address
from server.record_types.shared.relation_tables import REQUESTER
from server.records.reading import RecordReader
from server.records.signed_names import signing_key
from server.records.writing import RecordWriter
from server.settings import VERSION
from server.store.transaction import Transaction
from server.tickets import requesters
from server.tickets.types.ticket_parts import participants
from server.tickets.types.ticket_parts.status import CLOSED, OPEN
from server.translation import lazy_gettext

MAX_REPLY_CHARS = 50_000
MAX_FILES = 10
MAX_FILE_BYTES = 10 * 1024 * 1024
MAX_ALL_BYTES = 20 * 1024 * 1024
MAX_FORM_ID_CHARS = 100
MAX_PEOPLE = 10  # requesters of a ticket to which a customer can still add one
# Providers at which a shared domain does not make two people colleagues.
PUBLIC_DOMAINS = frozenset(
    "aol.com gmail.com gmx.at gmx.ch gmx.de gmx.net googlemail.com hotmail.com icloud.com live.com mail.com mail.ru "
    "me.com msn.com outlook.com proton.me protonmail.com qq.com t-online.de web.de yahoo.com yandex.ru 163.com".split()
)


@dataclass(frozen=True, slots=True)
class SentFile:
    """An uploaded file."""

    name: str
    mime_type: str
    content: bytes


def reply(
    service: Service,
    customer: SignedInCustomer,
    mask: str,
    text: str,
    files: Sequence[SentFile],
    form_id: str,
    now: int,
) -> Receipt:
    """Stores a reply of a customer, once for each form and content. Raises NotFound, Required, Invalid, TooLarge, and
    Rejected if an automation refuses it."""
    text = clean_text(text)
    _require_files(files)
    if not text and not files:
        raise Required(lazy_gettext("Write a message or add a file."), field="text")
    request = _own_request(service, customer, mask)
    key = signing_key(service, ticket_ids.KEY)
    to, sender = service.store.read(lambda tx: _ways(RecordReader(own_context(service, now), tx), customer, request))
    mail = OutgoingMail(
        message_id=f"{_digest(customer, request.mask, form_id, text, files)}@{_domain(to, service)}",
        date=now,
        from_name=customer.name,
        from_address=sender,
        to=(("", to),) if to else (),
        subject=f"Re: {' '.join(request.subject.split())}",
        text=text,
        installation="",
        version=VERSION,
        files=tuple(OutFile(each.name, each.mime_type, each.content) for each in files),
        references=(ticket_ids.ticket_reference(key, request.id, to or sender),),
    )
    return receive(service, mail, now)


def receive(service: Service, mail: OutgoingMail, now: int, place: dict[str, Any] | None = None) -> Receipt:
    """Receives an email that a customer wrote on a page. place: group or bucket of a new ticket, None for a reply."""
    ctx = own_context(service, now)
    return service.store.write(receiving.ready(ctx, compose(mail), place=place))


def close(service: Service, customer: SignedInCustomer, mask: str, now: int) -> OwnRequest:
    """Closes an own ticket; does nothing if it is closed. Raises NotFound."""
    return _set_status(service, customer, mask, CLOSED, now)


def reopen(service: Service, customer: SignedInCustomer, mask: str, now: int) -> OwnRequest:
    """Opens a closed ticket of the customer's own; does nothing if it is open. Raises NotFound."""
    return _set_status(service, customer, mask, OPEN, now)


def people_of(service: Service, customer: SignedInCustomer, request: OwnRequest) -> int:
    """Returns the number of requesters of a ticket."""
    return len(service.store.read(lambda tx: tx.find(REQUESTER, ticket_id=request.id)))


def add_colleague(service: Service, customer: SignedInCustomer, mask: str, email: str, now: int) -> str:
    """Makes a colleague a requester, who then sees the ticket and gets its replies; returns the address.

    A colleague has the domain of one of the customer's addresses, unless that is a provider's, or belongs to the same
    organization. Raises NotFound, Invalid, Conflict."""
    email = email.strip().lower()
    if not addresses.valid(email):
        raise Invalid(lazy_gettext("Enter an email address, such as ann@example.com."), field="email")
    ctx = own_context(service, now)

    def write(tx: Transaction) -> str:
        request = customer_requests.request_with(tx, customer, mask)
        if request is None or not request.is_own:
            raise NotFound(lazy_gettext("There is no such page."))
        writing = as_customer(RecordWriter(ctx, tx), customer)
        present = requesters.ids_of(tx, request.id)
        known = writing.find("address", email=email)
        if known is not None and known["id"] in present:
            return email
        if len(present) >= MAX_PEOPLE:
            raise Conflict(
                lazy_gettext("At most {count} people can take part in a request.", count=MAX_PEOPLE), field="email"
            )
        patterns = writing.setting("mail_exclude_patterns")
        may_join = participants.may_request(email, patterns) and (
            known is None or customers.may_sign_in(writing, known)
        )
        if not may_join or not _is_colleague(writing, customer, email):
            raise Invalid(
                lazy_gettext("Only people of your organization can be added, by their address there."), field="email"
            )
        address = requesters.address_of(writing.as_service(), email)
        requesters.add(writing, request.id, [address["id"]])
        return email

    return service.store.write(write)


def as_customer(writing: RecordWriter, customer: SignedInCustomer) -> RecordWriter:
    """Returns a writer for the same transaction with the customer's address as actor."""
    label = named_address(writing, customer.address_id)
    actor = Actor(ADDRESS, customer.address_id, False, writing.actor.timezone, label)
    return RecordWriter(writing.ctx.as_actor(actor, writing.ctx.tz), writing.tx)


def clean_text(text: str) -> str:
    """Returns a reply as it is sent. Raises TooLarge."""
    clean = clean_lines(text)
    if len(clean) > MAX_REPLY_CHARS:
        raise TooLarge(
            lazy_gettext("A message can have at most {count} characters.", count=MAX_REPLY_CHARS), limit=MAX_REPLY_CHARS
        )
    return clean


def _require_files(files: Sequence[SentFile]) -> None:
    if len(files) > MAX_FILES:
        raise Invalid(lazy_gettext("At most {count} files can be sent at once.", count=MAX_FILES), field="files")
    megabytes = MAX_FILE_BYTES // 1024**2
    for each in files:
        if len(each.content) > MAX_FILE_BYTES:
            raise TooLarge(
                lazy_gettext("{name} is larger than {count} MB.", name=each.name[:80], count=megabytes),
                limit=MAX_FILE_BYTES,
            )
    if sum(len(each.content) for each in files) > MAX_ALL_BYTES:
        raise TooLarge(
            lazy_gettext("All files together are larger than {count} MB.", count=MAX_ALL_BYTES // 1024**2),
            limit=MAX_ALL_BYTES,
        )


def _own_request(service: Service, customer: SignedInCustomer, mask: str) -> OwnRequest:
    request = customer_requests.find_request(service, customer, mask)
    if request is None or not request.is_own:
        raise NotFound(lazy_gettext("There is no such page."))
    return request


def _ways(reading: RecordReader, customer: SignedInCustomer, request: OwnRequest) -> tuple[str, str]:
    """The address of the team, "" if it has none, and the customer's address that is a requester of the ticket."""
    group = reading.record("group", request.group_id)
    address_id = group["reply_address_id"] if group is not None else 0
    address = reading.record("address", address_id or default_sender(reading.tx))
    own = [id for id in requesters.ids_of(reading.tx, request.id) if id in customer.emails]
    sender = customer.address_id if customer.address_id in own or not own else own[0]
    return (address["email"] if address is not None else ""), customer.emails[sender]


def _digest(customer: SignedInCustomer, mask: str, form_id: str, text: str, files: Sequence[SentFile]) -> str:
    """The id of a reply: the same for a form that arrives twice."""
    content = hashlib.sha256(f"{customer.address_id} {mask} {form_id[:MAX_FORM_ID_CHARS]}\n{text}".encode())
    for each in files:
        content.update(hashlib.sha256(each.content).digest() + each.name.encode("utf-8", "replace"))
    return content.hexdigest()[:40]


def _domain(to: str, service: Service) -> str:
    return to.rpartition("@")[2] or "help-center.invalid"


def _set_status(service: Service, customer: SignedInCustomer, mask: str, status_id: int, now: int) -> OwnRequest:
    ctx = own_context(service, now)

    def write(tx: Transaction) -> OwnRequest:
        request = customer_requests.request_with(tx, customer, mask)
        if request is None or not request.is_own:
            raise NotFound(lazy_gettext("There is no such page."))
        if (request.status_id == CLOSED) != (status_id == CLOSED):
            writing = as_customer(RecordWriter(ctx, tx), customer)
            writing.update("ticket", request.id, {"status_id": status_id, "reopen_date": 0})
        return request

    return service.store.write(write)


def _is_colleague(reading: RecordReader, customer: SignedInCustomer, email: str) -> bool:
    domain = email.rpartition("@")[2]
    own = {each.rpartition("@")[2].lower() for each in customer.emails.values()} - PUBLIC_DOMAINS
    if domain in own:
        return True
    own_org, known = _organization(reading, customer.address_id), reading.find("address", email=email)
    return own_org != 0 and known is not None and _organization(reading, known["id"]) == own_org


def _organization(reading: RecordReader, address_id: int) -> int:
    address = reading.record("address", address_id)
    contact = reading.record("contact", address["contact_id"]) if address and address["contact_id"] else None
    return int((contact["org_id"] if contact is not None else 0) or (address["org_id"] if address is not None else 0))
