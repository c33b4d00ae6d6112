"""Authentication with other programs: what each scheme adds to a request.

A scheme reads two maps, one of the service (the other program), one of the account there. KINDS lists their keys.
Fetching and storing tokens is done elsewhere (client_tokens.py, connections/connected_accounts.py)."""

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from urllib.parse import quote

from server.dataclass import dataclass
from server.errors import Invalid, Rejected, Required, nearest
from server.outbound import aws, oauth_providers, urls
from server.outbound.client import OutboundRequest

Values = Mapping[str, str]
Sign = Callable[[OutboundRequest, Values, int], OutboundRequest]

PREFIX = "svc.service.provider."
BEARER, BASIC, API_KEY, AWS, OAUTH2 = (
    PREFIX + name for name in ("token.bearer", "http.basic", "api_key", "aws", "oauth2")
)
_NO_LETTERS = re.compile(r"[\x00-\x20\x7f]")


@dataclass(frozen=True)
class AuthScheme:
    """An authentication scheme. service, account: the keys of their maps. required: keys that must be present. sign:
    adds the authentication to a request; called with both maps merged, and Unix seconds."""

    service: tuple[str, ...]
    account: tuple[str, ...]
    required: tuple[str, ...]
    sign: Sign


def _bearer(request: OutboundRequest, values: Values, now: int) -> OutboundRequest:
    return request.with_headers(
        {
            "authorization": f"{_word(values, 'token_type', 'Bearer')} {_word(values, 'token')}",
        }
    )


def _basic(request: OutboundRequest, values: Values, now: int) -> OutboundRequest:
    if ":" in values["username"]:
        raise Invalid("the username of the account must have no colon", field="params")
    return request.with_headers({"authorization": basic(values["username"], values.get("password", ""))})


def _api_key(request: OutboundRequest, values: Values, now: int) -> OutboundRequest:
    name, where = values.get("name") or "x-api-key", values.get("location") or "header"
    if where == "query":
        return replace(request, url=request.url.with_query(f"{quote(name)}={quote(values['api_key'], '')}"))
    if where != "header":
        raise Invalid(f"the location of the service is '{where[:30]}'; it must be header or query", field="params")
    return request.with_headers({name: _word(values, "api_key")})


def _oauth2(request: OutboundRequest, values: Values, now: int) -> OutboundRequest:
    scheme = _word(values, "token_type", "Bearer")
    scheme = "Bearer" if scheme.lower() == "bearer" else scheme  # some servers compare it with case significant
    return request.with_headers({"authorization": f"{scheme} {_word(values, 'access_token')}"})


KINDS: dict[str, AuthScheme] = {
    API_KEY: AuthScheme(("location", "name"), ("api_key",), ("api_key",), _api_key),
    AWS: AuthScheme(
        ("region", "service"),
        ("access_key_id", "secret_access_key", "session_token"),
        ("access_key_id", "secret_access_key"),
        aws.sign,
    ),
    BASIC: AuthScheme((), ("username", "password"), ("username",), _basic),
    BEARER: AuthScheme(("token_type",), ("token",), ("token",), _bearer),
    OAUTH2: AuthScheme(
        (
            "token_url",
            "client_id",
            "client_secret",
            "client_authentication",
            "scope",
            "provider",
            "tenant",
            "issuer",
            "authorization_url",
            "userinfo_url",
            "requires_iss",
            "client_secret_expires",
        ),
        ("access_token", "refresh_token", "expires_at", "token_type", "scope"),
        ("token_url", "client_id"),
        _oauth2,
    ),
}


def check_params(kind: str, service: Mapping[str, object], account: Mapping[str, object]) -> dict[str, str]:
    """Returns both maps merged, with values as texts. `base_url`, of the service, limits the use of the account.

    Raises Invalid for a kind that cannot sign requests or for an unknown key, Required for a missing one."""
    declared = KINDS.get(kind)
    if declared is None:
        raise Invalid(
            f"accounts of the kind {kind.removeprefix(PREFIX)} sign no requests; those of "
            f"{', '.join(sorted(name.removeprefix(PREFIX) for name in KINDS))} do",
            field="authentication",
        )
    params = service_params(kind, service) | _read("account", account, declared.account)
    for name in declared.required:
        if not params.get(name):
            holder = "account" if name in declared.account else "service"
            raise Required(f"the params of the connected {holder} have no '{name}'; set it there", field="params")
    return params


def service_params(kind: str, service: Mapping[str, object]) -> dict[str, str]:
    """Returns the map of a service with values as texts, and with the defaults of its provider. kind: one of KINDS.

    Raises Invalid for an unknown key."""
    params = _read("service", service, ("base_url", *KINDS[kind].service))
    return oauth_providers.with_defaults(params) if kind == OAUTH2 else params


def signer(kind: str, values: Values, now: int) -> Callable[[OutboundRequest], OutboundRequest]:
    """Returns a function that signs requests. values: from check_params. now: Unix seconds.

    The function raises Rejected for a request outside the `base_url` of the service."""
    base = urls.parsed(values["base_url"]) if values.get("base_url") else None

    def sign(request: OutboundRequest) -> OutboundRequest:
        if base is not None and not request.url.is_below(base):
            raise Rejected(
                f"this account is for {base} only, not for {request.url.authority}{request.url.path}"[:300], field="url"
            )
        return KINDS[kind].sign(request, values, now)

    return sign


def basic(username: str, password: str) -> str:
    """Returns the Authorization header for a name and a password. Follows RFC 7617."""
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


def _read(holder: str, sent: Mapping[str, object], allowed: tuple[str, ...]) -> dict[str, str]:
    params = {}
    for name, value in sent.items():
        if name not in allowed:
            raise Invalid(
                f"the params of the connected {holder} have an unknown key '{name[:50]}'{nearest(name, allowed)}",
                field="params",
            )
        if isinstance(value, (dict, list, bool)):
            raise Invalid(f"the params of the connected {holder}: '{name}' must be a text", field="params")
        params[name] = "" if value is None else str(value)
    return params


def _word(values: Values, name: str, otherwise: str = "") -> str:
    """Returns a value for a header, which must be one word. The error must not show it."""
    word = values.get(name) or otherwise
    if _NO_LETTERS.search(word):
        raise Invalid(f"'{name}' of the connected account has a blank, line break or control character", field="params")
    return word
