"""The OAuth2 provider: apps ask workers for tokens, exchange them, and give them back. No HTTP and no pages here.

For the page at /oauth/authorize (sign-in and consent), in this order:

1. `begin(service, parameters)`, with what came in the query, or in the body of a POST by an app. An
   `AuthorizationRefusal` without `url` is a page with its message and status 400; one with `url` is a redirect there
   (303). Else it is an `AuthorizationRequest`.
2. Nobody signed in: the sign-in page, which leads back to this very address. No form holds the request: it is in the
   address, and is read anew each time.
3. `needs_consent(service, asked, worker_id)`: False means `allow` at once. True: show app, worker, `scopes` with
   their labels and `origin`; the form posts to the same address with `seal(service, asked, worker_id, now)` in a hidden
   field. Its content security policy must let `form-action` lead to `origin`.
4. The post calls `require_seal`, which raises Invalid for a form that is not the one shown, then
   `allow(service, asked, worker_id, now, scopes)` or `deny(service, asked)`; each answers the address to redirect to.

`consents.of_worker` and `consents.withdraw` are for the page of connected apps. web/oauth.py has the endpoints that
apps call themselves: `exchange`, `revoke` and `introspect`. Follows RFC 6749, 7009, 7636, 7662, 9207, 9700.
"""

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

ASKED = (
    "client_id",
    "code_challenge",
    "code_challenge_method",
    "prompt",
    "redirect_uri",
    "response_mode",
    "response_type",
    "scope",
    "state",
)
SENT = (
    "client_id",
    "client_secret",
    "code",
    "code_verifier",
    "device_code",
    "grant_type",
    "redirect_uri",
    "refresh_token",
    "scope",
    "token",
    "token_type_hint",
)
MAX_PARAMETER_CHARS = 4096
SEAL_SECONDS = 1800  # a consent page that was open for longer is shown anew

Pairs = tuple[tuple[str, str], ...]
Answered = tuple[dict[str, str], str | None, int]

FATAL = {
    "Missing client_id parameter.": "The address lacks client_id, which names the app.",
    "Invalid client_id parameter value.": "There is no app with this client_id; check it against the app's page.",
    "Missing redirect URI.": "The app has no callback address, or several: it must name one of them as redirect_uri.",
    "Invalid redirect URI.": "The redirect_uri is not an address.",
    "Mismatching redirect URI.": "The redirect_uri is none of the callback addresses of the app; they must be equal, "
    "character by character.",
}
TOLD = {
    "access_denied": "The worker refused.",
    "authorization_pending": "The worker has not decided yet; poll again after the interval.",
    "expired_token": "The device code has expired; request a new one.",
    "invalid_client": "The client is not known, or its secret is wrong.",
    "invalid_grant": "The code or token is not known, has expired, was used or belongs to another client.",
    "invalid_scope": "Name scopes that the app defines and the worker allowed.",
    "slow_down": "This poll came too soon; wait 5 seconds longer between polls.",
    "unauthorized_client": "The app may not use this grant: client_credentials needs a service worker who can sign in, "
    "device codes need is_device_flow.",
}


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """A request for a worker's consent that is in order. origin: where the answer is sent to, as people may see it.

    parameters: the request itself. is_consent_forced: whether the worker is asked even when that is known already."""

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


@dataclass(frozen=True, slots=True)
class AuthorizationRefusal:
    """A request that is not in order. url: where the app wants to hear of it, "" when there is no app to trust."""

    message: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class OAuthRequest:
    """What a client sent to an endpoint. authorization: the header, None for none. client: its address."""

    parameters: Pairs
    authorization: str | None
    client: str


@dataclass(frozen=True, slots=True)
class OAuthResponse:
    """What a client is told. payload: None for an empty body."""

    status: int
    payload: dict[str, Any] | None


def begin(
    service: Service, parameters: Iterable[tuple[str, str]], now: int
) -> AuthorizationRequest | AuthorizationRefusal:
    """What an app asks for, or why it cannot. parameters: as they came, decoded. Changes nothing."""
    pairs = _known(parameters, ASKED)

    def read(tx: Transaction) -> AuthorizationRequest | AuthorizationRefusal:
        try:
            _require_short(pairs)
            _require_once(pairs)
            scopes, found = Endpoints(tx, service, now).validate_authorization_request(
                _address(service),
                body=list(pairs),  # type: ignore[arg-type]
            )
        except FatalClientError as error:
            return AuthorizationRefusal(FATAL.get(error.description, error.description))
        except OAuth2Error as error:
            return AuthorizationRefusal(
                _described(error), _refusal(service, str(error.redirect_uri), error, dict(pairs))
            )
        except Invalid as error:
            return AuthorizationRefusal(error.message)
        app, sent = found["request"].client, dict(pairs)
        address = str(found["redirect_uri"])
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
        )

    return service.store.read(read)


def needs_consent(service: Service, asked: AuthorizationRequest, worker_id: int) -> bool:
    """Whether the worker must be asked: every time. Where the service is set to remember, not for scopes that were
    allowed before, unless another program could stand behind the callback, or the app wants it."""
    if not service.settings.oauth_remember_consent or asked.is_consent_forced:
        return True
    if not callbacks.is_only_its_own(asked.redirect_uri):
        return True
    allowed = service.store.read(lambda tx: consents.scopes(tx, worker_id, asked.app_id))
    return not {each.id for each in asked.scopes} <= allowed


def seal(service: Service, asked: AuthorizationRequest, worker_id: int, now: int) -> str:
    """What shows that a form is that of a page shown to this worker for this request, a while ago at most."""
    told = json.dumps([worker_id, now, asked.app_id, [each.id for each in asked.scopes], asked.parameters])
    return f"{now}.{hmac.digest(_seal_key(service), told.encode(), 'sha256').hex()}"


def require_seal(service: Service, asked: AuthorizationRequest, worker_id: int, given: str, now: int) -> None:
    """Raises Invalid for a form that is not the one shown, or is too old."""
    at = whole_in(given.partition(".")[0], max(now - SEAL_SECONDS, 0), now)
    if at is None or not hmac.compare_digest(given.encode(), seal(service, asked, worker_id, at).encode()):
        raise Invalid(N_("this page has expired; open it again"), field="seal")


def allow(
    service: Service,
    asked: AuthorizationRequest,
    worker_id: int,
    now: int,
    scopes: Iterable[str] | None = None,
    along: Callable[[Transaction], None] = lambda tx: None,
) -> str:
    """The address to send the browser to, with a code for the app. scopes: fewer than asked for, None for all. along:
    done in the same transaction.

    Raises Invalid for other scopes, none, or an app that has changed meanwhile; Forbidden for a worker who is gone."""
    wanted = _allowed(asked, scopes)

    def write(tx: Transaction) -> str:
        if actor.worker(tx, worker_id) is None:
            raise Forbidden(N_("this worker can no longer sign in"))
        endpoints = Endpoints(tx, service, now)
        try:
            endpoints.create_authorization_response(
                _address(service),
                body=list(asked.parameters),  # type: ignore[arg-type]
                scopes=list(wanted),
                credentials={"user": worker_id},
            )
        except FatalClientError as error:
            raise Invalid(FATAL.get(error.description, error.description)) from None
        if endpoints.validator.answer is None:
            raise Invalid("the app was changed while it asked; start from there once more")
        consents.remember(tx, worker_id, asked.app_id, wanted, now)
        along(tx)
        return _with(service, asked.redirect_uri, endpoints.validator.answer.items())

    return service.store.write(write)


def deny(service: Service, asked: AuthorizationRequest) -> str:
    """The address to send the browser to when the worker refused."""
    return _refusal(service, asked.redirect_uri, AccessDeniedError(), dict(asked.parameters))


def client_id(sent: OAuthRequest) -> str:
    """The client that a request says it comes from, "" for none."""
    return (dict(sent.parameters).get("client_id") or basic(sent.authorization or "")[0])[:MAX_CLIENT_ID_CHARS]


def exchange(service: Service, sent: OAuthRequest, now: int) -> OAuthResponse:
    """Tokens for a code or a refresh token. Raises Invalid for what is no such request, TooMany for one who was wrong
    too often. What a second use ends is ended though the answer is an error."""
    return _answered(service, sent, now, lambda endpoints: endpoints.create_token_response)


def authorize_device(service: Service, sent: OAuthRequest, now: int) -> OAuthResponse:
    """Codes for a program without a browser (RFC 8628, 3.1). Raises as exchange."""
    return _answered(
        service,
        sent,
        now,
        lambda endpoints: partial(endpoints.create_device_authorization_response, client=sent.client),
    )


def revoke(service: Service, sent: OAuthRequest, now: int) -> OAuthResponse:
    """End a token of the client; a refresh token takes all of its login along. Raises as exchange."""
    return _answered(service, sent, now, lambda endpoints: endpoints.create_revocation_response)


def introspect(service: Service, sent: OAuthRequest, now: int) -> OAuthResponse:
    """What a token of the client is good for. Raises as exchange."""
    return _answered(service, sent, now, lambda endpoints: endpoints.create_introspect_response)


def forget_useless(tx: Transaction, before: int) -> None:
    """Remove tokens and codes that ended before this instant, and what belongs to apps, workers and secrets that are
    gone."""
    tokens.forget_useless(tx, before)
    codes.forget_useless(tx, before)
    device_codes.forget_useless(tx, before)
    consents.forget_useless(tx)
    app_secrets.forget_useless(tx)


def forget_of_worker(tx: Transaction, worker_id: int) -> None:
    """Remove the tokens of a worker, the codes, and what the worker allowed."""
    tokens.forget_of_worker(tx, worker_id)
    consents.forget_of_worker(tx, worker_id)


def _answered(
    service: Service, sent: OAuthRequest, now: int, pick: Callable[[Endpoints], Callable[..., Answered]]
) -> OAuthResponse:
    pairs = _known(sent.parameters, SENT)
    _require_short(pairs)
    _require_once(pairs)
    headers = {} if sent.authorization is None else {"Authorization": sent.authorization}
    address = lockout.address(sent.client)
    # A client id is no secret: who guesses must not lock out those who call from elsewhere.
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
            payload.setdefault("error_description", TOLD.get(payload["error"], ""))
            lockout.count(tx, _guessed(endpoints, payload["error"], keys), now)
        return OAuthResponse(status, payload)

    return service.store.write(write)


def _guessed(endpoints: Endpoints, error: str, keys: list[str]) -> list[str]:
    """Under which keys an error counts as a wrong guess. A client that has shown who it is may have old tokens."""
    if error == "invalid_client":
        return keys
    app: App | None = endpoints.validator.app
    return keys[1:] if error == "invalid_grant" and (app is None or app.is_public) else []


def _allowed(asked: AuthorizationRequest, scopes: Iterable[str] | None) -> tuple[str, ...]:
    names = tuple(each.id for each in asked.scopes)
    if scopes is None:
        return names
    wanted = set(scopes)
    if not wanted or not wanted <= set(names):
        raise Invalid("allow at least one of the scopes that were asked for, and no other", field="scopes")
    return tuple(name for name in names if name in wanted)


def _known(parameters: Iterable[tuple[str, str]], names: tuple[str, ...]) -> Pairs:
    """The parameters that mean something; those without a value are as good as absent (RFC 6749, 3.1)."""
    found = ((name, _once_each(value) if name == "scope" else value) for name, value in parameters if name in names)
    return tuple((name, value) for name, value in found if value)


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
            raise Invalid(f"{name} is there more than once", field=name)


def _address(service: Service) -> str:
    """What oauthlib takes for the address of a request; it only looks for a query in it."""
    return f"{service.base_url}/oauth"


def _described(error: OAuth2Error) -> str:
    return error.description or TOLD.get(str(error.error), str(error.error))


def _refusal(service: Service, address: str, error: OAuth2Error, sent: dict[str, str]) -> str:
    told = [("error", str(error.error)), ("error_description", _described(error))]
    return _with(service, address, [*told, *([("state", sent["state"])] if "state" in sent else [])])


def _with(service: Service, address: str, pairs: Iterable[tuple[str, str]]) -> str:
    """A callback with an answer behind its own query, and who gives it (RFC 9207)."""
    more = urlencode([*pairs, ("iss", service.base_url)])
    return f"{address}{'&' if '?' in address else '?'}{more}"


SEAL: StoreLocal[bytes] = StoreLocal()
SEAL_KEY = "consent_seal"  # the row of META: one for all processes of a database, and for those that follow them


def _seal_key(service: Service) -> bytes:
    return SEAL.made(service.store, lambda: service.store.read(_kept_seal) or service.store.write(_made_seal))


def _kept_seal(tx: Transaction) -> bytes:
    row = tx.first(META, name=SEAL_KEY)
    return b"" if row is None else bytes.fromhex(row[1])


def _made_seal(tx: Transaction) -> bytes:
    kept = _kept_seal(tx)
    if kept:
        return kept
    made = secrets.token_bytes(32)
    tx.put(META, {"name": SEAL_KEY, "value": made.hex()})
    return made
