"""The rows of passkeys, and of the challenges that they sign. webauthn.py verifies signatures.

Only public keys are stored, so a copy of the database lets no one sign in. The handle by which devices know a worker is
random: it reveals neither the id nor the address."""

import secrets
from collections.abc import Sequence
from typing import Any

from server.access import lockout, webauthn
from server.access.webauthn import NewCredential, Proof
from server.dataclass import dataclass
from server.errors import TooMany
from server.record_types.shared.secrets import digest
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

MAX_PASSKEYS = 20  # passkeys for each worker
MAX_NAME_CHARS = 60
MAX_CHALLENGES = 300  # unused challenges for each address; an office may share one address
HANDLE_BYTES = 32
SIGN_IN, SECOND_FACTOR, CONFIRM, REGISTER = "sign in", "second factor", "confirm", "register"  # purposes

PASSKEY = Table(
    "worker_passkey",
    [
        Column("worker_id", references="worker(id)"),
        Column("credential_id", "TEXT"),
        Column("rp_id", "TEXT"),
        Column("public_key", "TEXT"),
        Column("sign_count"),
        Column("aaguid", "TEXT"),
        Column("transports", "TEXT"),
        Column("is_verified"),
        Column("is_discoverable"),
        Column("is_syncable"),
        Column("is_synced"),
        Column("name", "TEXT"),
        Column("created_at"),
        Column("last_used_at"),
    ],
    [
        Index(("credential_id",), "the passkey that signed", unique=True),
        Index(("worker_id",), "the passkeys of a worker"),
    ],
)
PASSKEY_USER = Table(
    "worker_passkey_user",
    [Column("worker_id", references="worker(id)"), Column("handle", "TEXT")],
    key=("worker_id",),
)
CHALLENGE = Table(
    "passkey_challenge",
    [
        Column("hash", "TEXT"),
        Column("purpose", "TEXT"),
        Column("owner", "TEXT"),
        Column("client", "TEXT"),
        Column("expires_at"),
    ],
    [Index(("client",), "those of an address"), Index(("expires_at",), "those that are over")],
    key=("hash",),
)


@dataclass(frozen=True, slots=True)
class Passkey:
    """A passkey. Times in Unix seconds; last_used_at: 0 for never. is_verified: whether its device checked a PIN, a
    finger or a face when it was created."""

    id: int
    worker_id: int
    credential_id: str
    rp_id: str
    public_key: str
    sign_count: int
    aaguid: str
    transports: tuple[str, ...]
    is_verified: bool
    is_discoverable: bool
    is_syncable: bool
    is_synced: bool
    name: str
    created_at: int
    last_used_at: int

    @property
    def signs_in_alone(self) -> bool:
        """Returns whether it can sign in without a password."""
        return self.is_verified and self.is_discoverable

    @property
    def descriptor(self) -> tuple[str, tuple[str, ...]]:
        """Returns the id and transports, by which a browser finds it."""
        return self.credential_id, self.transports


def of_worker(tx: Transaction, worker_id: int) -> list[Passkey]:
    """Returns the passkeys of a worker, the oldest first."""
    return sorted(map(_passkey, tx.find(PASSKEY, worker_id=worker_id)), key=lambda each: each.id)


def has_any(tx: Transaction, worker_id: int) -> bool:
    """Returns whether a worker has a passkey."""
    return tx.first(PASSKEY, worker_id=worker_id) is not None


def with_credential(tx: Transaction, credential_id: str) -> Passkey | None:
    """Returns the passkey with a credential id."""
    row = tx.first(PASSKEY, credential_id=credential_id)
    return _passkey(row) if row is not None else None


def find(tx: Transaction, worker_id: int, id: int) -> Passkey | None:
    """Returns a passkey of a worker by its row."""
    row = tx.first(PASSKEY, id=id, worker_id=worker_id)
    return _passkey(row) if row is not None else None


def add(tx: Transaction, worker_id: int, rp_id: str, credential: NewCredential, name: str, now: int) -> int:
    """Stores a passkey; returns its row. The caller has checked that its credential id is new."""
    return tx.insert(
        PASSKEY,
        {
            "worker_id": worker_id,
            "credential_id": credential.id,
            "rp_id": rp_id,
            "public_key": credential.public_key,
            "sign_count": credential.sign_count,
            "aaguid": credential.aaguid,
            "transports": " ".join(credential.transports),
            "is_verified": int(credential.is_verified),
            "is_discoverable": int(credential.is_discoverable),
            "is_syncable": int(credential.is_syncable),
            "is_synced": int(credential.is_synced),
            "name": name,
            "created_at": now,
            "last_used_at": 0,
        },
    )


def rename(tx: Transaction, id: int, name: str) -> None:
    tx.update(PASSKEY, id, {"name": name})


def record_use(tx: Transaction, id: int, proof: Proof, now: int) -> None:
    """Stores the sign count and the time of a use."""
    values = {"sign_count": proof.sign_count, "is_synced": int(proof.is_synced), "last_used_at": now}
    tx.update(PASSKEY, id, values)


def remove(tx: Transaction, id: int) -> None:
    tx.delete(PASSKEY, id=id)


def remove_all(tx: Transaction, worker_id: int) -> int:
    """Removes the passkeys of a worker; returns their number."""
    return tx.delete(PASSKEY, worker_id=worker_id)


def is_regressed(passkey: Passkey, proof: Proof) -> bool:
    """Returns whether a sign count did not rise, as after a passkey was copied. Devices without a counter always send
    0. Follows section 6.1.1."""
    return (proof.sign_count > 0 or passkey.sign_count > 0) and proof.sign_count <= passkey.sign_count


def handle(tx: Transaction, worker_id: int) -> str:
    """Returns the handle by which devices know a worker, "" before their first passkey."""
    row = tx.first(PASSKEY_USER, worker_id=worker_id)
    return str(row[PASSKEY_USER.position["handle"]]) if row is not None else ""


def new_handle(tx: Transaction, worker_id: int) -> str:
    """Returns the handle of a worker, which is created if necessary."""
    stored = handle(tx, worker_id)
    if stored:
        return stored
    new = secrets.token_urlsafe(HANDLE_BYTES)
    tx.put(PASSKEY_USER, {"worker_id": worker_id, "handle": new})
    return new


def new_challenge(tx: Transaction, purpose: str, owner: str, client: str, now: int) -> bytes:
    """Returns a challenge for one use within TIMEOUT_SECONDS. owner: the secret of the session or visit that gets it.
    Raises TooMany for an address with MAX_CHALLENGES open ones."""
    table: Any = CHALLENGE.sql
    address = lockout.address(client)
    ends = tx.rows(
        lambda: (
            table.select(table.expires_at)
            .where(table.client == slot(0), table.expires_at > slot(1))
            .order_by(table.expires_at)
            .limit(MAX_CHALLENGES)
        ),
        (address, now),
    )
    if len(ends) >= MAX_CHALLENGES:
        seconds = ends[0][0] - now
        raise TooMany(f"Too many attempts. Try again in {seconds} seconds.", retry_after=seconds)
    challenge = secrets.token_bytes(webauthn.CHALLENGE_BYTES)
    tx.put(
        CHALLENGE,
        {
            "hash": digest(challenge.hex()),
            "purpose": purpose,
            "owner": digest(owner),
            "client": address,
            "expires_at": now + webauthn.TIMEOUT_SECONDS,
        },
    )
    return challenge


def use_challenge(tx: Transaction, challenge: bytes, purpose: str, owner: str, now: int) -> bool:
    """Returns whether a challenge was issued to this session or visit for this purpose, and is neither used nor
    expired; uses it up."""
    key = digest(challenge.hex())
    row = tx.first(CHALLENGE, hash=key)
    if row is None:
        return False
    values = dict(zip(CHALLENGE.names, row, strict=True))
    if (values["purpose"], values["owner"]) != (purpose, digest(owner)) or not owner:
        return False  # stays usable for its owner
    tx.delete(CHALLENGE, hash=key)
    return bool(values["expires_at"] > now)


def has_over(tx: Transaction, now: int) -> bool:
    """Returns whether any challenge has expired."""
    table: Any = CHALLENGE.sql
    return tx.value(lambda: table.select(table.hash).where(table.expires_at <= slot(0)).limit(1), (now,)) is not None


def forget_over(tx: Transaction, now: int) -> int:
    """Deletes expired challenges; returns their number."""
    table: Any = CHALLENGE.sql
    return tx.run(lambda: table.delete().where(table.expires_at <= slot(0)), (now,))


def _passkey(row: Sequence[Any]) -> Passkey:
    values = dict(zip(PASSKEY.names, row, strict=True))
    values["transports"] = tuple(values["transports"].split())
    for name in ("is_verified", "is_discoverable", "is_syncable", "is_synced"):
        values[name] = bool(values[name])
    return Passkey(**values)
