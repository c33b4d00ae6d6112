"""One-time links to set a forgotten password. Only the hash of the code is stored; a new link replaces the previous
one."""

import secrets

from server.record_types.shared.secrets import digest
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

LINK_SECONDS = 1800  # lifetime of a link that the worker requested
MAX_CODE_CHARS = 200

PASSWORD_LINK = Table(
    "password_link",
    [Column("worker_id", references="worker(id)"), Column("hash", "TEXT"), Column("expires_at")],
    [Index(("hash",), "the worker of a link", unique=True)],
    key=("worker_id",),
)


def create(tx: Transaction, worker_id: int, now: int, seconds: int = LINK_SECONDS) -> str:
    """Creates a link that expires after the given seconds; returns its code."""
    code = secrets.token_urlsafe(32)
    tx.put(PASSWORD_LINK, {"worker_id": worker_id, "hash": digest(code), "expires_at": now + seconds})
    return code


def worker_of(tx: Transaction, code: str, now: int) -> int | None:
    """Returns the worker whose password a link may set; None if it was used, replaced or has expired."""
    row = tx.first(PASSWORD_LINK, hash=digest(code)) if len(code) <= MAX_CODE_CHARS else None
    if row is None or row[PASSWORD_LINK.position["expires_at"]] <= now:
        return None
    return int(row[PASSWORD_LINK.position["worker_id"]])


def use_up(tx: Transaction, worker_id: int) -> None:
    """Deletes the link of a worker."""
    tx.delete(PASSWORD_LINK, worker_id=worker_id)
