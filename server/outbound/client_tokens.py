"""Access tokens of other programs, by OAuth2: requested with the client's own credentials, or by a refresh token."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode

from server.digits import is_whole
from server.errors import Invalid, Unavailable
from server.outbound.client import OutboundRequest, RequestLimits, request, send
from server.outbound.oauth_discovery import json_object
from server.outbound.request_signing import basic
from server.printable import printable

SPARE_SECONDS = 30  # a token that ends sooner may expire on the way
DEFAULT_LIFE_SECONDS = 3600  # lifetime of a token if its server does not state it
MAX_TOKEN_BYTES = 64 * 1024  # bytes of a response with a token
# Codes after which only the person who consented can help; the last three are of OpenID Connect Core, 3.1.2.6.
ENDED = frozenset(("invalid_grant", "interaction_required", "consent_required", "login_required"))


def is_fresh(values: Mapping[str, str], now: int) -> bool:
    """Returns whether the account's access token can be used; also if its end is unknown."""
    ends = values.get("expires_at", "")
    return bool(values.get("access_token")) and (not is_whole(ends) or int(ends) > now + SPARE_SECONDS)


class TokenRejected(Unavailable):
    """A token endpoint refused a request. error: its code (RFC 6749, 5.2), "" for none."""

    def __init__(self, message: str, error: str = "") -> None:
        super().__init__(message)
        self.error = error

    @property
    def is_final(self) -> bool:
        """Whether no further attempt can succeed: the grant has expired or was revoked, or a person must sign in
        again."""
        return self.error in ENDED


def fetched(values: Mapping[str, str], bounds: RequestLimits, now: int) -> dict[str, Any]:
    """Requests an access token. Returns access_token, token_type, expires_at (Unix seconds), and the refresh token if
    there is one.

    values: of service and account, from signing.check_params. Raises as `send`, and Unavailable for a response without
    a token. Follows RFC 6749, sections 4.4 and 6."""
    form = {"grant_type": "client_credentials"}
    if values.get("refresh_token"):
        form = {"grant_type": "refresh_token", "refresh_token": values["refresh_token"]}
    if values.get("scope"):
        form["scope"] = values["scope"]
    return token_values(token_response(values, form, bounds), values, now)


def token_response(values: Mapping[str, str], form: Mapping[str, str], bounds: RequestLimits) -> dict[str, Any]:
    """Returns the response of a token endpoint, with an access token.

    values: as in `fetched`. form: of the grant, without the client. Raises as `fetched`; TokenRejected with the code of
    the endpoint."""
    limits = RequestLimits(bounds.seconds, min(bounds.max_bytes, MAX_TOKEN_BYTES), bounds.permitted)
    outgoing = token_request(values, dict(form))
    response = send(outgoing, limits)
    host = outgoing.url.host
    payload = json_object(response.body)
    if payload is None:
        raise Unavailable(f"{host} returned no access token; it responded with {response.status} and no JSON")
    token = payload.get("access_token")
    if response.status != 200 or not isinstance(token, str) or not token:
        why = " ".join(str(payload[key]) for key in ("error", "error_description") if payload.get(key))
        raise TokenRejected(
            f"{host} returned no access token; it responded with {response.status} {printable(why)}".strip()[:300],
            str(payload.get("error") or ""),
        )
    return payload


def token_values(payload: Mapping[str, Any], values: Mapping[str, str], now: int) -> dict[str, Any]:
    """Returns what is stored of a response with a token, as `fetched` does."""
    life = payload.get("expires_in")
    seconds = int(life) if isinstance(life, (int, float, str)) and is_whole(str(life)) else DEFAULT_LIFE_SECONDS
    refresh = payload.get("refresh_token") or values.get("refresh_token")
    stored = {
        "access_token": payload["access_token"],
        "token_type": str(payload.get("token_type") or "Bearer"),
        "expires_at": now + seconds,
    }
    return stored | ({"refresh_token": str(refresh)} if refresh else {})


def token_request(values: Mapping[str, str], form: dict[str, str]) -> OutboundRequest:
    """Returns the request to a token endpoint, with the client's own credentials (RFC 6749, 2.3.1). values: token_url,
    client_id, client_secret, client_authentication. Raises Invalid for an unknown client_authentication."""
    headers = {"accept": "application/json", "content-type": "application/x-www-form-urlencoded"}
    client, secret = values["client_id"], values.get("client_secret", "")
    where = values.get("client_authentication") or ("basic" if secret else "body")
    if where == "basic":
        headers["authorization"] = basic(quote(client, ""), quote(secret, ""))
    elif where == "body":
        form |= {"client_id": client} | ({"client_secret": secret} if secret else {})
    else:
        raise Invalid(f"client_authentication is '{where[:30]}'; it must be basic or body", field="params")
    outgoing = request(values["token_url"], "POST", headers, urlencode(form).encode())
    # A redirect would forward the secret.
    return replace(outgoing, follow=False)
