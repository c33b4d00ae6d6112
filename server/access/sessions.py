"""Sessions of the console: the signed-in worker, the address, the expiry. Rows; only the browser has the id.

An id is 256 random bits, of which the database stores the SHA-256. A session ends by sign-out, after a time without
requests, after its maximal lifetime, when its worker is disabled or deleted, and when the password changes."""

import secrets
from typing import Any

from server.access import actor
from server.access.actor import Actor
from server.access.logins import WORKER_LOGIN
from server.dataclass import dataclass
from server.record_types.shared.secrets import digest
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction

ID_BYTES = 32
STEP_UP_SECONDS = 600  # how long after a password or code prompt secrets and tokens may be changed
CODE_SECONDS = 600  # time to enter the second factor after the password
SEEN_EVERY_SECONDS = 300  # precision of "last seen": a write for each request would be too many
_MARK_CHARS = 16
MAX_ID_CHARS = 200
MAX_DEVICE_CHARS = 200  # stored of a User-Agent header

SESSION = Table(
    "session",
    [
        Column("hash", "TEXT"),
        Column("worker_id", references="worker(id)"),
        Column("created_at"),
        Column("seen_at"),
        Column("expires_at"),
        Column("idle_seconds"),
        Column("password_mark", "TEXT"),
        Column("stepped_up_at"),
        Column("waits_for_code"),
        Column("device", "TEXT"),
        Column("client", "TEXT"),
        Column("was_admin"),
    ],
    [
        Index(("hash",), "every page of the console", unique=True),
        Index(("worker_id",), "the sessions of a worker"),
        Index(("expires_at",), "those that are over"),
    ],
)


@dataclass(frozen=True, slots=True)
class Session:
    """A valid session. Times in Unix seconds. waits_for_code: the password was right and the code of the second factor
    is missing; until then the session allows nothing else."""

    id: int
    actor: Actor
    created_at: int
    seen_at: int
    expires_at: int
    idle_seconds: int
    stepped_up_at: int
    waits_for_code: bool
    device: str
    client: str
    was_admin: bool

    @property
    def has_other_rights(self) -> bool:
        """Returns whether the worker's administrator right has changed since the session got its id."""
        return self.was_admin != self.actor.is_admin

    def is_stepped_up(self, now: int) -> bool:
        """Returns whether the worker entered a password or code recently."""
        return self.stepped_up_at + STEP_UP_SECONDS > now


@dataclass(frozen=True, slots=True)
class Lifetime:
    """The lifetime of a session in seconds: without requests, and in total."""

    idle: int
    most: int


def create(
    tx: Transaction,
    worker_id: int,
    now: int,
    lifetime: Lifetime,
    device: str,
    client: str,
    waits_for_code: bool = False,
) -> str:
    """Creates a session; returns its id, which is stored nowhere."""
    id = secrets.token_urlsafe(ID_BYTES)
    most = CODE_SECONDS if waits_for_code else lifetime.most
    tx.insert(
        SESSION,
        {
            "hash": digest(id),
            "worker_id": worker_id,
            "created_at": now,
            "seen_at": now,
            "expires_at": now + most,
            "idle_seconds": lifetime.idle,
            "password_mark": password_mark(tx, worker_id),
            "stepped_up_at": 0 if waits_for_code else now,
            "waits_for_code": int(waits_for_code),
            "device": device[:MAX_DEVICE_CHARS],
            "client": client,
            "was_admin": _is_admin(tx, worker_id),
        },
    )
    return id


def check(tx: Transaction, id: str, now: int) -> Session | None:
    """Returns the valid session of an id, None if it is unknown or has expired."""
    if not id or len(id) > MAX_ID_CHARS:
        return None
    row = tx.first(SESSION, hash=digest(id))
    if row is None:
        return None
    values = dict(zip(SESSION.names, row, strict=True))
    who = actor.worker(tx, values["worker_id"])
    return _good(values, who, password_mark(tx, values["worker_id"]), now) if who is not None else None


def is_valid(tx: Transaction, session_id: int, now: int) -> bool:
    """Returns whether a session, by the id of its row, is valid."""
    row = tx.get(SESSION, session_id)
    if row is None:
        return False
    values = dict(zip(SESSION.names, row, strict=True))
    who = actor.worker(tx, values["worker_id"])
    return who is not None and _good(values, who, password_mark(tx, values["worker_id"]), now) is not None


def seen(tx: Transaction, session_id: int, now: int, client: str) -> None:
    """Records the use of a session; called at most every SEEN_EVERY_SECONDS."""
    tx.update(SESSION, session_id, {"seen_at": now, "client": client})


def renew(tx: Transaction, session: Session, now: int, *, is_stepped_up: bool = True) -> str:
    """Replaces the id of a session, after a password prompt or change, or a change of the worker's rights."""
    id = secrets.token_urlsafe(ID_BYTES)
    tx.update(
        SESSION,
        session.id,
        {
            "hash": digest(id),
            "seen_at": now,
            "stepped_up_at": now if is_stepped_up else 0,
            "password_mark": password_mark(tx, session.actor.worker_id),
            "was_admin": _is_admin(tx, session.actor.worker_id),
        },
    )
    return id


def end(tx: Transaction, session_id: int, worker_id: int) -> bool:
    """Ends one session of a worker; returns False if it does not exist."""
    return bool(tx.delete(SESSION, id=session_id, worker_id=worker_id))


def end_all(tx: Transaction, worker_id: int, but: int = 0) -> int:
    """Ends the sessions of a worker, all but one; returns their number."""
    table: Any = SESSION.sql
    return tx.run(
        lambda: table.delete().where(table.worker_id == slot(0), table.id != slot(1)),
        (worker_id, but),
    )


def of_worker(tx: Transaction, worker_id: int, now: int) -> list[Session]:
    """Returns the valid sessions of a worker, the last used first."""
    who = actor.worker(tx, worker_id)
    if who is None:
        return []
    mark = password_mark(tx, worker_id)
    rows = (dict(zip(SESSION.names, row, strict=True)) for row in tx.find(SESSION, worker_id=worker_id))
    good = [each for values in rows if (each := _good(values, who, mark, now)) and not each.waits_for_code]
    return sorted(good, key=lambda each: -each.seen_at)


def origins(tx: Transaction, now: int) -> tuple[list[str], list[int]]:
    """Returns the last addresses of all valid sessions with their workers, without duplicates."""
    table: Any = SESSION.sql
    rows = tx.rows(
        lambda: table.select(table.client, table.worker_id).where(table.expires_at > slot(0)).distinct(),
        (now,),
    )
    return sorted({row[0] for row in rows}), sorted({row[1] for row in rows})


def has_over(tx: Transaction, now: int) -> bool:
    """Returns whether any session has expired."""
    table: Any = SESSION.sql
    expired = tx.value(lambda: table.select(table.id).where(_is_over()).limit(1), (now,))
    return expired is not None


def forget_over(tx: Transaction, now: int) -> int:
    """Deletes expired sessions, which are rejected already. Returns their number."""
    return tx.run(lambda: SESSION.sql.delete().where(_is_over()), (now,))


def _is_over() -> Any:
    table: Any = SESSION.sql
    return (table.expires_at <= slot(0)) | (table.seen_at + table.idle_seconds <= slot(0))


def _good(values: dict[str, Any], who: Actor, mark: str, now: int) -> Session | None:
    """Returns the session of a row, None if it has expired."""
    is_over = values["expires_at"] <= now or values["seen_at"] + values["idle_seconds"] <= now
    if is_over or values["password_mark"] != mark:
        return None
    return Session(
        values["id"],
        who,
        values["created_at"],
        values["seen_at"],
        values["expires_at"],
        values["idle_seconds"],
        values["stepped_up_at"],
        bool(values["waits_for_code"]),
        values["device"],
        values["client"],
        bool(values["was_admin"]),
    )


def _is_admin(tx: Transaction, worker_id: int) -> int:
    who = actor.worker(tx, worker_id)
    return int(who is not None and who.is_admin)


def password_mark(tx: Transaction, worker_id: int) -> str:
    """Returns a mark that changes with the password of a worker."""
    login = WORKER_LOGIN.sql
    hashed = tx.value(lambda: login.select(login.password_hash).where(login.worker_id == slot(0)), (worker_id,))
    return digest(str(hashed or ""))[:_MARK_CHARS]
