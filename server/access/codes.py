"""Authorization codes: a worker's consent to an app, to be exchanged for tokens once, within a minute.

The SHA-256 of a code is stored. Used codes are retained, so that a second use is noticed."""

import secrets
from typing import Any

from server.dataclass import dataclass
from server.record_types.shared.secrets import digest
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

CODE_SECONDS = 60
MAX_CODE_CHARS = 200

CODE = Table(
    "oauth_code",
    [
        Column("hash", "TEXT"),
        Column("app_id"),
        Column("worker_id"),
        Column("scopes", "TEXT"),
        Column("callback", "TEXT"),
        Column("is_callback_sent"),
        Column("challenge", "TEXT"),
        Column("family", "TEXT"),
        Column("expires_at"),
        Column("used_at"),
        Column("resource", "TEXT"),
    ],
    [
        Index(("hash",), "the exchange", unique=True),
        Index(("worker_id",), "a worker that goes takes the codes along"),
        Index(("expires_at",), "cleaning up"),
    ],
)


@dataclass(frozen=True, slots=True)
class Code:
    """A stored code. challenge: of PKCE with S256, "" for none. family: of its tokens. is_callback_sent: whether the
    request named the callback, as the exchange then must. expires_at, used_at: Unix seconds, used_at 0 for never.
    resource: a name of resources.py, "" for none."""

    app_id: int
    worker_id: int
    scopes: tuple[str, ...]
    callback: str
    is_callback_sent: bool
    challenge: str
    family: str
    expires_at: int = 0
    used_at: int = 0
    id: int = 0
    resource: str = ""


def text() -> str:
    """Generates the text of a code."""
    return secrets.token_urlsafe(32)


def add(tx: Transaction, text: str, code: Code, now: int) -> None:
    """Stores a new code, valid for CODE_SECONDS."""
    tx.insert(
        CODE,
        {
            "hash": digest(text),
            "app_id": code.app_id,
            "worker_id": code.worker_id,
            "scopes": " ".join(code.scopes),
            "callback": code.callback,
            "is_callback_sent": int(code.is_callback_sent),
            "challenge": code.challenge,
            "family": code.family,
            "expires_at": now + CODE_SECONDS,
            "resource": code.resource,
        },
    )


def find_code(tx: Transaction, text: str) -> Code | None:
    """Returns the stored code of a text, even if it is used or expired; None for an unknown one."""
    row = tx.first(CODE, hash=digest(text)) if len(text) <= MAX_CODE_CHARS else None
    if row is None:
        return None
    values = dict(zip(CODE.names, row, strict=True))
    return Code(
        values["app_id"],
        values["worker_id"],
        tuple(values["scopes"].split()),
        values["callback"],
        bool(values["is_callback_sent"]),
        values["challenge"],
        values["family"],
        values["expires_at"],
        values["used_at"],
        values["id"],
        values["resource"],
    )


def use(tx: Transaction, code: Code, now: int) -> None:
    """Marks a code as used."""
    tx.update(CODE, code.id, {"used_at": now})


def forget_of_worker(tx: Transaction, worker_id: int) -> None:
    """Deletes the codes of a worker."""
    tx.delete(CODE, worker_id=worker_id)


def forget_useless(tx: Transaction, before: int) -> int:
    """Deletes codes that expired before this instant; returns their number."""
    table: Any = CODE.sql
    return tx.run(lambda: table.delete().where(table.expires_at < slot(0)), (before,))
