"""Sessions of customers at the help center of one brand. They have nothing in common with sessions of the console: not
the table, the cookie or the rights.

An id is 256 random bits, of which the database stores the SHA-256. A session ends by sign-out, after a time without
requests, after its maximal lifetime, when its address is banned, deleted, changed or becomes a worker's, and when the
brand no longer shows customers their requests."""

import secrets

from server.access.service_actor import own_context
from server.context import Service
from server.dataclass import dataclass
from server.help_center.customers import customers
from server.help_center.customers.customers import SignedInCustomer
from server.jobs.expiry import expire
from server.record_types.shared.brands import BrandProfile
from server.record_types.shared.secrets import digest
from server.records.reading import RecordReader
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction
from server.translation import N_

ID_BYTES = 32
MAX_ID_CHARS = 200
IDLE_SECONDS = 7 * 86400  # lifetime since the last request
SESSION_SECONDS = 30 * 86400  # lifetime since the sign-in
SEEN_EVERY_SECONDS = 3600  # precision of `seen_at`: a write for each request would be too many

CUSTOMER_SESSION = Table(
    "customer_session",
    [
        Column("hash", "TEXT"),
        Column("address_id", references="address(id)"),
        Column("email", "TEXT"),
        Column("brand_id", references="brand(id)"),
        Column("created_at"),
        Column("seen_at"),
    ],
    [
        Index(("hash",), "every page of a customer", unique=True),
        Index(("address_id",), "the sessions of an address"),
        Index(("brand_id",), "the sessions at a help center"),
        Index(("created_at",), "those that are over"),
    ],
)  # email: the address as it was proved


@dataclass(frozen=True, slots=True)
class CustomerSession:
    """A valid session. must_be_seen: whether this use must be recorded."""

    id: int
    customer: SignedInCustomer
    must_be_seen: bool


def create(tx: Transaction, address_id: int, email: str, brand_id: int, now: int) -> str:
    """Creates a session; returns its id, which is stored nowhere."""
    id = secrets.token_urlsafe(ID_BYTES)
    values = {"hash": digest(id), "address_id": address_id, "email": email, "brand_id": brand_id}
    tx.insert(CUSTOMER_SESSION, {**values, "created_at": now, "seen_at": now})
    return id


def check(service: Service, id: str, brand: BrandProfile, now: int) -> CustomerSession | None:
    """Returns the valid session of an id at the help center of a brand, None for any other id."""
    if not id or len(id) > MAX_ID_CHARS or not customers.is_open(brand):
        return None
    ctx = own_context(service, now)
    return service.store.read(lambda tx: _session(RecordReader(ctx, tx), digest(id), brand))


def record_use(service: Service, session: CustomerSession, now: int) -> None:
    """Records the use of a session."""
    service.store.write(lambda tx: tx.update(CUSTOMER_SESSION, session.id, {"seen_at": now}))


def end(tx: Transaction, id: str) -> None:
    """Ends the session of an id, if there is one."""
    if id and len(id) <= MAX_ID_CHARS:
        tx.delete(CUSTOMER_SESSION, hash=digest(id))


def _session(reading: RecordReader, hashed: str, brand: BrandProfile) -> CustomerSession | None:
    row = reading.tx.first(CUSTOMER_SESSION, hash=hashed)
    if row is None:
        return None
    values = dict(zip(CUSTOMER_SESSION.names, row, strict=True))
    now = reading.now
    is_over = values["created_at"] + SESSION_SECONDS <= now or values["seen_at"] + IDLE_SECONDS <= now
    if is_over or values["brand_id"] != brand.id:
        return None
    address = reading.record("address", values["address_id"])
    if address is None or address["email"] != values["email"] or not customers.may_sign_in(reading, address):
        return None
    customer = customers.customer_of(reading, values["id"], address, brand)
    return CustomerSession(values["id"], customer, values["seen_at"] + SEEN_EVERY_SECONDS <= now)


forget_old = expire(
    N_("sessions of customers"),
    N_("Removes sessions at the help center that are over."),
    CUSTOMER_SESSION,
    "created_at",
    SESSION_SECONDS,
)
