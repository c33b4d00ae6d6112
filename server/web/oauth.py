"""The endpoints that OAuth2 clients call themselves, as a site: tokens, revocation, introspection, metadata.

They read a form and an Authorization header, never a cookie. access/provider.py decides on the responses; the page at
/oauth/authorize belongs to the console. Follows RFC 6749, 7009, 7662, 8414 and 9728."""

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

from server import clock, log
from server.access import provider
from server.access.lockout import address
from server.access.provider import OAuthRequest, OAuthResponse, Pairs
from server.access.token_resources import MCP_PATH
from server.access.validator import CHALLENGE_METHODS, DEVICE_GRANT, DEVICE_PAGE, GRANT_TYPES
from server.context import Service
from server.errors import HelpdeskError, Invalid, NotFound, NotOffered, TooMany, Unavailable
from server.record_types.shared import assistant_scopes
from server.record_types.shared.scopes import BUILT_IN
from server.web import cors, envelope, error_bodies
from server.web.endpoint_call import Response
from server.web.form_data import MAX_FIELDS
from server.web.rate import RateLimiter
from server.web.site import Request, Site, content_type, unless_read

AUTHORIZE, TOKEN, TOKEN_ALIAS = "/oauth/authorize", "/oauth/access_token", "/oauth/token"
DEVICE_AUTHORIZATION = "/oauth/device_authorization"
REVOKE, INTROSPECT = "/oauth/revoke", "/oauth/introspect"
SERVER_METADATA = "/.well-known/oauth-authorization-server"
MCP_METADATA = error_bodies.RESOURCE_METADATA + MCP_PATH
BELOW = "/oauth/"  # all responses follow OAuth, also errors and unknown paths
FORM = "application/x-www-form-urlencoded"
CHALLENGE = 'Basic realm="svc"'
MAX_FORM_BYTES = 64 * 1024  # the body of a request to one of these endpoints
MAX_REQUESTS_PER_MINUTE = 600  # per address, all of these endpoints together
MAX_CLIENT_REQUESTS_PER_MINUTE = 300  # per client and address
METADATA_SECONDS = 3600  # clients may cache metadata this long


def _described(
    method: str, path: str, note: str, *parameters: tuple[str, bool, str], alias: str = ""
) -> dict[str, Any]:
    """Describes an endpoint for `helpdesk describe`. parameters: (name, whether it is required, note)."""
    return {
        "method": method,
        "path": path,
        "note": note,
        "aliases": [alias] if alias else [],
        "parameters": [
            {"name": name, "type": "string", "required": is_required, "note": description}
            for name, is_required, description in parameters
        ],
    }


_CLIENT = (
    ("client_id", False, "The id of the app. Alternatively, send id and secret in the Authorization header (Basic)."),
    ("client_secret", False, "The secret of the app. Public apps have none."),
)
DESCRIPTIONS: list[dict[str, Any]] = [
    _described(
        "GET", AUTHORIZE, "The page where a worker authorizes an app, to be opened in a browser. Accepts POST as well.",
        ("response_type", True, "Must be code."),
        ("client_id", True, "The id of the app."),
        ("redirect_uri", False, "One of the callback URLs of the app; required if it has several."),
        ("scope", False, "Scopes of the app, separated by spaces; its default scope when omitted."),
        ("state", False, "Returned to the callback URL unchanged."),
        ("code_challenge", False, "The SHA-256 of the code_verifier, in base64url; required for public apps."),
        ("code_challenge_method", False, "Must be S256."),
        ("resource", False, "The address of /rest or /mcp: the tokens are for it alone (RFC 8707)."),
        ("prompt", False, "consent: ask for consent even if the worker has authorized the app before."),
    ),
    _described(
        "POST", TOKEN, "Exchange a code, a refresh token or the credentials of an app for tokens.",
        ("grant_type", True, f"authorization_code, refresh_token, client_credentials or {DEVICE_GRANT}."),
        ("device_code", False, "For this grant: the device code that the program received."),
        ("code", False, "The code that the callback URL received; valid once, for a minute."),
        ("redirect_uri", False, "Must equal that of the authorization request; required if sent there."),
        ("code_verifier", False, "The text whose SHA-256 was sent as code_challenge."),
        ("refresh_token", False, "The latest refresh token; each can be used once."),
        ("scope", False, "Scopes, separated by spaces; with a refresh token, a subset of its scopes."),
        ("resource", False, "Must equal that of the authorization request, if sent there."),
        *_CLIENT,
        alias=TOKEN_ALIAS,
    ),
    _described(
        "POST", DEVICE_AUTHORIZATION,
        "Create codes for a program without a browser; a worker enters the user code at /oauth/device.",
        ("scope", False, "Scopes of the app, separated by spaces; its default scope when omitted."), *_CLIENT,
    ),
    _described("GET", DEVICE_PAGE, "The page where a worker enters a user code, to be opened in a browser.",
               ("user_code", False, "The code to fill in.")),
    _described(
        "POST", REVOKE, "Revoke a token; for a refresh token, all tokens of the same authorization.",
        ("token", True, "An access or refresh token of the app."), *_CLIENT,
    ),
    _described(
        "POST", INTROSPECT,
        "Check a token of the app: whether it is valid, its worker, its scopes and when it expires.",
        ("token", True, "An access or refresh token of the app."), *_CLIENT,
    ),
    _described("GET", SERVER_METADATA, "Metadata of the authorization server (RFC 8414)."),
    _described("GET", error_bodies.RESOURCE_METADATA, "Metadata of the protected resource (RFC 9728)."),
]  # fmt: skip

_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
LOG = log.get("oauth")

CALLS: dict[str, Callable[[Service, OAuthRequest, int], OAuthResponse]] = {
    TOKEN: provider.exchange,
    TOKEN_ALIAS: provider.exchange,
    REVOKE: provider.revoke,
    INTROSPECT: provider.introspect,
    DEVICE_AUTHORIZATION: provider.authorize_device,
}


class OAuthSite(Site):
    """One site for all of these paths, which `sites` lists."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.by_address = RateLimiter(MAX_REQUESTS_PER_MINUTE, "from one address", service)
        self.by_client = RateLimiter(MAX_CLIENT_REQUESTS_PER_MINUTE, "of one client", service)
        self._metadata = (self._version, metadata(service))

    @property
    def metadata(self) -> dict[str, dict[str, Any]]:
        """Returns the metadata for the current address of the service."""
        of, found = self._metadata
        if of != self._version:
            self._metadata = (self._version, found := metadata(self.service))
        return found

    @property
    def _version(self) -> tuple[str, bool]:
        """The settings that the metadata depends on."""
        return self.service.base_url, self.service.settings.mcp

    def limit(self, request: Request) -> int:
        return MAX_FORM_BYTES

    def respond(self, request: Request, steps: int | None) -> Response:
        if request.path in self.metadata:
            return unless_read(request) or self._read(request)
        preflight = cors.preflight(self.service, request)
        if preflight is not None:
            return preflight
        cors.allow_origin(self.service, request)
        call = CALLS.get(request.path)
        if call is None:
            raise NotFound(f"there is nothing at {request.path[:200]}")
        if request.method == "OPTIONS":
            return Response(status=204, headers={"Allow": "OPTIONS, POST"})
        return self._call(request, call)

    def failure(self, error: HelpdeskError) -> Response:
        status, _ = error_bodies.status_and_code(error)
        status = 400 if isinstance(error, Invalid) else status
        if isinstance(error, TooMany | Unavailable):
            code = "temporarily_unavailable"
        else:
            code = "server_error" if status >= 500 else "invalid_request"
        payload = {"error": code, "error_description": _described_plainly(error.message)}
        return _http_response(status, payload, error_bodies.headers(error, self.service.base_url))

    def _read(self, request: Request) -> Response:
        headers = {"Cache-Control": f"public, max-age={METADATA_SECONDS}", "Access-Control-Allow-Origin": "*"}
        return Response(
            headers=headers, body=json.dumps(self.metadata[request.path]).encode(), content_type=envelope.CONTENT_TYPE
        )

    def _call(self, request: Request, call: Callable[[Service, OAuthRequest, int], OAuthResponse]) -> Response:
        if request.method != "POST":
            raise NotOffered(f"{request.method[:20]} is not offered at {request.path}, but POST", allow="OPTIONS, POST")
        now = clock.now()
        self.by_address.count(address(request.client), now)
        sent = OAuthRequest(_form(request), _authorization(request), request.client)
        self.by_client.count((provider.client_id(sent), address(request.client)), now)
        reply = call(self.service, sent, now)
        error = reply.payload.get("error") if reply.payload else None
        if error:
            LOG.info("refused", path=request.path, error=error, client_id=provider.client_id(sent)[:100])
        return _http_response(reply.status, reply.payload or {})


def sites(service: Service) -> dict[str, Site]:
    """Returns the site by the beginnings of its paths."""
    if not is_safe(service.base_url):
        LOG.warning("insecure", base_url=service.base_url, advice="put https before it: tokens can be read on the way")
    site = OAuthSite(service)
    return dict.fromkeys((BELOW, *CALLS, *site.metadata, MCP_METADATA), site)


def is_safe(base_url: str) -> bool:
    """Whether data that clients send to this address is protected from eavesdropping."""
    parts = urlsplit(base_url)
    return parts.scheme == "https" or parts.hostname in ("127.0.0.1", "::1", "localhost")


def metadata(service: Service) -> dict[str, dict[str, Any]]:
    """Returns the metadata for the current address of the service."""
    base = service.base_url
    methods = ["client_secret_basic", "client_secret_post"]
    server = {
        "issuer": base,
        "authorization_endpoint": base + AUTHORIZE,
        "token_endpoint": base + TOKEN,
        "device_authorization_endpoint": base + DEVICE_AUTHORIZATION,
        "revocation_endpoint": base + REVOKE,
        "introspection_endpoint": base + INTROSPECT,
        "scopes_supported": [BUILT_IN],  # which others there are is each app's own
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": list(GRANT_TYPES),
        "code_challenge_methods_supported": list(CHALLENGE_METHODS),
        "token_endpoint_auth_methods_supported": [*methods, "none"],
        "revocation_endpoint_auth_methods_supported": [*methods, "none"],
        "introspection_endpoint_auth_methods_supported": methods,
        "authorization_response_iss_parameter_supported": True,
    }
    resource = {
        "resource": base + error_bodies.RESOURCE,
        "authorization_servers": [base],
        "bearer_methods_supported": ["header"],
        "scopes_supported": [BUILT_IN],
    }
    tools = resource | {"resource": base + MCP_PATH, "scopes_supported": list(assistant_scopes.all_scopes())}
    if service.settings.mcp:
        server["client_id_metadata_document_supported"] = True
        server["scopes_supported"] = [BUILT_IN, *assistant_scopes.all_scopes()]
    return {
        **({MCP_METADATA: tools} if service.settings.mcp else {}),
        SERVER_METADATA: server,
        error_bodies.RESOURCE_METADATA: resource,
        error_bodies.RESOURCE_METADATA + error_bodies.RESOURCE: resource,
    }


def _http_response(status: int, payload: dict[str, Any] | None, headers: dict[str, str] | None = None) -> Response:
    """Returns a response without the envelope of the API: these bodies are defined by the RFCs."""
    more = {"Pragma": "no-cache", **({"WWW-Authenticate": CHALLENGE} if status == 401 else {}), **(headers or {})}
    body = b"" if payload is None else json.dumps(payload).encode()
    return Response(status=status, headers=more, body=body, content_type=envelope.CONTENT_TYPE if body else "")


def _described_plainly(message: str) -> str:
    """A message in the characters that an error_description may have. Follows RFC 6749, section 5.2."""
    return "".join(char if " " <= char <= "~" and char not in '"\\' else "'" for char in message)


def _authorization(request: Request) -> str | None:
    headers = request.headers.get_list("Authorization")
    if len(headers) > 1:
        raise Invalid("send one Authorization header")
    return headers[0] if headers else None


def _form(request: Request) -> Pairs:
    if request.query:
        raise Invalid("send the parameters in the body: addresses are logged on their way")
    if content_type(request) != FORM:
        raise Invalid(f"send the parameters as {FORM}")
    return pairs(request.body)


def pairs(raw: bytes) -> Pairs:
    """Returns the parameters of a form or a query in their order, with repeated names. Raises Invalid for other bodies,
    invalid UTF-8, or too many fields."""
    if raw.count(b"&") >= MAX_FIELDS:
        raise Invalid(f"send at most {MAX_FIELDS} parameters")
    if _BAD_ESCAPE.search(raw):
        raise Invalid("a % must be followed by two hexadecimal digits")
    try:
        return tuple(
            (_text(name), _text(value)) for name, _, value in (each.partition(b"=") for each in raw.split(b"&")) if name
        )
    except UnicodeDecodeError:
        raise Invalid("the parameters must be UTF-8") from None


def _text(raw: bytes) -> str:
    return unquote_to_bytes(raw.replace(b"+", b" ")).decode("utf-8")
