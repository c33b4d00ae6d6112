"""Signs requests for connected accounts, with tokens that are renewed and stored.

Whoever may read an account may use it; its credentials only go into requests."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from server import outbound
from server.access.service_actor import own_context
from server.connections import grants
from server.context import Context
from server.dataclass import dataclass
from server.errors import Invalid, NotFound, Unavailable
from server.jobs import turns
from server.outbound import AccountAccess, Signer, client_tokens, request_signing
from server.outbound.client_tokens import TokenRejected
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store import lock
from server.store.transaction import Transaction
from server.translation import lazy_gettext

TYPE = "connected_account"
KEEP_SECONDS = turns.MARGIN_SECONDS - 15  # time for attempts to store a new token while the renewal lock is held
AGAIN_SECONDS = 1.0
_SECRETS = {request_signing.API_KEY: "api_key", request_signing.BEARER: "token", request_signing.BASIC: "password"}


@dataclass(frozen=True)
class _SigningAccount:
    """A connected account. values: the parameters of account and service together, from signing.check_params. ended:
    the reason of the provider for refusing every further renewal, "" if it renews the token."""

    id: int
    kind: str
    values: dict[str, str]
    name: str = ""
    ended: str = ""


def signer(ctx: Context, reference: str, seconds: float = 0) -> Signer:
    """Returns the signer of a connected account: `svc:connected_account:<id or uri>`, or the id or uri alone.

    seconds: the time limit for fetching a new token, which blocks; 0 for the general limit of requests. Raises
    NotFound, Invalid for an account that signs no requests, and the errors of outbound.send."""
    account = _read(ctx, reference)
    if account.kind != request_signing.OAUTH2:
        return Signer(request_signing.signer(account.kind, account.values, ctx.now))
    if not client_tokens.is_fresh(account.values, ctx.now):
        account = _renewed(ctx, reference, account, seconds)
        return Signer(request_signing.signer(account.kind, account.values, ctx.now))

    def renewed(seconds_left: float) -> Signer:
        """Renews a token that was rejected before it expired."""
        found = _renewed(ctx, reference, account, seconds_left)
        return Signer(request_signing.signer(found.kind, found.values, ctx.now))

    return Signer(request_signing.signer(account.kind, account.values, ctx.now), renewed)


def access_token(ctx: Context, reference: str) -> str:
    """Returns the access token of an account, for protocols other than HTTP, and renews it if it has expired.

    Raises NotFound, Invalid for an account without tokens, and the errors of outbound.send."""
    account = _read(ctx, reference)
    if account.kind == request_signing.BEARER:
        return account.values["token"]
    if account.kind != request_signing.OAUTH2:
        raise Invalid(f"the connected account {account.id} has no token; use one of OAuth 2, or a bearer token")
    if not client_tokens.is_fresh(account.values, ctx.now):
        account = _renewed(ctx, reference, account, 0)
    return account.values["access_token"]


def token_access(ctx: Context, reference: str, seconds: float) -> AccountAccess:
    """Returns the access to an HTTP API with the token of an account. Raises as `access_token`."""
    account = _read(ctx, reference)
    if account.kind not in (request_signing.BEARER, request_signing.OAUTH2):
        raise Invalid(f"the connected account {account.id} has no token; use one of OAuth 2, or a bearer token")
    return AccountAccess(signer(ctx, reference, seconds), outbound.limits(ctx.service.settings))


def signing_secret(ctx: Context, reference: str) -> str:
    """Returns the secret that verifies signatures of incoming requests: API key, bearer token or password of an
    account.

    Raises NotFound, Invalid for an account of another kind or without a secret."""
    account = _read(ctx, reference)
    name = _SECRETS.get(account.kind, "")
    if not account.values.get(name):
        raise Invalid(
            f"the connected account {account.id} has no secret to verify signatures with; use an account of the kind "
            f"API key, bearer token or HTTP Basic",
            field="account",
        )
    return account.values[name]


def token_refused(ctx: Context, reference: str, token: str) -> None:
    """Marks a rejected token as expired, so that the next caller fetches a new one. Does nothing for a deleted account
    or a token that has been replaced."""
    try:
        account = _read(ctx, reference)
    except (Invalid, NotFound):
        return
    if account.kind != request_signing.OAUTH2 or account.values.get("access_token") != token:
        return

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        record = writing.record(TYPE, account.id)
        if record is not None and (record["params"] or {}).get("access_token") == token:
            _keep(writing, account.id, {"expires_at": ctx.now})

    ctx.service.store.write(write)


def _read(ctx: Context, reference: str) -> _SigningAccount:
    def read(tx: Transaction) -> _SigningAccount:
        reading = RecordReader(ctx, tx)
        uri = reference.strip()
        found = reading.lookup.reference(TYPE, uri if uri.startswith("svc:") else f"svc:{TYPE}:{uri.lower()}")
        account = reading.record(TYPE, found) if found else None
        if account is None:
            raise NotFound(f"there is no connected account '{uri[:100]}'", field="authentication")
        service = reading.record("connected_service", account["service_id"])
        if service is None:
            raise Invalid(f"the connected account '{account['name']}' has no connected service", field="authentication")
        kind, grant = service["extension_id"], grants.find_grant(tx, account["id"])
        return _SigningAccount(
            account["id"],
            kind,
            request_signing.check_params(kind, service["params"] or {}, account["params"] or {}),
            str(account["name"]),
            (grant.error or "?") if grant is not None and grant.ended_at else "",
        )

    return ctx.service.store.read(read)


def _renewed(ctx: Context, reference: str, old: _SigningAccount, seconds: float) -> _SigningAccount:
    """Returns the account with a renewed token. Concurrent callers share one renewal."""
    bounds = outbound.limits(ctx.service.settings)
    bounds = replace(bounds, seconds=min(seconds or bounds.seconds, bounds.seconds))
    id = old.id
    # Providers treat a refresh token that is used twice as stolen.
    with turns.exclusive(ctx.service, f"the renewal of the token of the connected account {id}", bounds.seconds):
        account = _read(ctx, reference)
        is_old = account.values.get("access_token") == old.values.get("access_token")
        if is_old or not client_tokens.is_fresh(account.values, ctx.now):
            if account.ended:
                raise _grant_ended(account.name, account.ended)
            _require_turn(ctx, reference)
            try:
                fetched = client_tokens.fetched(account.values, bounds, ctx.now)
            except TokenRejected as error:
                if not error.is_final or not account.values.get("refresh_token"):
                    raise
                message, used = error.message, account.values["refresh_token"]
                own = own_context(ctx.service, ctx.now)  # the service: authors are not notified
                ctx.service.store.write(lambda tx: _record_end(RecordWriter(own, tx), id, message, used))
                raise _grant_ended(account.name, message) from error
            _keep_surely(ctx, id, fetched, account.values.get("refresh_token", ""))
            account = _read(ctx, reference)
        return account


def _keep_surely(ctx: Context, id: int, fetched: dict[str, Any], used: str) -> None:
    """Stores a fetched token and retries while the database is away: the previous refresh token is used up, so the new
    one exists nowhere else. Not for use inside a write."""
    ends_at = time.monotonic() + KEEP_SECONDS
    while True:
        try:
            return ctx.service.store.write(lambda tx: _keep_renewed(RecordWriter(ctx, tx), id, fetched, used))
        except Unavailable:
            if time.monotonic() >= ends_at:
                raise
        time.sleep(AGAIN_SECONDS)


def _require_turn(ctx: Context, reference: str) -> None:
    """Raises Unavailable in a command while a server runs, which renews tokens itself: providers treat a refresh
    token that is used twice as stolen, and revoke it. Processes that share a database use a lock instead."""
    if not ctx.service.store.is_shared and lock.is_held_by_another(Path(ctx.service.settings.data)):
        raise Unavailable(
            f"the token of the connected account '{reference[:100]}' has expired; the server that runs on the data "
            f"folder renews it when needed. Use the account there, or stop the server first"
        )


def _grant_ended(name: str, error: str) -> Unavailable:
    return Unavailable(
        lazy_gettext(
            "the access of the connected account '{name}' has ended; connect it again. The provider says: {error}",
            name=name,
            error=error,
        )
    )


def _keep_renewed(writing: RecordWriter, id: int, fetched: dict[str, Any], used: str) -> None:
    """Stores a renewed token, unless the account has another refresh token by now. used: the previous refresh token."""
    if _refresh_token(writing, id) == used:
        _keep(writing, id, fetched)
        grants.record_renewal(writing.tx, id, writing.now)


def _record_end(writing: RecordWriter, id: int, error: str, used: str) -> None:
    """Records that the grant has ended, unless the account has another refresh token by now."""
    if _refresh_token(writing, id) == used:
        grants.record_end(writing, id, error)


def _refresh_token(writing: RecordWriter, id: int) -> str:
    account = writing.record(TYPE, id)
    return str((account["params"] or {}).get("refresh_token") or "") if account is not None else ""


def _keep(writing: RecordWriter, id: int, fetched: dict[str, Any]) -> None:
    """Merges the fetched values into the params. Publishes no change."""
    account = writing.record(TYPE, id)
    if account is not None:
        writing.set(TYPE, id, {"params": (account["params"] or {}) | fetched})
