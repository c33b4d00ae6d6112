"""Access tokens of other programs, by OAuth2: requested with the client's own credentials, or by a refresh token."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode

from server.digits import is_whole
from server.errors import Invalid, Unavailable
from server.outbound.client import OutboundRequest, RequestLimits, request, send
from server.outbound.request_signing import basic

SPARE_SECONDS = 30  # a token that ends sooner may expire on the way
DEFAULT_LIFE_SECONDS = 3600  # lifetime of a token if its server does not state it
MAX_TOKEN_BYTES = 64 * 1024  # bytes of a response with a token


def is_fresh(values: Mapping[str, str], now: int) -> bool:
    """Returns whether the account's access token can be used; also if its end is unknown."""
    ends = values.get("expires_at", "")
    return bool(values.get("access_token")) and (not is_whole(ends) or int(ends) > now + SPARE_SECONDS)


def fetched(values: Mapping[str, str], bounds: RequestLimits, now: int) -> dict[str, Any]:
    """Requests an access token. Returns access_token, token_type, expires_at (Unix seconds), and the refresh token if
    there is one.

    values: of service and account, from signing.check_params. Raises as `send`, and Unavailable for a response without
    a token. Follows RFC 6749, sections 4.4 and 6."""
    limits = RequestLimits(bounds.seconds, min(bounds.max_bytes, MAX_TOKEN_BYTES), bounds.permitted)
    outgoing = _token_request(values)
    response = send(outgoing, limits)
    host = outgoing.url.host
    try:
        payload = json.loads(response.body)
    except (ValueError, RecursionError):
        payload = None
    if not isinstance(payload, dict):
        raise Unavailable(f"{host} returned no access token; it responded with {response.status} and no JSON")
    token = payload.get("access_token")
    if response.status != 200 or not isinstance(token, str) or not token:
        why = " ".join(str(payload[key]) for key in ("error", "error_description") if payload.get(key))
        raise Unavailable(f"{host} returned no access token; it responded with {response.status} {why}".strip()[:300])
    life = payload.get("expires_in")
    seconds = int(life) if isinstance(life, (int, float, str)) and is_whole(str(life)) else DEFAULT_LIFE_SECONDS
    refresh = payload.get("refresh_token") or values.get("refresh_token")
    token_values = {
        "access_token": token,
        "token_type": str(payload.get("token_type") or "Bearer"),
        "expires_at": now + seconds,
    }
    return token_values | ({"refresh_token": refresh} if refresh else {})


def _token_request(values: Mapping[str, str]) -> OutboundRequest:
    form = {"grant_type": "client_credentials"}
    if values.get("refresh_token"):
        form = {"grant_type": "refresh_token", "refresh_token": values["refresh_token"]}
    if values.get("scope"):
        form["scope"] = values["scope"]
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
