"""Connects an account by the consent of a person at its provider: authorization code with PKCE and `state`.

`begin` returns the address of the provider's consent page; the browser comes back to CALLBACK, and `finish` stores the
tokens. An attempt belongs to one session of the console and to one service, works once, and ends after ten minutes.
Follows RFC 6749, 4.1; RFC 7636; RFC 9207; RFC 9700."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode, urlsplit

from server import outbound
from server.connections import consented_identity, grants
from server.connections.grant_tables import CONNECTED_GRANT, CONNECTION_ATTEMPT
from server.context import Context
from server.contexts import WORKER
from server.dataclass import dataclass
from server.errors import HelpdeskError, Invalid, NotFound, Required
from server.outbound import client_tokens, oauth_providers, pkce, request_signing
from server.outbound.client_tokens import TokenRejected
from server.outbound.oauth_discovery import secure_url
from server.outbound.oauth_providers import PURPOSES, Purpose
from server.outbound.urls import HttpUrl
from server.printable import printable
from server.record_types.shared.secrets import digest
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.transaction import Transaction
from server.translation import _, shown

SERVICE, ACCOUNT = "connected_service", "connected_account"
CALLBACK = "/connect/callback"  # the path of the redirect address, below the base URL
CONNECTED = "connected_account.connected"
DOING = "connect accounts"  # allowed to administrators only
ATTEMPT_SECONDS = 600
STATE_BYTES = 32
MAX_STATE_CHARS = 200
MAX_CODE_CHARS = 4096
MAX_NAME_CHARS = 255
_ENDPOINTS = ("authorization_url", "token_url", "userinfo_url", "issuer", "client_id")


class ConnectionRefused(Invalid):
    """A consent that led to no connection. next_page: the page that the attempt began on."""

    def __init__(self, message: str, next_page: str = "") -> None:
        super().__init__(message)
        self.next_page = next_page


@dataclass(frozen=True, slots=True)
class ConnectionRequest:
    """The account to connect. account_id: of an existing account, 0 for a new one. login: the address to offer at the
    provider. next_page: the page that follows, to which the account is added."""

    service_id: int
    purpose: Purpose
    account_id: int = 0
    login: str = ""
    next_page: str = ""


@dataclass(frozen=True, slots=True)
class FinishedConnection:
    """A connected account. email: of the person who consented, "" if unknown. next_page: the page that follows."""

    account_id: int
    email: str
    next_page: str


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The row of an attempt."""

    id: int
    hash: str
    session_id: int
    worker_id: int
    service_id: int
    account_id: int
    purpose: Purpose
    client: str
    redirect_uri: str
    verifier: str
    nonce: str
    expires_at: int
    next_page: str


def redirect_uri(ctx: Context) -> str:
    """Returns the address that has to be registered at the provider."""
    return ctx.service.base_url.rstrip("/") + CALLBACK


def authorization_origin(ctx: Context, service_id: int) -> str:
    """Returns the origin of the consent page of a service, as a content security policy writes it: it knows no IPv6
    addresses. Raises AdminOnly, NotFound, Invalid for a service without such a page."""
    ctx.require_admin(DOING)
    values = ctx.service.store.read(lambda tx: _service_values(RecordReader(ctx, tx), service_id))
    url = _authorization_url(values)
    return f"{url.scheme}:" if ":" in url.host else f"{url.scheme}://{url.authority}"


def begin(ctx: Context, session_id: int, request: ConnectionRequest) -> str:
    """Begins an attempt; returns the address of the consent page.

    Raises AdminOnly, NotFound, Invalid and Required for a service that is not set up for it."""
    ctx.require_admin(DOING)
    if request.purpose not in PURPOSES:
        raise Invalid(f"there is no purpose '{request.purpose[:30]}'; use one of {', '.join(PURPOSES)}")
    state, verifier, nonce = secrets.token_urlsafe(STATE_BYTES), pkce.new_verifier(), secrets.token_urlsafe(16)

    def write(tx: Transaction) -> Mapping[str, str]:
        writing = RecordWriter(ctx, tx)
        values = _service_values(writing, request.service_id)
        _require_account(writing, request)
        forget_over(tx, ctx.now)
        tx.insert(
            CONNECTION_ATTEMPT,
            {
                "hash": digest(state),
                "session_id": session_id,
                "worker_id": ctx.actor.worker_id,
                "service_id": request.service_id,
                "account_id": request.account_id,
                "purpose": request.purpose,
                "client": _client_digest(values),
                "redirect_uri": redirect_uri(ctx),
                "verifier": verifier,
                "nonce": nonce,
                "expires_at": ctx.now + ATTEMPT_SECONDS,
                "next_page": request.next_page,
            },
        )
        return values

    values = ctx.service.store.write(write)
    scopes = oauth_providers.scopes_for(values, request.purpose)
    parameters = {
        "response_type": "code",
        "client_id": values["client_id"],
        "redirect_uri": redirect_uri(ctx),
        "state": state,
        "code_challenge": pkce.challenge(verifier),
        "code_challenge_method": pkce.METHOD,
        **({"scope": " ".join(scopes)} if scopes else {}),
        **({"nonce": nonce} if "openid" in scopes else {}),
        **({"login_hint": request.login} if request.login else {}),
        **oauth_providers.provider_of(values).authorize,
    }
    return str(_authorization_url(values).with_query(urlencode(parameters)))


def finish(ctx: Context, session_id: int, response: Mapping[str, str]) -> FinishedConnection:
    """Exchanges the code in a response of the provider and stores the tokens. Blocks on requests to the provider.

    response: the parameters of the redirect. Raises AdminOnly; ConnectionRefused with a sentence for everything that
    went wrong at the provider, and then nothing is stored."""
    ctx.require_admin(DOING)
    attempt = _claim(ctx, session_id, response.get("state", ""))
    try:
        values = ctx.service.store.read(lambda tx: _service_values(RecordReader(ctx, tx), attempt.service_id))
        if not hmac.compare_digest(_client_digest(values), attempt.client):
            raise Invalid(_("the connected service was changed meanwhile; connect again"))
        _require_issuer(values, response.get("iss", ""))
        _require_consent(values, response)
        code = response.get("code", "")
        if not code or len(code) > MAX_CODE_CHARS:
            raise Invalid(_("the provider sent no code; connect again"))
        return _exchange(ctx, attempt, values, code)
    except ConnectionRefused:
        raise
    except HelpdeskError as error:
        raise ConnectionRefused(error.message, attempt.next_page) from error


def forget_over(tx: Transaction, now: int) -> None:
    """Deletes attempts that are over."""
    table: Any = CONNECTION_ATTEMPT.sql
    tx.run(lambda: table.delete().where(table.expires_at <= slot(0)), (now,))


# -- the attempt -------------------------------------------------------------------------------------------------------


def _service_values(reading: RecordReader, service_id: int) -> dict[str, str]:
    """The params of a service that accounts can be connected to."""
    service = reading.record(SERVICE, service_id)
    if service is None:
        raise NotFound(_("this connected service no longer exists"))
    if service["extension_id"] != request_signing.OAUTH2:
        raise Invalid(
            _("accounts of {name} are not connected by consent; enter their credentials", name=service["name"])
        )
    values = request_signing.service_params(request_signing.OAUTH2, service["params"] or {})
    for name in ("client_id", "authorization_url", "token_url"):
        if not values.get(name):
            raise Required(
                _("{name} lacks its {field}; enter it in the connected service", name=service["name"], field=name),
                field=name,
            )
    return values


def _require_account(reading: RecordReader, request: ConnectionRequest) -> None:
    if not request.account_id:
        return
    account = reading.record(ACCOUNT, request.account_id)
    if account is None or account["service_id"] != request.service_id:
        raise NotFound(_("this connected account no longer exists"))


def _authorization_url(values: Mapping[str, str]) -> HttpUrl:
    return secure_url(values["authorization_url"], "authorization_url")


def _client_digest(values: Mapping[str, str]) -> str:
    """A digest of the endpoints and the client, since a code must go to the provider that issued it."""
    return hashlib.sha256("\0".join(values.get(name, "") for name in _ENDPOINTS).encode()).hexdigest()


def _claim(ctx: Context, session_id: int, state: str) -> _Attempt:
    """Removes the attempt that a state belongs to, so that it works once, and returns it. A response that begins in
    another browser, as in login CSRF, finds none."""
    if not state or len(state) > MAX_STATE_CHARS:
        raise ConnectionRefused(_("the provider did not return what it was sent; connect again"))

    def write(tx: Transaction) -> _Attempt | None:
        row = tx.first(CONNECTION_ATTEMPT, hash=digest(state), session_id=session_id, worker_id=ctx.actor.worker_id)
        if row is None:
            return None
        attempt = _Attempt(*row)
        tx.delete(CONNECTION_ATTEMPT, id=attempt.id)
        return attempt if attempt.expires_at > ctx.now else None

    attempt = ctx.service.store.write(write)
    if attempt is None:
        raise ConnectionRefused(
            _("this connection was begun in another browser, has been used already, or has expired; connect again")
        )
    return attempt


def _require_issuer(values: Mapping[str, str], issuer: str) -> None:
    """Raises Invalid for the response of another provider (RFC 9207, 2.4). A provider whose issuer is not known must
    at least name itself by the host of its consent page."""
    known = values.get("issuer", "")
    if not issuer:
        if values.get("requires_iss") == "1":
            raise Invalid(_("the response does not say which provider it is from; nothing was stored"))
        return
    consent = urlsplit(values["authorization_url"])
    is_same = issuer == known if known else urlsplit(issuer)[:2] == consent[:2]
    if not is_same:
        raise Invalid(_("the response is from another provider than the one you chose; nothing was stored"))


def _require_consent(values: Mapping[str, str], response: Mapping[str, str]) -> None:
    error = response.get("error", "")
    if error == "access_denied":
        raise Invalid(
            _(
                "access was not granted at {provider}; nothing was changed",
                provider=shown(oauth_providers.provider_of(values).label),
            )
        )
    if error:
        words = " ".join(each for each in (error, response.get("error_description", "")) if each)
        words = printable(words)[:300]
        raise Invalid(_("the provider reports an error: {error}", error=words))


# -- the tokens --------------------------------------------------------------------------------------------------------


def _exchange(ctx: Context, attempt: _Attempt, values: Mapping[str, str], code: str) -> FinishedConnection:
    bounds = outbound.limits(ctx.service.settings)
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": attempt.redirect_uri,
        "code_verifier": attempt.verifier,
    }
    secure_url(values["token_url"], "token_url")
    try:
        payload = client_tokens.token_response(values, form, bounds)
    except TokenRejected as error:
        raise Invalid(_("the provider did not accept the sign-in: {error}", error=error.message)) from error
    scopes = oauth_providers.scopes_for(values, attempt.purpose)
    _require_scopes(scopes, payload)
    stored = client_tokens.token_values(payload, {}, ctx.now)
    if not stored.get("refresh_token"):
        raise Invalid(
            _(
                "the provider sent no refresh token, so the connection would end within the hour; remove the access of "
                "this program in the account at the provider, then connect again"
            )
        )
    nonce = attempt.nonce if "openid" in scopes else ""
    email = consented_identity.consented_as(values, payload, nonce, replace(bounds, seconds=min(bounds.seconds, 10)))
    # Providers that do not ask for the scopes again renew the granted ones (RFC 6749, 6).
    stored["scope"] = " ".join(scopes) if oauth_providers.provider_of(values).renews_with_scope else ""
    account_id = ctx.service.store.write(lambda tx: _store(RecordWriter(ctx, tx), attempt, email, stored))
    return FinishedConnection(account_id, email, attempt.next_page)


def _require_scopes(scopes: tuple[str, ...], payload: Mapping[str, Any]) -> None:
    granted = payload.get("scope")
    missing = oauth_providers.missing_scopes(scopes, granted) if isinstance(granted, str) and granted else []
    if missing:
        raise Invalid(
            _(
                "the provider did not grant {scopes}; connect again and allow everything that the page asks for",
                scopes=", ".join(missing),
            )
        )


def _store(writing: RecordWriter, attempt: _Attempt, email: str, params: dict[str, Any]) -> int:
    """Stores the tokens in the account of the attempt, in that of the same person, or in a new account."""
    account_id = attempt.account_id or _account_of(writing, attempt, email)
    old = writing.record(ACCOUNT, account_id) if account_id else None
    if attempt.account_id and old is None:
        raise NotFound(_("this connected account no longer exists"))
    if old is not None:
        _require_same_person(writing, account_id, email)
        writing.set(ACCOUNT, account_id, {"params": (old["params"] or {}) | params})
    else:
        service = writing.label(SERVICE, attempt.service_id)
        account_id = writing.create_sent(
            writing.registry.type(ACCOUNT),
            {
                "name": (email or _("Account at {service}", service=service))[:MAX_NAME_CHARS],
                "service_id": str(attempt.service_id),
                "owner__context": WORKER,
                "owner_id": str(writing.actor.id),
                "params": params,
            },
        )
    grants.record_connection(writing.tx, account_id, email, attempt.purpose, writing.now)
    texts = {"target": writing.label(ACCOUNT, account_id), "email": email or "?"}
    writing.log(CONNECTED, writing.registry.type(ACCOUNT).context, account_id, texts)
    return account_id


def _account_of(writing: RecordWriter, attempt: _Attempt, email: str) -> int:
    """The account of the same person at the same service for the same purpose, 0 for none."""
    rows = writing.tx.find(CONNECTED_GRANT, email=email, purpose=attempt.purpose) if email else []
    for account_id in (grants.ConnectedGrant(*row).account_id for row in rows):
        account = writing.record(ACCOUNT, account_id)
        if account is not None and account["service_id"] == attempt.service_id:
            return account_id
    return 0


def _require_same_person(writing: RecordWriter, account_id: int, email: str) -> None:
    """Raises Invalid if another person than before consented: a mailbox would change hands unnoticed."""
    grant = grants.find_grant(writing.tx, account_id)
    if grant is not None and grant.email and email and grant.email != email:
        raise Invalid(
            _(
                "you signed in as {email}, but this account belongs to {known}; sign in as {known}, or connect {email} "
                "as another account",
                email=email,
                known=grant.email,
            )
        )
