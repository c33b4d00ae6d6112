"""Connected accounts at work: what signs requests in their name, with tokens that are renewed and kept.

Who may use an account is who may read it; its credentials go nowhere but into requests."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from server import outbound
from server.context import Context
from server.dataclass import dataclass
from server.desk.reading import RecordReader
from server.desk.writing import RecordWriter
from server.errors import Invalid, NotFound, Unavailable
from server.jobs import turns
from server.outbound import Signer, signing, tokens
from server.store import lock
from server.store.transaction import Transaction

TYPE = "connected_account"
KEEP_SECONDS = turns.MARGIN_SECONDS - 15  # for attempts to store a new token, while the lock to renew it is held
AGAIN_SECONDS = 1.0
_SECRETS = {signing.API_KEY: "api_key", signing.BEARER: "token", signing.BASIC: "password"}


@dataclass(frozen=True)
class _SigningAccount:
    """A connected account. values: the parameters of account and service together, from signing.check_params."""

    id: int
    kind: str
    values: dict[str, str]


def signer(ctx: Context, reference: str, seconds: float = 0) -> Signer:
    """What signs requests as an account: `svc:connected_account:<id or uri>`, or id or uri alone.

    seconds: what a new token may take, 0 for as long as any request; it blocks meanwhile. Raises NotFound, Invalid for
    an account that signs no requests, and what outbound.send raises."""
    account = _read(ctx, reference)
    if account.kind != signing.OAUTH2:
        return Signer(signing.signer(account.kind, account.values, ctx.now))
    if not tokens.is_fresh(account.values, ctx.now):
        account = _renewed(ctx, reference, account, seconds)
        return Signer(signing.signer(account.kind, account.values, ctx.now))

    def renewed(seconds_left: float) -> Signer:
        """For a token that ended before its time."""
        found = _renewed(ctx, reference, account, seconds_left)
        return Signer(signing.signer(found.kind, found.values, ctx.now))

    return Signer(signing.signer(account.kind, account.values, ctx.now), renewed)


def access_token(ctx: Context, reference: str) -> str:
    """The token of an account, for logins that are no HTTP requests; a new one where it has ended.

    Raises NotFound, Invalid for an account without tokens, and what outbound.send raises."""
    account = _read(ctx, reference)
    if account.kind == signing.BEARER:
        return account.values["token"]
    if account.kind != signing.OAUTH2:
        raise Invalid(f"the connected account {account.id} has no token; use one of OAuth 2, or a bearer token")
    if not tokens.is_fresh(account.values, ctx.now):
        account = _renewed(ctx, reference, account, 0)
    return account.values["access_token"]


def signing_secret(ctx: Context, reference: str) -> str:
    """The secret by which others sign what they send us: API key, bearer token or password of an account.

    Raises NotFound, Invalid for an account of another kind or without a secret."""
    account = _read(ctx, reference)
    name = _SECRETS.get(account.kind, "")
    if not account.values.get(name):
        raise Invalid(
            f"the connected account {account.id} holds no secret that signatures can be verified with; use one of the "
            "kind API key, bearer token or HTTP Basic",
            field="account",
        )
    return account.values[name]


def token_refused(ctx: Context, reference: str, token: str) -> None:
    """A login by this token was refused, before its time or because that is not known: whoever asks next gets a new
    one. Nothing for an account that is gone, or has another token by now."""
    try:
        account = _read(ctx, reference)
    except (Invalid, NotFound):
        return
    if account.kind != signing.OAUTH2 or account.values.get("access_token") != token:
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
        kind = service["extension_id"]
        return _SigningAccount(
            account["id"], kind, signing.check_params(kind, service["params"] or {}, account["params"] or {})
        )

    return ctx.service.store.read(read)


def _renewed(ctx: Context, reference: str, old: _SigningAccount, seconds: float) -> _SigningAccount:
    """The account with another token than the old one; fetched once, however many ask for it at the same time."""
    bounds = outbound.limits(ctx.service.settings)
    bounds = replace(bounds, seconds=min(seconds or bounds.seconds, bounds.seconds))
    id = old.id
    # A refresh token that is used twice is taken for a stolen one.
    with turns.taken(ctx.service, f"the renewal of the token of the connected account {id}", bounds.seconds):
        account = _read(ctx, reference)
        is_old = account.values.get("access_token") == old.values.get("access_token")
        if is_old or not tokens.is_fresh(account.values, ctx.now):
            _require_turn(ctx, reference)
            fetched = tokens.fetched(account.values, bounds, ctx.now)
            _keep_surely(ctx, id, fetched)
            account = _read(ctx, reference)
        return account


def _keep_surely(ctx: Context, id: int, fetched: dict[str, Any]) -> None:
    """Try for a while where the database is away: the refresh token of before is used up, and nobody else has the new
    one. Not inside a write."""
    ends_at = time.monotonic() + KEEP_SECONDS
    while True:
        try:
            return ctx.service.store.write(lambda tx: _keep(RecordWriter(ctx, tx), id, fetched))
        except Unavailable:
            if time.monotonic() >= ends_at:
                raise
        time.sleep(AGAIN_SECONDS)


def _require_turn(ctx: Context, reference: str) -> None:
    """Raises Unavailable in a command beside a server, which renews by itself: a refresh token that two use is taken
    for a stolen one, and ends. Where a database is for several processes, they take turns."""
    if not ctx.service.store.is_shared and lock.is_held_by_another(Path(ctx.service.settings.data)):
        raise Unavailable(
            f"the token of the connected account '{reference[:100]}' is over; the server that runs on the data folder "
            "renews it when it needs it. Use the account there, or stop the server first"
        )


def _keep(writing: RecordWriter, id: int, fetched: dict[str, Any]) -> None:
    """Beside what the params hold by now. Not a change that anybody is told of."""
    account = writing.record(TYPE, id)
    if account is not None:
        writing.set(TYPE, id, {"params": (account["params"] or {}) | fetched})
