"""The second factor of workers: the secret of their authenticator app, and recovery codes for the loss of it or of
their passkeys, which are a second factor as well (passkeys.py).

The secret is stored in the clear, since codes are computed from it; recovery codes are hashed."""

import secrets

from server.access import passkeys, totp
from server.record_types.shared.secrets import digest
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

RECOVERY_CODES = 10
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # no look-alikes
_CODE_CHARS = 16  # 79 random bits

SECOND_FACTOR = Table(
    "worker_second_factor",
    [Column("worker_id", references="worker(id)"), Column("secret", "TEXT"), Column("created_at"), Column("last_step")],
    key=("worker_id",),
)
RECOVERY = Table(
    "worker_recovery_code",
    [Column("worker_id", references="worker(id)"), Column("hash", "TEXT")],
    [Index(("worker_id", "hash"), "a code that was given", unique=True)],
)


def is_on(tx: Transaction, worker_id: int) -> bool:
    """Returns whether a password alone does not sign the worker in: they have an app or a passkey."""
    return has_app(tx, worker_id) or passkeys.has_any(tx, worker_id)


def has_app(tx: Transaction, worker_id: int) -> bool:
    """Returns whether the worker has codes of an authenticator app."""
    return tx.first(SECOND_FACTOR, worker_id=worker_id) is not None


def turn_on(tx: Transaction, worker_id: int, secret: str, code: str, now: int) -> list[str] | None:
    """Stores a secret after a right code of it; returns the recovery codes, None for a wrong code."""
    step = totp.step_of(secret, code, now)
    if step is None:
        return None
    tx.put(SECOND_FACTOR, {"worker_id": worker_id, "secret": secret, "created_at": now, "last_step": step})
    return new_recovery_codes(tx, worker_id)


def turn_off_app(tx: Transaction, worker_id: int) -> None:
    """Forgets the authenticator app of a worker."""
    tx.delete(SECOND_FACTOR, worker_id=worker_id)
    forget_unused_codes(tx, worker_id)


def forget_unused_codes(tx: Transaction, worker_id: int) -> None:
    """Removes the recovery codes of a worker whose last factor was removed."""
    if not is_on(tx, worker_id):
        tx.delete(RECOVERY, worker_id=worker_id)


def turn_off(tx: Transaction, worker_id: int) -> None:
    """Removes all factors of a worker but the password: app, passkeys and recovery codes."""
    passkeys.remove_all(tx, worker_id)
    turn_off_app(tx, worker_id)


def new_recovery_codes(tx: Transaction, worker_id: int) -> list[str]:
    """Replaces the recovery codes by ten new ones; each works once."""
    tx.delete(RECOVERY, worker_id=worker_id)
    codes = ["".join(secrets.choice(_LETTERS) for _ in range(_CODE_CHARS)) for _ in range(RECOVERY_CODES)]
    tx.put_many(RECOVERY, ("worker_id", "hash"), [(worker_id, digest(each)) for each in codes])
    return ["-".join(each[place : place + 4] for place in range(0, _CODE_CHARS, 4)) for each in codes]


def recovery_codes_left(tx: Transaction, worker_id: int) -> int:
    """Returns the number of unused recovery codes."""
    return len(tx.find(RECOVERY, worker_id=worker_id))


def accept(tx: Transaction, worker_id: int, code: str, now: int) -> bool:
    """Returns whether a code of the app, or a recovery code, is right, and uses it up."""
    row = tx.first(SECOND_FACTOR, worker_id=worker_id)
    if row is not None:
        secret, last = row[SECOND_FACTOR.position["secret"]], row[SECOND_FACTOR.position["last_step"]]
        step = totp.step_of(secret, code, now, after=last)
        if step is not None:
            tx.put(SECOND_FACTOR, dict(zip(SECOND_FACTOR.names, row, strict=True)) | {"last_step": step})
            return True
    letters = "".join(each for each in code.lower() if each.isalnum())
    return bool(tx.delete(RECOVERY, worker_id=worker_id, hash=digest(letters)))
