"""Changes of the address that a worker signs in with, which wait for confirmation at the new address.

A worker signs in with their main address, and password links go there. While a change is unconfirmed, the former
address counts, whatever the records say."""

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
    """An unconfirmed change: a worker signs in with `email`, and with `new_email` once it is confirmed."""

    worker_id: int
    email: str
    new_email: str


def waiting(tx: Transaction, worker_id: int) -> LoginChange | None:
    """Returns the unconfirmed change of a worker, or None."""
    row = tx.first(LOGIN_CHANGE, worker_id=worker_id)
    return LoginChange(*row[:3]) if row is not None else None


def counting(reading: Reading, worker: Record) -> str:
    """Returns the address that a worker signs in with now; password links go only there."""
    change = waiting(reading.tx, worker["id"])
    if change is not None:
        return change.email
    address = reading.record("address", worker["email_id"])
    return str(address["email"]) if address is not None else ""


def holder(tx: Transaction, email: str) -> int:
    """Returns the worker who signs in with this address until a change is confirmed, or 0."""
    row = tx.first(LOGIN_CHANGE, email=email)
    return int(row[0]) if row is not None else 0


def request(tx: Transaction, change: LoginChange) -> None:
    """Stores a change to be confirmed, replacing any former one."""
    _put(tx, change, "", 0)


def cancel(tx: Transaction, worker_id: int) -> None:
    """Deletes a change: the main address counts."""
    tx.delete(LOGIN_CHANGE, worker_id=worker_id)


def new_code(tx: Transaction, change: LoginChange, expires_at: int) -> str:
    """Returns the code of a new link for an unconfirmed change; a former link no longer works."""
    code = secrets.token_urlsafe(32)
    _put(tx, change, digest(code), expires_at)
    return code


def of_code(tx: Transaction, code: str, now: int) -> LoginChange | None:
    """Returns the change that a link confirms; None if the change was confirmed, canceled or replaced, or the link has
    expired."""
    row = tx.first(LOGIN_CHANGE, hash=digest(code)) if code else None
    if row is None or row[LOGIN_CHANGE.position["expires_at"]] <= now:
        return None
    return LoginChange(*row[:3])


def _put(tx: Transaction, change: LoginChange, hash: str, expires_at: int) -> None:
    row = {"worker_id": change.worker_id, "email": change.email, "new_email": change.new_email}
    tx.put(LOGIN_CHANGE, row | {"hash": hash, "expires_at": expires_at})
