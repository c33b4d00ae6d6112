"""Changes of the address that a worker signs in with, which wait to be confirmed at the new one.

A worker signs in with their main address, and links to set a password go there. While a change waits, the address
before it counts, whatever the records say by now."""

import secrets

from server.dataclass import dataclass
from server.record_types.parts import Reading, Record
from server.record_types.shared.secrets import digest
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

LOGIN_CHANGE = Table(
    "login_change",
    [
        Column("worker_id", references="worker(id)"),
        Column("email", "TEXT"),
        Column("new_email", "TEXT"),
        Column("hash", "TEXT"),
        Column("expires_at"),
    ],
    [
        Index(("email",), "the worker who signs in with an address until a change is confirmed", unique=True),
        Index(("hash",), "the change that a link confirms"),
    ],
    key=("worker_id",),
)  # email: the present address; hash, expires_at: of the code in the last mailed link


@dataclass(frozen=True, slots=True)
class LoginChange:
    """A change that waits: a worker signs in with `email`, and with `new_email` once it is confirmed."""

    worker_id: int
    email: str
    new_email: str


def waiting(tx: Transaction, worker_id: int) -> LoginChange | None:
    """The change of a worker that waits, None for none."""
    row = tx.first(LOGIN_CHANGE, worker_id=worker_id)
    return LoginChange(*row[:3]) if row is not None else None


def counting(reading: Reading, worker: Record) -> str:
    """The address that a worker signs in with now; links to set a password go nowhere else."""
    change = waiting(reading.tx, worker["id"])
    if change is not None:
        return change.email
    address = reading.record("address", worker["email_id"])
    return str(address["email"]) if address is not None else ""


def holder(tx: Transaction, email: str) -> int:
    """The worker who signs in with this address until a change is confirmed, 0 for nobody."""
    row = tx.first(LOGIN_CHANGE, email=email)
    return int(row[0]) if row is not None else 0


def ask(tx: Transaction, change: LoginChange) -> None:
    """Stores a change to be confirmed, replacing any former one."""
    _put(tx, change, "", 0)


def drop(tx: Transaction, worker_id: int) -> None:
    """Nothing waits any more: the main address counts."""
    tx.delete(LOGIN_CHANGE, worker_id=worker_id)


def new_code(tx: Transaction, change: LoginChange, expires_at: int) -> str:
    """The code of a new link for a change that waits; one before no longer works."""
    code = secrets.token_urlsafe(32)
    _put(tx, change, digest(code), expires_at)
    return code


def of_code(tx: Transaction, code: str, now: int) -> LoginChange | None:
    """The change that a link confirms; None when it was done, taken back, replaced or is over."""
    row = tx.first(LOGIN_CHANGE, hash=digest(code)) if code else None
    if row is None or row[LOGIN_CHANGE.position["expires_at"]] <= now:
        return None
    return LoginChange(*row[:3])


def _put(tx: Transaction, change: LoginChange, hash: str, expires_at: int) -> None:
    row = {"worker_id": change.worker_id, "email": change.email, "new_email": change.new_email}
    tx.put(LOGIN_CHANGE, row | {"hash": hash, "expires_at": expires_at})
