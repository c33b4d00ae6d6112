"""Validates apps, codes and tokens for oauthlib, by the rows of one transaction.

oauthlib owns the protocol: which parameters belong together, which error comes first. This module knows the data, and
is stricter in some places: S256 only, one method of authentication at a time, and detection of the second use of codes
and tokens."""

import base64
import binascii
import json
import re
import secrets
from functools import lru_cache
from typing import Any
from urllib.parse import unquote_plus, urlsplit

from oauthlib.common import Request
from oauthlib.oauth2 import (
    AuthorizationCodeGrant,
    BearerToken,
    ClientCredentialsGrant,
    IntrospectEndpoint,
    InvalidGrantError,
    InvalidRequestError,
    RefreshTokenGrant,
    RequestValidator,
    RevocationEndpoint,
    TemporarilyUnavailableError,
    UnauthorizedClientError,
    UnsupportedGrantTypeError,
    UnsupportedResponseTypeError,
)
from oauthlib.oauth2.rfc6749.endpoints import AuthorizationEndpoint, TokenEndpoint
from oauthlib.oauth2.rfc6749.endpoints.base import catch_errors_and_unavailability
from oauthlib.oauth2.rfc6749.errors import CustomOAuth2Error
from oauthlib.oauth2.rfc6749.grant_types.authorization_code import code_challenge_method_s256
from oauthlib.oauth2.rfc6749.utils import scope_to_list
from oauthlib.oauth2.rfc8628.grant_types import DeviceCodeGrant

from server.access import actor, app_secrets, codes, device_codes, families, token_resources, tokens
from server.access.codes import Code
from server.access.device_codes import DeviceCode
from server.access.families import Lifetimes, Renewal
from server.access.tokens import StoredToken
from server.context import Service
from server.dataclass import dataclass
from server.record_types.shared import assistant_scopes, callbacks
from server.record_types.shared.scopes import BUILT_IN, Scope
from server.record_types.shared.secrets import digest
from server.store.transaction import Row, Transaction

DEVICE_PAGE = "/oauth/device"  # where a worker enters the code
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
GRANT_TYPES = ("authorization_code", "client_credentials", "refresh_token", DEVICE_GRANT)
OFFERED = f"authorization_code, client_credentials, refresh_token and {DEVICE_GRANT}"
CHALLENGE_METHODS = ("S256",)
DEVICE_STATES: Any = DeviceCodeGrant  # the stubs lack the names of its states
MAX_CLIENT_ID_CHARS = 255

_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}\Z")
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}\Z")
_scopes = lru_cache(maxsize=256)(
    assistant_scopes.offered
)  # YAML takes milliseconds, and the exchange of a token blocks the writer


@dataclass(frozen=True, slots=True)
class App:
    """An OAuth app as the protocol sees it.

    secrets: hashes of the valid ones, the current one first. service_worker_id: 0 without client credentials.
    document_host: of an app that is known by its metadata document, "" for a registered one."""

    id: int
    client_id: str
    name: str
    url: str
    callbacks: tuple[str, ...]
    scopes: dict[str, Scope]
    secrets: tuple[str, ...]
    is_public: bool
    is_pkce_required: bool
    service_worker_id: int
    is_device_flow: bool
    document_host: str = ""


def app_of(tx: Transaction, service: Service, client_id: str, now: int) -> App | None:
    """Returns the app with exactly this client id, with the secrets that are valid at an instant."""
    if not client_id or len(client_id) > MAX_CLIENT_ID_CHARS:
        return None
    row = tx.first(service.registry.type("oauth_app").table, client_id=client_id)
    app = _app_of_row(service, row, now)
    if app is not None and app.document_host and not service.settings.mcp:
        return None
    return app if app is not None and app.client_id == client_id else None  # the column ignores case


def app_with_id(tx: Transaction, service: Service, id: int, now: int) -> App | None:
    """Returns the app with this record id."""
    return _app_of_row(service, tx.get(service.registry.type("oauth_app").table, id), now)


def _app_of_row(service: Service, row: Row | None, now: int) -> App | None:
    if row is None:
        return None
    values = dict(zip(service.registry.type("oauth_app").table.names, row, strict=True))
    is_public = bool(values["is_public"])
    return App(
        values["id"],
        values["client_id"],
        values["name"],
        values["url"],
        callbacks.registered(values["callback_url"]),
        _scopes(values["scopes"]),
        app_secrets.good(values, now),
        is_public,
        is_public or bool(values["is_pkce_required"]),
        values["service_worker_id"],
        bool(values["is_device_flow"]),
        urlsplit(values["client_id"]).netloc if values["document_until"] else "",
    )


class Endpoints(AuthorizationEndpoint, TokenEndpoint, RevocationEndpoint, IntrospectEndpoint):
    """The four endpoints of oauthlib within one transaction."""

    def __init__(self, tx: Transaction, service: Service, now: int) -> None:
        self.validator = validator = Validator(tx, service, now)
        code = CodeGrant(
            validator,
            pre_auth=[validator.require_code_and_challenge],
            post_token=[validator.refuse_unasked_verifier, validator.require_same_resource],
        )
        refresh = RefreshTokenGrant(validator, post_token=[validator.require_scopes, validator.require_same_resource])
        self.device_grant = DeviceCodeGrant(validator)
        bearer = BearerToken(
            validator,
            lambda request: validator.text("access"),
            lambda request: validator.expires_in(),
            lambda request: validator.text("refresh"),
        )
        # The stubs of oauthlib are narrower than the types that it accepts.
        AuthorizationEndpoint.__init__(self, "code", bearer, {"code": code})  # type: ignore[arg-type]
        grants = {
            "authorization_code": code,
            "client_credentials": ClientCredentialsGrant(validator),
            "refresh_token": refresh,
            DEVICE_GRANT: self.device_grant,
            "": NoGrant(validator),
        }
        TokenEndpoint.__init__(self, "", bearer, grants)  # type: ignore[arg-type]
        RevocationEndpoint.__init__(self, validator)
        IntrospectEndpoint.__init__(self, validator)

    @catch_errors_and_unavailability
    def create_device_authorization_response(
        self, uri: str, http_method: str, body: Any, headers: dict[str, str], client: str
    ) -> tuple[dict[str, str], str, int]:
        """Returns headers, body and status with a new pair of codes. client: the address of the caller."""
        request = Request(uri, "POST", body, headers)
        request.scopes = scope_to_list(request.scope)
        self.device_grant.validate_client_authentication(request)
        if not self.validator.validate_grant_type(str(request.client_id), DEVICE_GRANT, request.client, request):
            raise UnauthorizedClientError(request=request)
        self.device_grant.validate_scopes(request)
        return {}, json.dumps(self.validator.new_device_code(tuple(request.scopes or ()), client)), 200


class CodeGrant(AuthorizationCodeGrant):
    """Grants codes of 256 bits, with responses in the query and only S256 challenges."""

    _code_challenge_methods = {"S256": code_challenge_method_s256}

    def create_authorization_code(self, request: Request) -> dict[str, str]:
        """Returns {code, state}, the state unchanged."""
        return {"code": codes.text(), **({"state": request.state} if request.state else {})}


class NoGrant(RefreshTokenGrant):
    """Rejects grant types that are not supported."""

    def validate_token_request(self, request: Request) -> None:
        """Raises InvalidRequestError if the grant type is missing, else UnsupportedGrantTypeError."""
        if not request.grant_type:
            raise InvalidRequestError(f"Name a grant_type: {OFFERED}.")
        raise UnsupportedGrantTypeError(f"The service supports {OFFERED}.")


class Validator(RequestValidator):
    """Validates one request; stores the app, code and renewal that it has read."""

    def __init__(self, tx: Transaction, service: Service, now: int) -> None:
        super().__init__()
        settings = service.settings
        self.tx = tx
        self.service = service
        self.now = now
        self.lifetimes = Lifetimes(settings.oauth_access_seconds, settings.oauth_refresh_days * 86400)
        self.code: Code | None = None
        self.device_code: DeviceCode | None = None
        self.renewal: Renewal | None = None
        self.app: App | None = None  # the app of the login, or the authenticated client
        self.answer: dict[str, str] | None = None  # code and state of an allowed login

    # -- the login: the app, its scopes and its callback

    def validate_client_id(self, client_id: str, request: Request, *args: Any, **more: Any) -> bool:
        self.app = request.client = self._app(client_id)
        return self.app is not None

    def validate_redirect_uri(
        self, client_id: str, redirect_uri: str, request: Request, *args: Any, **more: Any
    ) -> bool:
        return callbacks.match(self._present.callbacks, redirect_uri)

    def get_default_redirect_uri(self, client_id: str, request: Request, *args: Any, **more: Any) -> str:
        """Returns the callback of the code during the exchange; before it the only callback of the app, "" if there are
        several."""
        if self.code is not None:
            return self.code.callback
        addresses = self._present.callbacks
        return addresses[0] if len(addresses) == 1 else ""

    def validate_response_type(
        self, client_id: str, response_type: str, client: Any, request: Request, *args: Any, **more: Any
    ) -> bool:
        return response_type == "code"

    def is_pkce_required(self, client_id: str, request: Request) -> bool:
        return self._present.is_pkce_required

    def get_default_scopes(self, client_id: str, request: Request, *args: Any, **more: Any) -> list[str]:
        """Returns `api`, or the only scope of the app; the first scopes of assistants for an app with no others.
        Otherwise the app must name its scopes (RFC 6749, 3.3)."""
        names = [each for each in self._present.scopes if each not in assistant_scopes.all_scopes()]
        if not names:
            return [each for each in assistant_scopes.DEFAULT if each in self._present.scopes]
        return [BUILT_IN] if BUILT_IN in names else names if len(names) == 1 else []

    def validate_scopes(
        self, client_id: str, scopes: list[str] | None, client: Any, request: Request, *args: Any, **more: Any
    ) -> bool:
        return bool(scopes) and all(each in client.scopes for each in scopes or ())

    def save_authorization_code(self, client_id: str, code: Any, request: Request, *args: Any, **more: Any) -> None:
        new_code = Code(
            self._present.id,
            int(str(request.user)),
            tuple(request.scopes or ()),
            str(request.redirect_uri),
            not request.using_default_redirect_uri,
            request.code_challenge or "",
            families.new(),
            resource=self._resource(request),
        )
        codes.add(self.tx, code["code"], new_code, self.now)
        self.answer = code

    def require_code_and_challenge(self, request: Request) -> dict[str, Any]:
        """Runs before oauthlib's checks, which accept every response type with `code` in it. Raises errors for the
        callback."""
        mode, challenge, method = request.response_mode, request.code_challenge, request.code_challenge_method
        request.response_mode = "query"  # the mode of responses and errors
        if request.response_type not in (None, "code"):
            raise UnsupportedResponseTypeError("The only supported response_type is code.", request=request)
        if mode not in (None, "query"):
            raise InvalidRequestError("The only supported response_mode is query.", request=request)
        if challenge is None and method is not None:
            raise InvalidRequestError("Send a code_challenge with the code_challenge_method.", request=request)
        if challenge is not None and method not in CHALLENGE_METHODS:
            raise InvalidRequestError("The code_challenge_method must be S256.", request=request)
        if challenge is not None and not _CHALLENGE.match(challenge):
            raise InvalidRequestError("A code_challenge of S256 has 43 characters of base64url.", request=request)
        self._resource(request)
        return {}

    # -- authentication of the client

    def client_authentication_required(self, request: Request, *args: Any, **more: Any) -> bool:
        """Returns False only for a public app that sends nothing but its client id."""
        if "Authorization" in request.headers or request.client_secret:
            return True
        app = self._app(request.client_id or "")
        return app is None or not app.is_public

    def authenticate_client_id(self, client_id: str, request: Request, *args: Any, **more: Any) -> bool:
        app = self._app(client_id)
        self.app = request.client = app if app is not None and app.is_public else None
        return self.app is not None

    def authenticate_client(self, request: Request, *args: Any, **more: Any) -> bool:
        """Authenticates by Basic or by the body. Raises InvalidRequestError for both at once, or for two client ids."""
        client_id, secret = request.client_id or "", request.client_secret or ""
        header = request.headers.get("Authorization")
        if header is not None:
            if secret:
                raise InvalidRequestError("Send client id and secret in the header or in the body, not in both.")
            header_id, secret = basic(header)
            if client_id and header_id and header_id != client_id:
                raise InvalidRequestError("The client_id in the body differs from the one in the header.")
            client_id = header_id
        app = self._app(client_id)
        hashes = app.secrets if app is not None else ()
        hashed = digest(secret)
        if not _is_one_of(hashed, hashes) or not secret or app is None:
            return False
        app_secrets.record_use(self.tx, app.id, hashed, self.now)
        self.app = request.client = app
        request.client_id = client_id
        return True

    def validate_grant_type(
        self, client_id: str, grant_type: str, client: Any, request: Request, *args: Any, **more: Any
    ) -> bool:
        """Allows client credentials for apps whose service worker can sign in (RFC 6749, 4.4), and device codes for
        apps that enable them."""
        self._resource(request)  # a wrong resource must not use up the code or the refresh token
        if grant_type == DEVICE_GRANT:
            return bool(client.is_device_flow)
        if grant_type != "client_credentials":
            return grant_type in GRANT_TYPES
        request.user = self._present.service_worker_id
        return not client.is_public and actor.worker(self.tx, request.user) is not None

    # -- the exchange of a code

    def validate_code(self, client_id: str, code: str, client: Any, request: Request, *args: Any, **more: Any) -> bool:
        """Returns whether a code is valid. A second use revokes the tokens of the first one."""
        stored = codes.find_code(self.tx, code)
        if stored is None or stored.app_id != client.id:
            return False
        if stored.used_at:
            families.end(self.tx, stored.family, self.now)
            return False
        if stored.expires_at <= self.now or actor.worker(self.tx, stored.worker_id) is None:
            return False
        # Scopes that the app no longer defines are dropped, as for tokens.
        request.scopes = [each for each in stored.scopes if each in client.scopes]
        request.user = stored.worker_id
        self.code = stored
        return bool(request.scopes)

    def get_code_challenge(self, code: str, request: Request) -> str | None:  # type: ignore[override]
        return (self.code.challenge or None) if self.code else None

    def get_code_challenge_method(self, code: str, request: Request) -> str:
        return CHALLENGE_METHODS[0]

    def confirm_redirect_uri(
        self, client_id: str, code: str, redirect_uri: str, client: Any, request: Request, *args: Any, **more: Any
    ) -> bool:
        """Raises InvalidGrantError if the callback is not the one of the login, or is missing although the login named
        one."""
        assert self.code is not None
        is_missing = self.code.is_callback_sent and request.using_default_redirect_uri
        if is_missing or redirect_uri != self.code.callback:
            raise InvalidGrantError("Repeat the redirect_uri of the authorization request.")
        return True

    def refuse_unasked_verifier(self, request: Request) -> None:
        """Rejects a verifier without a challenge: an attacker removed the challenge from the authorization request."""
        verifier = request.code_verifier
        if verifier is not None and not (self.code and self.code.challenge):
            raise InvalidGrantError("The authorization request had no code_challenge.")
        if verifier is not None and not _VERIFIER.match(verifier):
            raise InvalidGrantError("A code_verifier has 43 to 128 letters, digits and - . _ ~.")

    def invalidate_authorization_code(
        self, client_id: str, code: str, request: Request, *args: Any, **more: Any
    ) -> None:
        assert self.code is not None
        codes.use(self.tx, self.code, self.now)

    # -- device codes

    def new_device_code(self, scopes: tuple[str, ...], client: str) -> dict[str, Any]:
        """Stores a new pair of codes; returns the response of RFC 8628, 3.2."""
        app = self._present
        if device_codes.count_open(self.tx, app.id, self.now) >= device_codes.MAX_OPEN_DEVICE_CODES:
            raise TemporarilyUnavailableError("The app has too many open device codes; try again in a few minutes.")
        device_code, user_code = device_codes.new_device_code(), device_codes.new_user_code()
        device_codes.add(self.tx, device_code, user_code, app.id, scopes, families.new(), client, self.now)
        page = self.service.base_url + DEVICE_PAGE
        return {
            "device_code": device_code,
            "user_code": user_code,
            "verification_uri": page,
            "verification_uri_complete": f"{page}?user_code={user_code}",
            "expires_in": device_codes.DEVICE_CODE_SECONDS,
            "interval": device_codes.INTERVAL_SECONDS,
        }

    def validate_device_code(
        self, client_id: str, device_code: str, request: Request, *args: Any, **more: Any
    ) -> str | None:
        """Returns a state of oauthlib's DeviceCodeGrant; None for an unknown or used code."""
        code = device_codes.by_device_code(self.tx, device_code)
        if code is None or code.app_id != self._present.id or code.state == device_codes.USED:
            return None
        if code.expires_at <= self.now:
            return DEVICE_STATES.DEVICE_CODE_EXPIRED
        if code.state == device_codes.DENIED:
            return DEVICE_STATES.DEVICE_CODE_DENIED
        if not device_codes.poll(self.tx, code, self.now):
            return DEVICE_STATES.DEVICE_CODE_SLOW_DOWN
        if code.state == device_codes.PENDING:
            return DEVICE_STATES.DEVICE_CODE_PENDING
        scopes = [each for each in code.scopes if each in self._present.scopes]
        if not scopes or actor.worker(self.tx, code.worker_id) is None:
            return None
        request.scopes, request.user, self.device_code = scopes, code.worker_id, code
        return DEVICE_STATES.DEVICE_CODE_AUTHORIZED

    # -- the exchange of a refresh token

    def validate_refresh_token(
        self, refresh_token: str, client: Any, request: Request, *args: Any, **more: Any
    ) -> bool:
        self.renewal = families.find_renewal(self.tx, refresh_token, client.id, self.now)
        return self.renewal is not None

    def get_original_scopes(self, refresh_token: str, request: Request, *args: Any, **more: Any) -> list[str]:
        granted = self.renewal.old.scopes if self.renewal else ()
        return [each for each in granted if each in self._present.scopes]

    def require_scopes(self, request: Request) -> None:
        """Raises InvalidGrantError if a retry requests other scopes than the first time, or if the app defines none of
        them any more."""
        if not request.scopes:
            raise InvalidGrantError("The app no longer defines the scopes that the worker allowed.")
        after = self.renewal.after if self.renewal else None
        if after is not None and set(request.scopes or ()) != set(after.scopes):
            raise InvalidGrantError("The refresh token was already used.")

    def rotate_refresh_token(self, request: Request) -> bool:
        return True

    # -- the resource that a token is for (RFC 8707)

    def require_same_resource(self, request: Request) -> None:
        """Raises invalid_target if the exchange names another resource than the login."""
        resource = self._resource(request)
        bound = self.code.resource if self.code else self.renewal.old.resource if self.renewal else ""
        if resource and bound and resource != bound:
            raise _invalid_target(request, "The login was for another resource.")
        after = self.renewal.after if self.renewal else None
        if after is not None and resource and resource != after.resource:
            raise InvalidGrantError("The refresh token was already used.")

    def _resource(self, request: Request) -> str:
        """Returns the name of the requested resource, "" without one. Raises invalid_target for an unknown one."""
        address = getattr(request, "resource", None)
        if not address:
            return ""
        name = token_resources.name_of(address, self.service.base_url)
        if not name or (name == token_resources.MCP and not self.service.settings.mcp):
            raise _invalid_target(request, "The service has no such resource.")
        return name

    # -- new tokens

    def text(self, kind: str) -> str:
        """Returns the text of the next token; a retry gets the same text."""
        if self.renewal is None:
            return tokens.new_text(kind)
        return self.renewal.access_token if kind == "access" else self.renewal.refresh_token

    def expires_in(self) -> int:
        """Returns the lifetime of the access token from now, in seconds."""
        if self.renewal is None:
            return self.lifetimes.access
        if self.renewal.after is not None:
            return self.renewal.after.expires_at - self.now
        return families.access_end(self.renewal, self.lifetimes, self.now) - self.now

    def save_bearer_token(self, token: Any, request: Request, *args: Any, **more: Any) -> None:
        scopes = tuple(request.scopes or ())
        if self.code is not None:
            families.begin(
                self.tx,
                self.code.family,
                self.code.app_id,
                self.code.worker_id,
                scopes,
                self.lifetimes,
                self.now,
                token["access_token"],
                token["refresh_token"],
                self.code.resource or self._resource(request),
            )
        elif self.renewal is not None and self.renewal.after is None:
            families.renew(self.tx, self.renewal, scopes, self.lifetimes, self.now, self._resource(request))
        elif self.device_code is not None:
            code = self.device_code
            device_codes.decide(self.tx, code, code.worker_id, device_codes.USED)
            families.begin(
                self.tx,
                code.family,
                code.app_id,
                code.worker_id,
                scopes,
                self.lifetimes,
                self.now,
                token["access_token"],
                token["refresh_token"],
                self._resource(request),
            )
        elif request.grant_type == "client_credentials":
            tokens.issue(
                self.tx,
                self._present.id,
                int(str(request.user)),
                scopes,
                self.now + self.lifetimes.access,
                self.now,
                "client credentials",
                family=families.of_service_worker(self._present.id),
                text=token["access_token"],
                resource=self._resource(request),
            )

    # -- existing tokens

    def revoke_token(self, token: str, token_type_hint: str, request: Request, *args: Any, **more: Any) -> None:
        stored = self._own(token)
        if stored is not None:
            families.revoke(self.tx, stored, self.now)

    def introspect_token(
        self, token: str, token_type_hint: str, request: Request, *args: Any, **more: Any
    ) -> dict[str, Any] | None:
        stored = self._own(token)
        worker = actor.worker(self.tx, stored.worker_id) if stored else None
        if stored is None or worker is None or stored.revoked_at or stored.expires_at <= self.now:
            return None
        scopes = [each for each in stored.scopes if each in self._present.scopes]
        return {
            "scope": " ".join(scopes),
            "client_id": self._present.client_id,
            "sub": str(stored.worker_id),
            "iat": stored.created_at,
            "exp": stored.expires_at,
            "iss": self.service.base_url,
            **({"aud": token_resources.address_of(stored.resource, self.service.base_url)} if stored.resource else {}),
            **({"token_type": "Bearer"} if stored.kind == "access" else {}),
        }

    def _app(self, client_id: str) -> App | None:
        return app_of(self.tx, self.service, client_id, self.now)

    def _own(self, token: str) -> StoredToken | None:
        """Returns a token of the calling app; tokens of other apps are unknown to it."""
        stored = tokens.find_token(self.tx, token)
        return stored if stored is not None and stored.app_id == self._present.id else None

    @property
    def _present(self) -> App:
        """The app, after oauthlib has ensured that there is one."""
        assert self.app is not None
        return self.app


def _invalid_target(request: Request, description: str) -> CustomOAuth2Error:
    """Returns the error of RFC 8707, section 2."""
    return CustomOAuth2Error("invalid_target", description=description, request=request)


def basic(header: str) -> tuple[str, str]:
    """Returns client id and secret of an Authorization header, form-decoded; empty if it is not Basic."""
    scheme, _, value = header.strip().partition(" ")
    if scheme.lower() != "basic":
        return "", ""
    try:
        decoded = base64.b64decode(value.strip(), validate=True).decode("utf-8")
        name, _, secret = decoded.partition(":")
        return unquote_plus(name, errors="strict"), unquote_plus(secret, errors="strict")
    except (binascii.Error, UnicodeDecodeError):
        return "", ""


def _is_one_of(hashed: str, hashes: tuple[str, ...]) -> bool:
    """Returns whether the hash is among the given ones, in a time that does not depend on which one it is."""
    is_equal = False
    for each in hashes or ("",):
        is_equal |= secrets.compare_digest(hashed, each)
    return is_equal
