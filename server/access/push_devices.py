"""Devices of workers that are notified by web push: browsers, each with the session that turned it on.

A row refers to its session, so it ends with it. Addresses at push services are never shown: they are secrets of the
browsers (RFC 8030, section 8.3)."""

from typing import Any

from server.access import sessions
from server.access.sessions import MAX_DEVICE_CHARS, SESSION
from server.dataclass import dataclass
from server.outbound.web_push import Subscription
from server.record_types.shared.secrets import digest
from server.store.store_local import VersionedLocal
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

MAX_PUSH_DEVICES = 10  # per worker
VERSION = "push_devices"  # version that rises when other workers have devices, or a device wants other kinds
USED_EVERY_SECONDS = 300  # precision of "last notified": a write for each message would be too many
FAILING_SECONDS = 7 * 86_400  # a device that fails for longer is removed
MAX_ERROR_CHARS = 300

PUSH_DEVICE = Table(
    "push_device",
    [
        Column("session_id", references=f"{SESSION.name}(id)"),
        Column("worker_id", references="worker(id)"),
        Column("hash", "TEXT"),
        Column("endpoint", "TEXT"),
        Column("key", "BLOB"),
        Column("auth", "BLOB"),
        Column("kinds", "TEXT"),
        Column("device", "TEXT"),
        Column("created_at"),
        Column("used_at"),
        Column("tested_at"),
        Column("failures"),
        Column("failing_since"),
        Column("resume_at"),
        Column("error", "TEXT"),
    ],
    [
        Index(("session_id",), "the device of a session", unique=True),
        Index(("hash",), "the device with an address", unique=True),
        Index(("worker_id",), "the devices of a worker"),
    ],
    bumps={VERSION: ("worker_id", "kinds")},
)  # hash: of the endpoint. kinds: separated by spaces. resume_at: nothing is sent before

_WANTED: VersionedLocal[dict[int, frozenset[str]]] = VersionedLocal()  # most workers have no device: saves a statement


@dataclass(frozen=True, slots=True)
class PushDevice:
    """A device. kinds: of notifications. device: its User-Agent header. Times in Unix seconds, 0 for never. failures:
    consecutive ones, with the last error."""

    id: int
    session_id: int
    worker_id: int
    subscription: Subscription
    kinds: tuple[str, ...]
    device: str
    created_at: int
    used_at: int
    tested_at: int
    failures: int
    failing_since: int
    resume_at: int
    error: str


def wants(tx: Transaction, worker_id: int, kind: str) -> bool:
    """Returns whether a device of a worker may want this kind of notification, from a cache."""
    return kind in _WANTED.read(tx, VERSION, _wanted).get(worker_id, ())


def of_worker(tx: Transaction, worker_id: int) -> list[PushDevice]:
    """Returns the devices of a worker, the newest first."""
    return sorted(map(_device, tx.find(PUSH_DEVICE, worker_id=worker_id)), key=lambda each: -each.id)


def find(tx: Transaction, id: int) -> PushDevice | None:
    """Returns a device by its id."""
    row = tx.get(PUSH_DEVICE, id)
    return _device(row) if row is not None else None


def at_endpoint(tx: Transaction, endpoint: str) -> PushDevice | None:
    """Returns the device with this address at a push service."""
    row = tx.first(PUSH_DEVICE, hash=digest(endpoint))
    return _device(row) if row is not None else None


def is_signed_in(tx: Transaction, device: PushDevice, now: int) -> bool:
    """Returns whether the session of a device is valid."""
    return sessions.is_valid(tx, device.session_id, now)


def add(
    tx: Transaction, session_id: int, worker_id: int, to: Subscription, kinds: tuple[str, ...], device: str, now: int
) -> int:
    """Adds the device of a session, in place of a former one; returns its id."""
    tx.delete(PUSH_DEVICE, session_id=session_id)
    return tx.insert(
        PUSH_DEVICE,
        {
            "session_id": session_id,
            "worker_id": worker_id,
            "hash": digest(to.endpoint),
            "endpoint": to.endpoint,
            "key": to.key,
            "auth": to.auth,
            "kinds": " ".join(kinds),
            "device": device[:MAX_DEVICE_CHARS],
            "created_at": now,
        },
    )


def change(tx: Transaction, id: int, **values: Any) -> None:
    """Changes columns of a device."""
    tx.update(PUSH_DEVICE, id, values)


def remove(tx: Transaction, id: int, worker_id: int) -> bool:
    """Removes a device of a worker; returns False if it does not exist."""
    return bool(tx.delete(PUSH_DEVICE, id=id, worker_id=worker_id))


def record_success(tx: Transaction, device: PushDevice, now: int) -> None:
    """Records that a push service has accepted a message."""
    if device.failures or device.error or device.used_at + USED_EVERY_SECONDS <= now:
        values = {"failures": 0, "failing_since": 0, "resume_at": 0, "error": ""}
        tx.update(PUSH_DEVICE, device.id, {"used_at": now, **values})


def record_failure(tx: Transaction, device: PushDevice, error: str, resume_at: int, now: int) -> bool:
    """Records that a push service has not accepted a message. Removes a device that has failed for FAILING_SECONDS;
    returns whether it remains."""
    since = device.failing_since or now
    if since + FAILING_SECONDS <= now:
        tx.delete(PUSH_DEVICE, id=device.id)
        return False
    values = {"failures": device.failures + 1, "failing_since": since, "resume_at": resume_at}
    tx.update(PUSH_DEVICE, device.id, {**values, "error": error[:MAX_ERROR_CHARS]})
    return True


def _wanted(tx: Transaction) -> dict[int, frozenset[str]]:
    table: Any = PUSH_DEVICE.sql
    kinds_of: dict[int, frozenset[str]] = {}
    for worker_id, kinds in tx.rows(lambda: table.select(table.worker_id, table.kinds)):
        kinds_of[worker_id] = kinds_of.get(worker_id, frozenset()) | frozenset(kinds.split())
    return kinds_of


def _device(row: Any) -> PushDevice:
    values = dict(zip(PUSH_DEVICE.names, row, strict=True))
    return PushDevice(
        values["id"],
        values["session_id"],
        values["worker_id"],
        Subscription(values["endpoint"], bytes(values["key"]), bytes(values["auth"])),
        tuple(values["kinds"].split()),
        values["device"],
        values["created_at"],
        values["used_at"],
        values["tested_at"],
        values["failures"],
        values["failing_since"],
        values["resume_at"],
        values["error"],
    )
