"""Reads the address of the person who consented: from the ID token, or else from the endpoint about the user.

The ID token comes from the token endpoint, over TLS, so its signature proves nothing more (OpenID Connect Core,
3.1.3.7). The address names the account for people; it signs in no worker."""

from collections.abc import Mapping
from typing import Any

from server.errors import HelpdeskError, Invalid
from server.mail.addresses import valid
from server.outbound.client import RequestLimits, request
from server.outbound.oauth_discovery import fetch_json, secure_url, unverified_part
from server.translation import _

CLAIMS = ("email", "preferred_username", "upn")  # may hold an address; the best first
MAX_ID_TOKEN_CHARS = 32 * 1024
MAX_USERINFO_BYTES = 64 * 1024
MAX_EMAIL_CHARS = 254


def consented_as(values: Mapping[str, str], payload: Mapping[str, Any], nonce: str, bounds: RequestLimits) -> str:
    """Returns the address of the person who consented, "" if the provider does not say it.

    values: params of the service. payload: the response of the token endpoint. Raises Invalid for an ID token that is
    about another client or another request."""
    claims: Mapping[str, Any] = {}
    if "id_token" in payload:
        claims = _claims(payload["id_token"])
        _require_ours(claims, values, nonce)
    return _email(claims) or _email(_userinfo(values, str(payload["access_token"]), bounds))


def _claims(token: object) -> dict[str, Any]:
    claims = unverified_part(token, 1, MAX_ID_TOKEN_CHARS) if isinstance(token, str) else None
    if claims is None:
        raise Invalid(_("the provider sent an ID token that cannot be read; nothing was stored"))
    return claims


def _require_ours(claims: Mapping[str, Any], values: Mapping[str, str], nonce: str) -> None:
    audience, issuer = claims.get("aud"), values.get("issuer")
    audiences = audience if isinstance(audience, list) else [audience]
    if values["client_id"] not in audiences:
        raise Invalid(_("the provider sent an ID token for another program; nothing was stored"))
    if claims.get("nonce") != nonce:
        raise Invalid(_("the provider sent an ID token of another sign-in; nothing was stored"))
    if issuer and str(claims.get("iss", issuer)).removeprefix("https://") != issuer.removeprefix("https://"):
        raise Invalid(_("the ID token was issued by another provider; nothing was stored"))


def _userinfo(values: Mapping[str, str], token: str, bounds: RequestLimits) -> dict[str, Any]:
    """The claims of the endpoint about the user, {} without one and where it fails: they are only a name."""
    if not values.get("userinfo_url"):
        return {}
    try:
        url = secure_url(values["userinfo_url"], "userinfo_url")
        outgoing = request(str(url), headers={"authorization": f"Bearer {token}"})
        return fetch_json(outgoing, bounds, MAX_USERINFO_BYTES)
    except HelpdeskError:
        return {}


def _email(claims: Mapping[str, Any]) -> str:
    for name in CLAIMS:
        text = claims.get(name)
        if isinstance(text, str) and len(text) <= MAX_EMAIL_CHARS and valid(text):
            return text.lower()
    return ""
