"""Idempotency keys: a request with a key runs once, and its response is stored for a day.

A small request writes its changes, its key and its response in one transaction. A request on a thread claims its key
first, and each of its writes also marks the key as written. So a request is not repeated if the service ends
halfway: a key that wrote nothing is free again, and a key that wrote something is refused.

A stored response may hold a secret that is shown once, so it is encrypted with the key, which is not stored."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from server.context import Service
from server.dataclass import dataclass
from server.errors import Conflict, HelpdeskError, Invalid
from server.jobs import job_queue, processes
from server.jobs.scheduler import periodic
from server.store.database import Store
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Row, Transaction
from server.translation import N_

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

Result = TypeVar("Result")
HEADER = "Idempotency-Key"
KEPT_SECONDS = 86_400
MAX_RESPONSE_BYTES = 1_048_576  # a larger response is not stored
RETRY_SECONDS = 1
NONCE_BYTES = 12
BATCH = 1000  # keys removed in one transaction

KEY = Table(
    "idempotency_key",
    [
        Column("name", "TEXT"),
        Column("fingerprint", "TEXT"),
        Column("at"),
        Column("claimed_by", "TEXT"),
        Column("has_written"),
        Column("sealed", "BLOB"),
    ],
    [Index(("name",), "every request with a key", unique=True), Index(("at",), "cleaning up")],
)
# claimed_by: the process that works on it, "" when done. sealed: the encrypted response, empty without one.


@dataclass(frozen=True, slots=True)
class KeyedRequest:
    """A request with a key. name: a digest of worker, app and key. fingerprint: a digest of the request. secret: the
    key that encrypts the response; it is not stored."""

    name: str
    fingerprint: str
    secret: bytes


def once(
    store: Store,
    now: int,
    request: KeyedRequest,
    work: Callable[[], Result],
    packed: Callable[[Result | HelpdeskError], bytes],
) -> Result | bytes:
    """Runs the work and returns its result, or returns the packed result of the first request with the same key.
    packed: turns a result or an error into bytes. Raises Conflict while the first request runs or if its response is
    lost, and Invalid if the first request was a different one."""
    done_here = _in_write if store.is_writing else _on_thread
    return done_here(store, now, request, work, packed)


def _in_write(
    store: Store,
    now: int,
    request: KeyedRequest,
    work: Callable[[], Result],
    packed: Callable[[Result | HelpdeskError], bytes],
) -> Result | bytes:
    def write(tx: Transaction) -> Result | bytes:
        row = _current(tx, request, now)
        if row is not None:
            return _stored_response(request, row)
        result = work()
        tx.insert(KEY, _new(request, now) | {"sealed": _seal(request, packed(result))})
        return result

    return store.write(write)


def _on_thread(
    store: Store,
    now: int,
    request: KeyedRequest,
    work: Callable[[], Result],
    packed: Callable[[Result | HelpdeskError], bytes],
) -> Result | bytes:
    def claim(tx: Transaction) -> bytes | int:
        row = _current(tx, request, now)
        if row is not None:
            return _stored_response(request, row)
        return tx.insert(KEY, _new(request, now) | {"claimed_by": job_queue.run_name()})

    claimed = store.write(claim)
    if isinstance(claimed, bytes):
        return claimed
    failed = b""
    try:
        with store.along(lambda tx: tx.update(KEY, claimed, {"has_written": 1})):
            result = work()
    except BaseException as error:
        if isinstance(error, HelpdeskError):
            failed = packed(error)
        store.write(lambda tx: _settle(tx, claimed, _seal(request, failed)))
        raise
    sealed = _seal(request, packed(result))
    store.write(lambda tx: tx.update(KEY, claimed, {"claimed_by": "", "sealed": sealed}))
    return result


def _settle(tx: Transaction, id: int, sealed: bytes) -> None:
    """Settles a request that failed: stores its response if it wrote something, otherwise frees the key."""
    row = tx.first(KEY, id=id)
    if row is None or not row[KEY.position["has_written"]]:
        tx.delete(KEY, id=id)
    else:
        tx.update(KEY, id, {"claimed_by": "", "sealed": sealed})


def _current(tx: Transaction, request: KeyedRequest, now: int) -> Row | None:
    """Returns the row of a key; None if the key is free."""
    row = tx.first(KEY, name=request.name)
    if row is None:
        return None
    at, claimed_by, has_written = (row[KEY.position[each]] for each in ("at", "claimed_by", "has_written"))
    is_left = bool(claimed_by) and not tx.store.is_shared and claimed_by != job_queue.run_name()
    if at <= now - KEPT_SECONDS or (is_left and not has_written):
        tx.delete(KEY, id=row[0])
        return None
    if is_left:
        tx.update(KEY, row[0], {"claimed_by": ""})
        return tx.first(KEY, id=row[0])
    return row


def _stored_response(request: KeyedRequest, row: Row) -> bytes:
    """Returns the packed response of the first request. Raises as `once` does."""
    values = dict(zip(KEY.names, row, strict=True))
    if values["fingerprint"] != request.fingerprint:
        raise Invalid(
            f"{HEADER}: this key was sent with a different request; use a new key for each request", field=HEADER
        )
    if values["claimed_by"]:
        raise Conflict(
            "the first request with this key is still being processed; send it again in a moment",
            retry_after=RETRY_SECONDS,
        )
    if not values["sealed"]:
        raise Conflict(
            "the first request with this key was processed, but its response is lost; check its "
            "result before you send another request with a new key"
        )
    sealed = bytes(values["sealed"])
    return _cipher(request).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], None)


def _new(request: KeyedRequest, now: int) -> dict[str, Any]:
    return {"name": request.name, "fingerprint": request.fingerprint, "at": now}


def _seal(request: KeyedRequest, response: bytes) -> bytes:
    """Encrypts a response; returns b"" for one that is empty or too large."""
    if not response or len(response) > MAX_RESPONSE_BYTES:
        return b""
    nonce = os.urandom(NONCE_BYTES)
    return nonce + _cipher(request).encrypt(nonce, response, None)


def _cipher(request: KeyedRequest) -> "AESGCM":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # 20 ms to import, and many desks send no keys

    return AESGCM(request.secret)


@processes.releases
def _release(tx: Transaction, name: str) -> None:
    """Settles the keys of a process that ended: frees those that wrote nothing; the others have no response."""
    table: Any = KEY.sql
    tx.run(lambda: table.delete().where(table.claimed_by == slot(0), table.has_written == 0), (name,))
    tx.run(lambda: table.update({table.claimed_by: ""}).where(table.claimed_by == slot(0)), (name,))


@periodic(
    N_("old idempotency keys"),
    N_("Deletes the keys of API requests, and their responses, after a day."),
    deletes=True,
)
def _forget_old(service: Service, now: int) -> None:
    """Removes keys older than a day, BATCH at a time."""
    table: Any = KEY.sql

    def build() -> Any:
        return table.delete().where(table.id << table.select(table.id).where(table.at <= slot(0)).limit(slot(1)))

    while service.store.write(lambda tx: tx.run(build, (now - KEPT_SECONDS, BATCH))):
        pass
