"""Known devices of workers: wrong attempts from elsewhere do not lock them out.

The browser has the id in a long-lived cookie; the database stores its SHA-256, for each worker who signed in there. It
is renewed with every sign-in, ends when the password changes, and is worthless without the password."""

import secrets
from typing import Any

from server.access.sessions import ID_BYTES, MAX_DEVICE_CHARS, MAX_ID_CHARS, password_mark
from server.dataclass import dataclass
from server.record_types.shared.secrets import digest
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

KNOWN_SECONDS = 365 * 86400  # since the last sign-in
MAX_DEVICES = 20  # per worker; the least recently used one is deleted

KNOWN_DEVICE = Table(
    "known_device",
    [
        Column("hash", "TEXT"),
        Column("worker_id", references="worker(id)"),
        Column("created_at"),
        Column("seen_at"),
        Column("password_mark", "TEXT"),
        Column("device", "TEXT"),
        Column("client", "TEXT"),
    ],
    [
        Index(("worker_id", "hash"), "whether a worker signed in from a device", unique=True),
        Index(("hash",), "those who signed in from a device"),
        Index(("seen_at",), "those that are over"),
    ],
)


@dataclass(frozen=True, slots=True)
class KnownDevice:
    """created_at, seen_at: the first and the last sign-in, in Unix seconds. device: its User-Agent header. client: its
    address then."""

    id: int
    created_at: int
    seen_at: int
    device: str
    client: str


def find(tx: Transaction, worker_id: int, id: str, now: int) -> int:
    """Returns the row of a device that this worker signed in from, 0 for any other."""
    if not worker_id or not id or len(id) > MAX_ID_CHARS:
        return 0
    row = tx.first(KNOWN_DEVICE, worker_id=worker_id, hash=digest(id))
    return int(row[0]) if row is not None and _is_good(tx, _values(row), now) else 0


def keep(tx: Transaction, worker_id: int, id: str, now: int, device: str, client: str) -> str:
    """Records a sign-in; returns the new id of the device. id: the previous one, "" for none."""
    new, table = secrets.token_urlsafe(ID_BYTES), KNOWN_DEVICE.sql
    device_id = 0
    if id and len(id) <= MAX_ID_CHARS:
        row = tx.first(KNOWN_DEVICE, worker_id=worker_id, hash=digest(id))
        device_id = int(row[0]) if row is not None else 0
        tx.run(  # also for other workers of the device: the browser has one cookie
            lambda: table.update(hash=slot(0)).where(table.hash == slot(1)),
            (digest(new), digest(id)),
        )
    values = {
        "hash": digest(new),
        "worker_id": worker_id,
        "seen_at": now,
        "password_mark": password_mark(tx, worker_id),
        "device": device[:MAX_DEVICE_CHARS],
        "client": client,
    }
    if device_id:
        tx.update(KNOWN_DEVICE, device_id, values)
    else:
        tx.insert(KNOWN_DEVICE, {**values, "created_at": now})
        _drop_oldest(tx, worker_id)
    return new


def vouch(tx: Transaction, worker_id: int, device_id: int) -> None:
    """Retains only the device on which the worker changed the password."""
    forget_all(tx, worker_id, but=device_id)
    if device_id:
        tx.update(KNOWN_DEVICE, device_id, {"password_mark": password_mark(tx, worker_id)})


def of_worker(tx: Transaction, worker_id: int, now: int) -> list[KnownDevice]:
    """Returns the devices of a worker, the last used first."""
    rows = (_values(row) for row in tx.find(KNOWN_DEVICE, worker_id=worker_id))
    devices = [
        KnownDevice(each["id"], each["created_at"], each["seen_at"], each["device"], each["client"])
        for each in rows
        if _is_good(tx, each, now)
    ]
    return sorted(devices, key=lambda each: (-each.seen_at, -each.id))


def forget(tx: Transaction, worker_id: int, device_id: int) -> bool:
    """Deletes a device of a worker; returns False if it does not exist."""
    return bool(tx.delete(KNOWN_DEVICE, id=device_id, worker_id=worker_id))


def forget_all(tx: Transaction, worker_id: int, but: int = 0) -> int:
    """Deletes the devices of a worker, all but one; returns their number."""
    table: Any = KNOWN_DEVICE.sql
    return tx.run(
        lambda: table.delete().where(table.worker_id == slot(0), table.id != slot(1)),
        (worker_id, but),
    )


def has_over(tx: Transaction, now: int) -> bool:
    """Returns whether any device has expired."""
    table: Any = KNOWN_DEVICE.sql
    expired = tx.value(
        lambda: table.select(table.id).where(table.seen_at <= slot(0)).limit(1),
        (now - KNOWN_SECONDS,),
    )
    return expired is not None


def forget_over(tx: Transaction, now: int) -> int:
    """Deletes expired devices; returns their number."""
    table: Any = KNOWN_DEVICE.sql
    return tx.run(lambda: table.delete().where(table.seen_at <= slot(0)), (now - KNOWN_SECONDS,))


def _is_good(tx: Transaction, values: dict[str, Any], now: int) -> bool:
    is_over = values["seen_at"] + KNOWN_SECONDS <= now
    return not is_over and values["password_mark"] == password_mark(tx, values["worker_id"])


def _drop_oldest(tx: Transaction, worker_id: int) -> None:
    devices = (_values(row) for row in tx.find(KNOWN_DEVICE, worker_id=worker_id))
    for each in sorted(devices, key=lambda each: (-each["seen_at"], -each["id"]))[MAX_DEVICES:]:
        tx.delete(KNOWN_DEVICE, id=each["id"])


def _values(row: Any) -> dict[str, Any]:
    return dict(zip(KNOWN_DEVICE.names, row, strict=True))
