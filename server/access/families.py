"""Families of tokens: all tokens from one login, or one use of the token generator. They are renewed and end together.

A refresh token works once: it is exchanged for a new pair. If it is used again within moments, the client has lost the
response and gets the same pair again; later, it was stolen, and the whole family ends. The new pair is derived from the
old refresh token and a stored salt, so that it can be returned twice although the database stores no token. Follows RFC
9700."""

import hmac
import secrets
from typing import Any

from server.access import actor, tokens
from server.access.tokens import TOKEN, StoredToken
from server.base64url import base64url
from server.dataclass import dataclass
from server.store.statements import slot
from server.store.transaction import Transaction

RETRY_SECONDS = 10
MAX_FAMILY_SECONDS = 365 * 86400  # lifetime since the login; then the worker must consent again


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """The lifetimes of access and refresh tokens, in seconds."""

    access: int
    refresh: int


@dataclass(frozen=True, slots=True)
class Renewal:
    """An exchangeable refresh token and its successors. after: the access token that a retry gets again, None the first
    time."""

    old: StoredToken
    access_token: str
    refresh_token: str
    salt: str
    after: StoredToken | None = None


def new() -> str:
    """Generates the name of a family."""
    return secrets.token_urlsafe(16)


def of_service_worker(app_id: int) -> str:
    """Returns the family of the tokens that an app gets by client credentials."""
    return f"service {app_id}"


def begin(
    tx: Transaction,
    family: str,
    app_id: int,
    worker_id: int,
    scopes: tuple[str, ...],
    lifetimes: Lifetimes,
    now: int,
    access_token: str,
    refresh_token: str,
    resource: str = "",
) -> None:
    """Stores the first pair of a login, with these texts, bound to a resource."""
    until = now + MAX_FAMILY_SECONDS
    tokens.issue(
        tx,
        app_id,
        worker_id,
        scopes,
        now + lifetimes.access,
        now,
        family=family,
        text=access_token,
        resource=resource,
    )
    tokens.issue(
        tx,
        app_id,
        worker_id,
        scopes,
        now + lifetimes.refresh,
        now,
        kind="refresh",
        family=family,
        renewable_until=until,
        text=refresh_token,
        resource=resource,
    )


def find_renewal(tx: Transaction, refresh_token: str, app_id: int, now: int) -> Renewal | None:
    """Returns the renewal of a refresh token, None if it is invalid. A token that was exchanged longer ago than a retry
    takes ends its family."""
    old = tokens.find_token(tx, refresh_token)
    if old is None or old.kind != "refresh" or old.app_id != app_id:
        return None
    if old.renewed_at:
        return _retried(tx, refresh_token, old, now)
    if old.revoked_at or old.expires_at <= now or actor.worker(tx, old.worker_id) is None:
        return None
    return _renewal(refresh_token, old, secrets.token_urlsafe(32))


def renew(
    tx: Transaction, renewal: Renewal, scopes: tuple[str, ...], lifetimes: Lifetimes, now: int, resource: str = ""
) -> None:
    """Replaces the old pair by the new one. scopes: of the access token; the refresh token keeps its own. resource: of
    a request that binds a login without one."""
    old = renewal.old
    _end(tx, old, now)
    tx.update(TOKEN, old.id, {"renewed_at": now, "salt": renewal.salt})
    until = _last_end(old)
    family = old.family or new()
    tokens.issue(
        tx,
        old.app_id,
        old.worker_id,
        scopes,
        access_end(renewal, lifetimes, now),
        now,
        old.label,
        family=family,
        text=renewal.access_token,
        created_by=old.created_by,
        resource=old.resource or resource,
    )
    tokens.issue(
        tx,
        old.app_id,
        old.worker_id,
        old.scopes,
        min(now + lifetimes.refresh, until),
        now,
        old.label,
        "refresh",
        family=family,
        renewable_until=until,
        text=renewal.refresh_token,
        created_by=old.created_by,
        resource=old.resource,
    )


def access_end(renewal: Renewal, lifetimes: Lifetimes, now: int) -> int:
    """Returns the expiry of the new access token, in Unix seconds."""
    return min(now + lifetimes.access, _last_end(renewal.old))


def revoke(tx: Transaction, token: StoredToken, now: int) -> None:
    """Revokes a token; a refresh token ends its whole family."""
    if token.kind == "refresh":
        _end(tx, token, now)
    else:
        tokens.revoke(tx, token.id, now)


def end(tx: Transaction, family: str, now: int) -> int:
    """Revokes all tokens of a family from the next request on; returns their number."""
    table: Any = TOKEN.sql
    return tx.run(
        lambda: table.update({table.revoked_at: slot(0)}).where(table.family == slot(1), table.revoked_at == 0),
        (now, family),
    )


def _end(tx: Transaction, token: StoredToken, now: int) -> None:
    if token.family:
        end(tx, token.family, now)
    else:
        tokens.revoke(tx, token.id, now)


def _last_end(token: StoredToken) -> int:
    """Returns the instant after which the family cannot be renewed."""
    return token.renewable_until or token.expires_at


def _retried(tx: Transaction, refresh_token: str, old: StoredToken, now: int) -> Renewal | None:
    renewal = _renewal(refresh_token, old, old.salt)
    access, refresh = (tokens.find_token(tx, text) for text in (renewal.access_token, renewal.refresh_token))
    is_untouched = access is not None and refresh is not None and not access.revoked_at and not refresh.revoked_at
    if is_untouched and now <= old.renewed_at + RETRY_SECONDS and actor.worker(tx, old.worker_id) is not None:
        return Renewal(old, renewal.access_token, renewal.refresh_token, old.salt, access)
    _end(tx, old, now)
    return None


def _renewal(refresh_token: str, old: StoredToken, salt: str) -> Renewal:
    return Renewal(old, _derived(refresh_token, salt, "access"), _derived(refresh_token, salt, "refresh"), salt)


def _derived(refresh_token: str, salt: str, kind: str) -> str:
    """Derives 256 bits that cannot be computed without both the old token and the salt."""
    key = hmac.digest(refresh_token.encode(), f"{kind} {salt}".encode(), "sha256")
    return tokens.PREFIXES[kind] + base64url(key)
