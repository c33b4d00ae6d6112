"""One-time links for a forgotten password. The code in a link is kept as a hash; a newer link replaces an older one."""

import secrets

from server.record_types.shared.secrets import digest
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

LINK_SECONDS = 1800  # that a link works which somebody asked for themselves
MAX_CODE_CHARS = 200

PASSWORD_LINK = Table(
    "password_link",
    [Column("worker_id", references="worker(id)"), Column("hash", "TEXT"), Column("expires_at")],
    [Index(("hash",), "the worker of a link", unique=True)],
    key=("worker_id",),
)


def create(tx: Transaction, worker_id: int, now: int, seconds: int = LINK_SECONDS) -> str:
    """The code of a new link, which works for that many seconds."""
    code = secrets.token_urlsafe(32)
    tx.put(PASSWORD_LINK, {"worker_id": worker_id, "hash": digest(code), "expires_at": now + seconds})
    return code


def worker_of(tx: Transaction, code: str, now: int) -> int | None:
    """The worker whose password a link may set; None when it was used, replaced or is over."""
    row = tx.first(PASSWORD_LINK, hash=digest(code)) if len(code) <= MAX_CODE_CHARS else None
    if row is None or row[PASSWORD_LINK.position["expires_at"]] <= now:
        return None
    return int(row[PASSWORD_LINK.position["worker_id"]])


def use_up(tx: Transaction, worker_id: int) -> None:
    """The link of a worker no longer works."""
    tx.delete(PASSWORD_LINK, worker_id=worker_id)
