"""Fetches what a provider of OAuth 2 or OpenID Connect publishes about itself.

Follows OpenID Connect Discovery 1.0, section 4, and RFC 8414."""

import base64
import ipaddress
import json
import time
from dataclasses import replace
from typing import Any

from server.errors import HelpdeskError, Invalid, TimedOut, Unavailable
from server.outbound import urls
from server.outbound.client import OutboundRequest, RequestLimits, request, send
from server.outbound.urls import HttpUrl

MAX_METADATA_BYTES = 256 * 1024  # documents of large providers have 10 KiB
OPENID, OAUTH = "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"


def fetch_metadata(issuer: str, bounds: RequestLimits) -> dict[str, Any]:
    """Returns the metadata of an issuer: from its OpenID Connect document, or else from that of RFC 8414.

    `issuer` in the metadata is the typed one, apart from a slash at its end. bounds: its seconds hold for both requests
    together. Raises Invalid for an address that is not one of an issuer or of other metadata, and as `send`."""
    base = secure_url(issuer.strip())
    if base.query:
        raise Invalid("an issuer has no query; enter the address up to the question mark", field="issuer")
    path = base.path.rstrip("/")
    ends_at = time.monotonic() + bounds.seconds
    first: HelpdeskError | None = None
    for target in (path + OPENID, OAUTH + path):
        left = ends_at - time.monotonic()
        if left <= 0:
            raise first or TimedOut(f"{base.host} did not respond in time")
        try:
            metadata = fetch_json(request(str(replace(base, target=target))), replace(bounds, seconds=left))
        except Unavailable as error:
            first = first or error
            continue
        _require_issuer(metadata, issuer.strip(), base)
        return metadata
    assert first is not None
    raise first


def fetch_json(outgoing: OutboundRequest, bounds: RequestLimits, max_bytes: int = MAX_METADATA_BYTES) -> dict[str, Any]:
    """Returns the JSON object at an address. Follows no redirects, which could lead to another provider.

    Raises Unavailable for any other response, and as `send`."""
    limits = replace(bounds, max_bytes=min(bounds.max_bytes, max_bytes))
    outgoing = replace(outgoing.with_headers({"accept": "application/json"}), follow=False)
    response = send(outgoing, limits)
    host = outgoing.url.host
    if response.status != 200:
        raise Unavailable(f"{host} responded with {response.status} to a request for {outgoing.url.path[:200]}")
    content = json_object(response.body)
    if content is None:
        raise Unavailable(f"{host} responded to a request for {outgoing.url.path[:200]} with something else than JSON")
    return content


def json_object(body: bytes) -> dict[str, Any] | None:
    """Returns the JSON object in a response, None if it is anything else."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def unverified_part(token: str, place: int, max_chars: int) -> dict[str, Any] | None:
    """Returns the header (place 0) or the claims (1) of a signed token in compact form, whose signature is not verified
    (RFC 7515, 7.1); None for anything else, or a longer text."""
    parts = token.split(".") if len(token) <= max_chars else []
    if len(parts) != 3:
        return None
    try:
        return json_object(base64.urlsafe_b64decode(parts[place] + "=" * (-len(parts[place]) % 4)))
    except ValueError:  # also binascii.Error
        return None


def secure_url(text: str, field: str = "issuer") -> HttpUrl:
    """Returns an address that secrets may be sent to: https, or http on this machine. Raises Invalid."""
    url = urls.parsed(text)
    if url.scheme != "https" and not is_loopback(url.host):
        raise Invalid(f"{url.host} must be reached by https, since secrets are sent to it; write https://", field=field)
    return url


def is_loopback(host: str) -> bool:
    """Returns whether a host of an HttpUrl is this machine.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("10.0.0.1")
    (True, True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _require_issuer(metadata: dict[str, Any], issuer: str, base: HttpUrl) -> None:
    """Follows RFC 8414, 3.3: metadata of another issuer could send codes and secrets to it."""
    named = metadata.get("issuer")
    if not isinstance(named, str) or named.rstrip("/") != issuer.rstrip("/"):
        shown = named[:200] if isinstance(named, str) else "nothing"
        raise Invalid(
            f"{base.host} names another issuer than the one you entered: {shown}; enter it exactly so if it is the "
            f"provider you mean",
            field="issuer",
        )
