"""Bearer tokens: 32 random bytes, of which the database stores only the SHA-256.

A token is checked against the present state: the app exists, the worker exists and is not disabled. Results are cached
until a worker, role, roster, app or token changes, in any process."""

import secrets
from typing import Any

from server.access import actor, token_resources
from server.access.actor import Actor
from server.dataclass import dataclass
from server.errors import NotAuthenticated
from server.record_types.shared.assistant_scopes import offered
from server.record_types.shared.scopes import Scope
from server.record_types.shared.secrets import digest
from server.store.database import Store
from server.store.statements import slot
from server.store.store_local import VersionedLocal
from server.store.tables import Column, Index, Table, table_named
from server.store.transaction import Row, Transaction

ACCESS_PREFIX, REFRESH_PREFIX = "svc_at_", "svc_rt_"
PREFIXES = {"access": ACCESS_PREFIX, "refresh": REFRESH_PREFIX}
MAX_TOKEN_CHARS = 200
SHOWN_CHARS, SHOWN_ENDING = 6, 4  # characters shown after the prefix and at the end, to recognize tokens

TOKEN = Table(
    "oauth_token",
    [
        Column("kind", "TEXT"), Column("hash", "TEXT"), Column("prefix", "TEXT"), Column("app_id"),
        Column("worker_id"), Column("scopes", "TEXT"), Column("label", "TEXT"), Column("created_at"),
        Column("expires_at"), Column("revoked_at"), Column("family", "TEXT"), Column("renewable_until"),
        Column("renewed_at"), Column("salt", "TEXT"), Column("last_used_at"), Column("last_used_from", "TEXT"),
        Column("ending", "TEXT"), Column("created_by"), Column("resource", "TEXT"),
    ],
    [
        Index(("hash",), "every request", unique=True),
        Index(("app_id",), "an app that goes takes its tokens along"),
        Index(("family",), "one that is renewed, revoked or used twice ends the others of its login"),
        Index(("worker_id",), "a worker that goes takes the tokens along"),
        Index(("expires_at",), "cleaning up"),
    ],
    bumps={"access": ("hash", "app_id", "worker_id", "scopes", "expires_at", "revoked_at", "resource")},
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Grant:
    """The rights of a valid token: the actor, the app and the scopes. resource: name of the resource that it is bound
    to (see token_resources.py), "" for none. is_login: whether an app got it by a login; others are created by hand."""

    token_id: int
    app_id: int
    actor: Actor
    scopes: tuple[Scope, ...]
    expires_at: int
    app_scopes: tuple[Scope, ...]
    resource: str = ""
    is_login: bool = False


def issue(
    tx: Transaction,
    app_id: int,
    worker_id: int,
    scopes: tuple[str, ...],
    expires_at: int,
    now: int,
    label: str = "",
    kind: str = "access",
    *,
    family: str = "",
    renewable_until: int = 0,
    text: str = "",
    created_by: int = 0,
    resource: str = "",
) -> str:
    """Issues a token for a worker; its text exists only in the result. The caller must check the scopes.

    family: shared with the tokens that end together; see families.py. renewable_until: of a refresh token, in Unix
    seconds. text: the token, if the caller has generated it. created_by: the worker who created it for somebody, 0 for
    a login. resource: a name of token_resources.py."""
    prefix = PREFIXES[kind]
    token = text or new_text(kind)
    tx.insert(
        TOKEN,
        {
            "kind": kind,
            "hash": digest(token),
            "prefix": token[: len(prefix) + SHOWN_CHARS],
            "ending": token[-SHOWN_ENDING:],
            "app_id": app_id,
            "worker_id": worker_id,
            "scopes": " ".join(scopes),
            "label": label,
            "created_at": now,
            "created_by": created_by,
            "expires_at": expires_at,
            "family": family,
            "renewable_until": renewable_until,
            "resource": resource,
        },
    )
    return token


def new_text(kind: str) -> str:
    """Generates the text of a token of a kind, access or refresh."""
    return PREFIXES[kind] + secrets.token_urlsafe(32)


GRANTS: VersionedLocal[dict[str, Grant | None]] = VersionedLocal()  # saves 15 % of a small read
KEPT_GRANTS = 10_000  # in the cache


def check(tx: Transaction, token: str, now: int, resource: str = token_resources.REST) -> Grant:
    """Returns the grant of a token. Raises NotAuthenticated for one that is unknown, expired, revoked, bound to another
    resource, or whose worker or app is gone."""
    if len(token) > MAX_TOKEN_CHARS or not token.startswith(ACCESS_PREFIX):
        raise _refused()
    hashed = digest(token)
    version = actor.version(tx)
    grants = GRANTS.get(tx.store, version)
    if grants is None or len(grants) > KEPT_GRANTS:
        grants = {}
        if not tx.can_write:  # the changes of a write may still be undone
            GRANTS.set(tx.store, version, grants)
    if hashed in grants:
        grant = grants[hashed]
    else:
        grant = _read(tx, hashed)
        if not tx.can_write:
            grants[hashed] = grant
    if grant is None or grant.expires_at <= now:
        raise _refused()
    if not token_resources.is_accepted(resource, grant.resource, is_login=grant.is_login):
        raise NotAuthenticated("the access token is for another resource; get one for this one", reason="invalid_token")
    return grant


def expected(store: Store, token: str, now: int) -> Grant | None:
    """Returns the grant of a token for the REST API from the last check, without a query; None if there was none. The
    caller must verify it later."""
    if len(token) > MAX_TOKEN_CHARS:
        return None
    grant = (GRANTS.newest(store) or {}).get(digest(token))
    if grant is None or not token_resources.is_accepted(token_resources.REST, grant.resource, is_login=grant.is_login):
        return None
    return grant if grant.expires_at > now else None


def is_as_expected(tx: Transaction, token: str, grant: Grant) -> bool:
    """Returns whether the grant is still current."""
    grants = GRANTS.get(tx.store, actor.version(tx))
    return grants is not None and grants.get(digest(token)) is grant


@dataclass(frozen=True, slots=True)
class StoredToken:
    """A stored token, valid or not. Times in Unix seconds, revoked_at and renewed_at 0 for never.

    renewed_at: when a refresh token was exchanged for its successors. salt: of the successors' derivation."""

    id: int
    kind: str
    app_id: int
    worker_id: int
    scopes: tuple[str, ...]
    created_at: int
    expires_at: int
    revoked_at: int
    family: str
    renewable_until: int
    renewed_at: int
    salt: str
    label: str
    created_by: int
    resource: str = ""


def find_token(tx: Transaction, token: str) -> StoredToken | None:
    """Returns the stored token with this text, None for an unknown one."""
    row = tx.first(TOKEN, hash=digest(token)) if len(token) <= MAX_TOKEN_CHARS else None
    return of_row(row) if row is not None else None


def of_row(row: Row) -> StoredToken:
    """Reads a stored token from its row."""
    at = TOKEN.position
    return StoredToken(
        row[0],
        row[at["kind"]],
        row[at["app_id"]],
        row[at["worker_id"]],
        tuple(row[at["scopes"]].split()),
        row[at["created_at"]],
        row[at["expires_at"]],
        row[at["revoked_at"]],
        row[at["family"]],
        row[at["renewable_until"]],
        row[at["renewed_at"]],
        row[at["salt"]],
        row[at["label"]],
        row[at["created_by"]],
        row[at["resource"]],
    )


def revoke(tx: Transaction, token_id: int, now: int) -> None:
    """Revokes a token from the next request on."""
    tx.update(TOKEN, token_id, {"revoked_at": now})


def record_use(tx: Transaction, used: dict[int, tuple[int, str]]) -> None:
    """Records the last uses of tokens: {id: (Unix seconds, address)}."""
    table: Any = TOKEN.sql
    tx.run_many(
        lambda: table.update({table.last_used_at: slot(0), table.last_used_from: slot(1)}).where(table.id == slot(2)),
        [(at, client, id) for id, (at, client) in used.items()],
    )


def forget_of_worker(tx: Transaction, worker_id: int) -> None:
    """Deletes all tokens of a worker."""
    tx.delete(TOKEN, worker_id=worker_id)


def forget_useless(tx: Transaction, before: int) -> int:
    """Deletes tokens that expired before this instant, and those whose app or worker is gone or disabled; they are
    rejected already. Returns their number."""
    table = TOKEN.sql
    app, worker = table_named("oauth_app"), table_named("worker")

    def build() -> Any:
        apps = app.select(app.c.id)
        workers = worker.select(worker.c.id).where(worker.c.is_disabled == 0)
        is_useless = (table.expires_at < slot(0)) | table.app_id.not_in(apps) | table.worker_id.not_in(workers)
        return table.delete().where(is_useless)

    return tx.run(build, (before,))


def _read(tx: Transaction, hashed: str) -> Grant | None:
    row = tx.first(TOKEN, hash=hashed)
    if row is None:
        return None
    place = TOKEN.position
    if row[place["kind"]] != "access" or row[place["revoked_at"]]:
        return None
    app = table_named("oauth_app")
    scopes_text = tx.value(lambda: app.select(app.c.scopes).where(app.c.id == slot(0)), (row[place["app_id"]],))
    who = actor.worker(tx, row[place["worker_id"]])
    if scopes_text is None or who is None:
        return None
    defined = offered(scopes_text)
    granted = tuple(defined[name] for name in row[place["scopes"]].split() if name in defined)
    return Grant(
        row[0],
        row[place["app_id"]],
        who,
        granted,
        row[place["expires_at"]],
        tuple(defined.values()),
        row[place["resource"]],
        not row[place["created_by"]],
    )


def _refused() -> NotAuthenticated:
    return NotAuthenticated(
        "the access token is unknown, has expired or was revoked; get a new one", reason="invalid_token"
    )
