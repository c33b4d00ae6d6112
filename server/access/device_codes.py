"""Device codes: a program without a browser waits until a worker enters its short code on another device (RFC 8628).

The program polls with the device code, the worker types the user code. Only the SHA-256 of both is stored."""

import secrets
from typing import Any

import peewee

from server.dataclass import dataclass
from server.record_types.shared.secrets import digest
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

DEVICE_CODE_SECONDS = 900  # lifetime of both codes
INTERVAL_SECONDS = 5  # minimum between two polls; each earlier poll adds as much (RFC 8628, 3.5)
MAX_OPEN_DEVICE_CODES = 1000  # per app, which limits the size of the table
MAX_DEVICE_CODE_CHARS = 200
# Consonants, so that no words occur, without those that are easily confused (RFC 8628, 6.1).
ALPHABET = "BCDFGHJKLMNPQRSTVWXZ"
USER_CODE_CHARS = 8

PENDING, ALLOWED, DENIED, USED = "pending", "allowed", "denied", "used"

DEVICE_CODE = Table(
    "oauth_device_code",
    [
        Column("device_hash", "TEXT"),
        Column("user_hash", "TEXT"),
        Column("app_id"),
        Column("scopes", "TEXT"),
        Column("state", "TEXT"),
        Column("worker_id"),
        Column("family", "TEXT"),
        Column("client", "TEXT"),
        Column("created_at"),
        Column("expires_at"),
        Column("polled_at"),
        Column("interval_seconds"),
    ],
    [
        Index(("device_hash",), "each poll", unique=True),
        Index(("user_hash",), "the page where the code is entered", unique=True),
        Index(("worker_id",), "a worker that goes takes the codes along"),
        Index(("app_id",), "how many an app has open"),
        Index(("expires_at",), "cleaning up"),
    ],
)


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """A request of a program. client: the address that it was sent from. Times in Unix seconds; polled_at is 0 before
    the first poll."""

    id: int
    app_id: int
    scopes: tuple[str, ...]
    state: str
    worker_id: int
    family: str
    client: str
    expires_at: int
    polled_at: int
    interval_seconds: int


def new_device_code() -> str:
    """Returns a new code for the program to poll with."""
    return secrets.token_urlsafe(32)


def new_user_code() -> str:
    """Returns a new code for the worker to type, such as BDFG-HJKL."""
    code = "".join(secrets.choice(ALPHABET) for _ in range(USER_CODE_CHARS))
    return f"{code[:4]}-{code[4:]}"


def add(
    tx: Transaction,
    device_code: str,
    user_code: str,
    app_id: int,
    scopes: tuple[str, ...],
    family: str,
    client: str,
    now: int,
) -> None:
    """Stores a new pair of codes."""
    tx.insert(
        DEVICE_CODE,
        {
            "device_hash": digest(device_code),
            "user_hash": _user_hash(user_code),
            "app_id": app_id,
            "scopes": " ".join(scopes),
            "state": PENDING,
            "family": family,
            "client": client,
            "created_at": now,
            "expires_at": now + DEVICE_CODE_SECONDS,
            "interval_seconds": INTERVAL_SECONDS,
        },
    )


def count_open(tx: Transaction, app_id: int, now: int) -> int:
    """Returns the number of codes of an app that have not expired."""
    table: Any = DEVICE_CODE.sql
    return int(
        tx.value(
            lambda: table.select(peewee.fn.COUNT(table.id)).where(table.app_id == slot(0), table.expires_at > slot(1)),
            (app_id, now),
        )
    )


def by_device_code(tx: Transaction, device_code: str) -> DeviceCode | None:
    """Returns the request with this device code, in any state; None for an unknown code."""
    if len(device_code) > MAX_DEVICE_CODE_CHARS:
        return None
    return _device_code(tx.first(DEVICE_CODE, device_hash=digest(device_code)))


def by_user_code(tx: Transaction, user_code: str, now: int) -> DeviceCode | None:
    """Returns the pending request with this user code; None for an unknown, expired or decided one."""
    code = _device_code(tx.first(DEVICE_CODE, user_hash=_user_hash(user_code)))
    return code if code is not None and code.state == PENDING and code.expires_at > now else None


def poll(tx: Transaction, code: DeviceCode, now: int) -> bool:
    """Records a poll. Returns False if it was too early; the program must then wait longer between polls."""
    is_due = now - code.polled_at >= code.interval_seconds
    interval = code.interval_seconds + (0 if is_due else INTERVAL_SECONDS)
    tx.update(DEVICE_CODE, code.id, {"polled_at": now, "interval_seconds": interval})
    return is_due


def decide(tx: Transaction, code: DeviceCode, worker_id: int, state: str) -> None:
    """Sets the state ALLOWED, DENIED or USED, and the worker who decided."""
    tx.update(DEVICE_CODE, code.id, {"state": state, "worker_id": worker_id})


def forget_of_worker(tx: Transaction, worker_id: int, **equals: Any) -> None:
    """Deletes the codes that a worker decided. equals: further conditions, such as the app_id."""
    tx.delete(DEVICE_CODE, worker_id=worker_id, **equals)


def forget_useless(tx: Transaction, before: int) -> int:
    """Deletes codes that expired before an instant; returns their number."""
    table: Any = DEVICE_CODE.sql
    return tx.run(lambda: table.delete().where(table.expires_at < slot(0)), (before,))


def _user_hash(user_code: str) -> str:
    """Returns the hash of a user code in any spelling: bdfg hjkl equals BDFG-HJKL."""
    return digest("".join(each for each in user_code.upper()[:100] if each in ALPHABET))


def _device_code(row: Any) -> DeviceCode | None:
    if row is None:
        return None
    values = dict(zip(DEVICE_CODE.names, row, strict=True))
    return DeviceCode(
        values["id"],
        values["app_id"],
        tuple(values["scopes"].split()),
        values["state"],
        values["worker_id"],
        values["family"],
        values["client"],
        values["expires_at"],
        values["polled_at"],
        values["interval_seconds"],
    )
