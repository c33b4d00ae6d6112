"""The OAuth2 provider: apps request tokens from workers, exchange and revoke them. Without HTTP and pages.

The page at /oauth/authorize (sign-in and consent) uses it in this order:

1. `begin(service, parameters)`, with the parameters of the query, or of the body of a POST by an app. It returns an
   `AuthorizationRequest`, or an `AuthorizationRefusal`: without `url`, show its message with status 400; with `url`,
   redirect there (303).
2. Without a session, show the sign-in page, which leads back to the same address. The request is not stored in a form:
   the address contains it, and it is read again each time.
3. `needs_consent(service, request, worker_id)`: if False, call `allow` directly. If True, show app, worker, `scopes`
   with their labels and `origin`; the form posts to the same address with `seal(service, request, worker_id, now)` in a
   hidden field. Its content security policy must allow `form-action` to `origin`.
4. The post calls `require_seal`, which raises Invalid for a form other than the one shown, then
   `allow(service, request, worker_id, now, scopes)` or `deny(service, request)`; both return the address of a redirect.

`consents.of_worker` and `consents.withdraw` serve the page of connected apps. web/oauth.py has the endpoints that apps
call themselves: `exchange`, `revoke` and `introspect`. Follows RFC 6749, 7009, 7636, 7662, 8707, 9207, 9700."""

import hmac
import json
import secrets
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any
from urllib.parse import urlencode

from oauthlib.oauth2 import AccessDeniedError, FatalClientError, OAuth2Error

from server.access import actor, app_secrets, codes, consents, device_codes, lockout, tokens
from server.access.validator import MAX_CLIENT_ID_CHARS, App, Endpoints, basic
from server.context import Service
from server.dataclass import dataclass
from server.digits import whole_in
from server.errors import Forbidden, Invalid
from server.record_types.shared import callbacks
from server.record_types.shared.scopes import Scope
from server.store.schema import META
from server.store.store_local import StoreLocal
from server.store.transaction import Transaction
from server.translation import N_

AUTHORIZATION_PARAMETERS = (
    "client_id",
    "code_challenge",
    "code_challenge_method",
    "prompt",
    "redirect_uri",
    "resource",
    "response_mode",
    "response_type",
    "scope",
    "state",
)
ENDPOINT_PARAMETERS = (
    "client_id",
    "client_secret",
    "code",
    "code_verifier",
    "device_code",
    "grant_type",
    "redirect_uri",
    "refresh_token",
    "resource",
    "scope",
    "token",
    "token_type_hint",
)
MAX_PARAMETER_CHARS = 4096
SEAL_SECONDS = 1800  # validity of a consent page, after which it is shown again

Pairs = tuple[tuple[str, str], ...]
EndpointResult = tuple[dict[str, str], str | None, int]

FATAL = {
    "Missing client_id parameter.": "The address has no client_id, which names the app.",
    "Invalid client_id parameter value.": "No app has this client_id; compare it with the app's page.",
    "Missing redirect URI.": "The app has no callback address, or several: redirect_uri must name one of them.",
    "Invalid redirect URI.": "The redirect_uri is not an address.",
    "Mismatching redirect URI.": "The redirect_uri is not a callback address of the app; it must match character by "
    "character.",
}
DESCRIPTIONS = {
    "access_denied": "The worker refused.",
    "authorization_pending": "The worker has not decided yet; poll again after the interval.",
    "expired_token": "The device code has expired; request a new one.",
    "invalid_client": "The client is unknown, or its secret is wrong.",
    "invalid_grant": "The code or token is unknown, has expired, was used or belongs to another client.",
    "invalid_target": "Name the address of the REST API or of the tools for assistants as resource.",
    "invalid_scope": "Name scopes that the app defines and the worker allowed.",
    "slow_down": "This poll came too soon; wait 5 seconds longer between polls.",
    "unauthorized_client": "The app may not use this grant: client_credentials needs a service worker who can sign in, "
    "device codes need is_device_flow.",
}


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """A valid request for a worker's consent. origin: the origin of the callback, as shown to the worker. parameters:
    those of the request. is_consent_forced: whether the worker must consent even to scopes that were allowed before.
    document_host: the host of an app that is known only by its metadata document, "" for a registered app."""

    app_id: int
    client_id: str
    app_name: str
    app_url: str
    scopes: tuple[Scope, ...]
    redirect_uri: str
    origin: str
    state: str
    is_consent_forced: bool
    parameters: Pairs
    document_host: str = ""


@dataclass(frozen=True, slots=True)
class AuthorizationRefusal:
    """The refusal of an invalid request. url: the callback that receives the error, "" if there is no trusted one."""

    message: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class OAuthRequest:
    """A request of a client to an endpoint. authorization: the header, None if absent. client: the address of the
    client."""

    parameters: Pairs
    authorization: str | None
    client: str


@dataclass(frozen=True, slots=True)
class OAuthResponse:
    """A response to a client. payload: None for an empty body."""

    status: int
    payload: dict[str, Any] | None


def begin(
    service: Service, parameters: Iterable[tuple[str, str]], now: int
) -> AuthorizationRequest | AuthorizationRefusal:
    """Validates the request of an app. parameters: decoded, as sent. Changes nothing."""
    pairs = _supported(parameters, AUTHORIZATION_PARAMETERS)

    def read(tx: Transaction) -> AuthorizationRequest | AuthorizationRefusal:
        try:
            _require_short(pairs)
            _require_once(pairs)
            scopes, credentials = Endpoints(tx, service, now).validate_authorization_request(
                _address(service),
                body=list(pairs),  # type: ignore[arg-type]
            )
        except FatalClientError as error:
            return AuthorizationRefusal(FATAL.get(error.description, error.description))
        except OAuth2Error as error:
            return AuthorizationRefusal(
                _description(error), _refusal(service, str(error.redirect_uri), error, dict(pairs))
            )
        except Invalid as error:
            return AuthorizationRefusal(error.message)
        app, sent = credentials["request"].client, dict(pairs)
        address = str(credentials["redirect_uri"])
        return AuthorizationRequest(
            app.id,
            app.client_id,
            app.name,
            app.url,
            tuple(app.scopes[each] for each in scopes),
            address,
            callbacks.origin(address),
            sent.get("state", ""),
            "consent" in sent.get("prompt", "").split(),
            pairs,
            app.document_host,
        )

    return service.store.read(read)


def needs_consent(service: Service, request: AuthorizationRequest, worker_id: int) -> bool:
    """Returns whether the worker must be asked for consent. If the service remembers consents, scopes that were allowed
    before need none, unless another program could receive the callback or the app requires consent."""
    if not service.settings.oauth_remember_consent or request.is_consent_forced:
        return True
    if not callbacks.is_only_its_own(request.redirect_uri):
        return True
    allowed = service.store.read(lambda tx: consents.scopes(tx, worker_id, request.app_id))
    return not {each.id for each in request.scopes} <= allowed


def seal(service: Service, request: AuthorizationRequest, worker_id: int, now: int) -> str:
    """Returns a code that proves that a form was shown to this worker for this request at this time."""
    content = json.dumps([worker_id, now, request.app_id, [each.id for each in request.scopes], request.parameters])
    return f"{now}.{hmac.digest(_seal_key(service), content.encode(), 'sha256').hex()}"


def require_seal(service: Service, request: AuthorizationRequest, worker_id: int, submitted: str, now: int) -> None:
    """Raises Invalid for a form other than the one shown, or if it has expired."""
    at = whole_in(submitted.partition(".")[0], max(now - SEAL_SECONDS, 0), now)
    if at is None or not hmac.compare_digest(submitted.encode(), seal(service, request, worker_id, at).encode()):
        raise Invalid(N_("this page has expired; open it again"), field="seal")


def allow(
    service: Service,
    request: AuthorizationRequest,
    worker_id: int,
    now: int,
    scopes: Iterable[str] | None = None,
    along: Callable[[Transaction], None] = lambda tx: None,
) -> str:
    """Creates a code for the app; returns the address to redirect the browser to. scopes: a subset of the requested
    ones, None for all. along: runs in the same transaction.

    Raises Invalid for other scopes, none, or if the app was changed since the request; Forbidden if the worker can no
    longer sign in."""
    allowed = _allowed(request, scopes)

    def write(tx: Transaction) -> str:
        if actor.worker(tx, worker_id) is None:
            raise Forbidden(N_("this worker can no longer sign in"))
        endpoints = Endpoints(tx, service, now)
        try:
            endpoints.create_authorization_response(
                _address(service),
                body=list(request.parameters),  # type: ignore[arg-type]
                scopes=list(allowed),
                credentials={"user": worker_id},
            )
        except FatalClientError as error:
            raise Invalid(FATAL.get(error.description, error.description)) from None
        if endpoints.validator.answer is None:
            raise Invalid("the app was changed in the meantime; start again from the app")
        consents.remember(tx, worker_id, request.app_id, allowed, now)
        along(tx)
        return _callback(service, request.redirect_uri, endpoints.validator.answer.items())

    return service.store.write(write)


def deny(service: Service, request: AuthorizationRequest) -> str:
    """Returns the address to redirect the browser to after the worker denied the request."""
    return _refusal(service, request.redirect_uri, AccessDeniedError(), dict(request.parameters))


def client_id(sent: OAuthRequest) -> str:
    """Returns the client id in a request, "" if absent. It is not verified."""
    return (dict(sent.parameters).get("client_id") or basic(sent.authorization or "")[0])[:MAX_CLIENT_ID_CHARS]


def exchange(service: Service, sent: OAuthRequest, now: int) -> OAuthResponse:
    """Returns tokens for a code or a refresh token. Raises Invalid for a malformed request, TooMany after too many
    wrong attempts. Revocations after a second use are committed although the response is an error."""
    return _run_endpoint(service, sent, now, lambda endpoints: endpoints.create_token_response)


def authorize_device(service: Service, sent: OAuthRequest, now: int) -> OAuthResponse:
    """Returns codes for a program without a browser (RFC 8628, 3.1). Raises as exchange."""
    return _run_endpoint(
        service,
        sent,
        now,
        lambda endpoints: partial(endpoints.create_device_authorization_response, client=sent.client),
    )


def revoke(service: Service, sent: OAuthRequest, now: int) -> OAuthResponse:
    """Revokes a token of the client; a refresh token ends its whole login. Raises as exchange."""
    return _run_endpoint(service, sent, now, lambda endpoints: endpoints.create_revocation_response)


def introspect(service: Service, sent: OAuthRequest, now: int) -> OAuthResponse:
    """Returns the state and the rights of a token of the client. Raises as exchange."""
    return _run_endpoint(service, sent, now, lambda endpoints: endpoints.create_introspect_response)


def forget_useless(tx: Transaction, before: int) -> None:
    """Deletes tokens and codes that ended before this instant, and the rows of deleted apps, workers and secrets."""
    tokens.forget_useless(tx, before)
    codes.forget_useless(tx, before)
    device_codes.forget_useless(tx, before)
    consents.forget_useless(tx)
    app_secrets.forget_useless(tx)


def forget_of_worker(tx: Transaction, worker_id: int) -> None:
    """Deletes the tokens, codes and consents of a worker."""
    tokens.forget_of_worker(tx, worker_id)
    consents.forget_of_worker(tx, worker_id)


def _run_endpoint(
    service: Service, sent: OAuthRequest, now: int, pick: Callable[[Endpoints], Callable[..., EndpointResult]]
) -> OAuthResponse:
    pairs = _supported(sent.parameters, ENDPOINT_PARAMETERS)
    _require_short(pairs)
    _require_once(pairs)
    headers = {} if sent.authorization is None else {"Authorization": sent.authorization}
    address = lockout.address(sent.client)
    # A client id is not secret: an attacker must not lock out callers from other addresses.
    keys = [lockout.account("client", f"{client_id(sent)} {address}"), f"{address} client"]

    def write(tx: Transaction) -> OAuthResponse:
        lockout.require_open(tx, keys, now)
        endpoints = Endpoints(tx, service, now)
        try:
            _, body, status = pick(endpoints)(_address(service), "POST", list(pairs), headers)
        except OAuth2Error as error:
            body, status = error.json, error.status_code
        payload = json.loads(body) if body else None
        if payload and "error" in payload:
            payload.setdefault("error_description", DESCRIPTIONS.get(payload["error"], ""))
            lockout.count(tx, _guess_keys(endpoints, payload["error"], keys), now)
        return OAuthResponse(status, payload)

    return service.store.write(write)


def _guess_keys(endpoints: Endpoints, error: str, keys: list[str]) -> list[str]:
    """Returns the lockout keys for which an error counts as a wrong guess. An authenticated client may still have old
    tokens."""
    if error == "invalid_client":
        return keys
    app: App | None = endpoints.validator.app
    return keys[1:] if error == "invalid_grant" and (app is None or app.is_public) else []


def _allowed(request: AuthorizationRequest, scopes: Iterable[str] | None) -> tuple[str, ...]:
    names = tuple(each.id for each in request.scopes)
    if scopes is None:
        return names
    chosen = set(scopes)
    if not chosen or not chosen <= set(names):
        raise Invalid("allow at least one of the requested scopes, and no others", field="scopes")
    return tuple(name for name in names if name in chosen)


def _supported(parameters: Iterable[tuple[str, str]], names: tuple[str, ...]) -> Pairs:
    """Returns the supported parameters. Those without a value count as absent (RFC 6749, 3.1)."""
    pairs = ((name, _once_each(value) if name == "scope" else value) for name, value in parameters if name in names)
    return tuple((name, value) for name, value in pairs if value)


def _once_each(scope: str) -> str:
    return " ".join(dict.fromkeys(each for each in scope.split(" ") if each))


def _require_short(pairs: Pairs) -> None:
    for name, value in pairs:
        if len(value) > MAX_PARAMETER_CHARS:
            raise Invalid(f"{name} has more than {MAX_PARAMETER_CHARS} characters", field=name)


def _require_once(pairs: Pairs) -> None:
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise Invalid(f"{name} is sent more than once", field=name)


def _address(service: Service) -> str:
    """Returns the request address for oauthlib, which only reads its query."""
    return f"{service.base_url}/oauth"


def _description(error: OAuth2Error) -> str:
    return error.description or DESCRIPTIONS.get(str(error.error), str(error.error))


def _refusal(service: Service, address: str, error: OAuth2Error, sent: dict[str, str]) -> str:
    pairs = [("error", str(error.error)), ("error_description", _description(error))]
    return _callback(service, address, [*pairs, *([("state", sent["state"])] if "state" in sent else [])])


def _callback(service: Service, address: str, pairs: Iterable[tuple[str, str]]) -> str:
    """Returns a callback with a response appended to its query, and the issuer (RFC 9207)."""
    more = urlencode([*pairs, ("iss", service.base_url)])
    return f"{address}{'&' if '?' in address else '?'}{more}"


SEAL: StoreLocal[bytes] = StoreLocal()
SEAL_KEY = "consent_seal"  # the row of META: shared by all processes of a database and valid after restarts


def _seal_key(service: Service) -> bytes:
    store = service.store
    return SEAL.made(store, lambda: store.read(_stored_seal_key) or store.write(_create_seal_key))


def _stored_seal_key(tx: Transaction) -> bytes:
    row = tx.first(META, name=SEAL_KEY)
    return b"" if row is None else bytes.fromhex(row[1])


def _create_seal_key(tx: Transaction) -> bytes:
    stored = _stored_seal_key(tx)
    if stored:
        return stored
    key = secrets.token_bytes(32)
    tx.put(META, {"name": SEAL_KEY, "value": key.hex()})
    return key
