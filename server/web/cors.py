"""Cross-origin requests: which web apps in a browser may call the API and the OAuth endpoints (Fetch, CORS protocol).

A browser app is a public OAuth app. Its origins are those of its callback addresses, so that nothing else needs to be
registered. Requests carry a token and never cookies: no response allows credentials."""

from urllib.parse import urlsplit

from server.access import actor
from server.context import Service
from server.record_types.shared import callbacks
from server.store.store_local import VersionedLocal
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.web.endpoint_call import Response
from server.web.site import Request

METHODS = "DELETE, GET, HEAD, PATCH, POST, PUT"
REQUEST_HEADERS = (
    "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, MCP-Protocol-Version, "
    "Mcp-Method, Mcp-Name, Prefer, X-Request-Id"
)
RESPONSE_HEADERS = (
    "ETag, Idempotent-Replayed, Link, Preference-Applied, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, "
    "X-Request-Id"
)
PREFLIGHT_SECONDS = 600  # browsers may cache the response to a preflight request this long
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

# Saves each request of a web app 4 microseconds with a file, and a round trip of 90 with PostgreSQL.
_ORIGINS: VersionedLocal[frozenset[str]] = VersionedLocal()


def allow_origin(service: Service, request: Request) -> None:
    """Set `request.allowed_origin` to the Origin of a request if it belongs to a public app."""
    origin = request.headers.get("Origin", "")
    if origin and not request.allowed_origin:
        origins = service.store.read(_origins)
        if origin in origins or _without_port(origin) in origins:
            request.allowed_origin = origin


def headers(request: Request) -> dict[str, str]:
    """The headers that let the browser app which sent a request read the response."""
    return {
        "Access-Control-Allow-Origin": request.allowed_origin,
        "Access-Control-Expose-Headers": RESPONSE_HEADERS,
        "Vary": "Origin",
    }


def preflight(service: Service, request: Request) -> Response | None:
    """The response to a preflight request of a browser app; None for any other request."""
    if request.method != "OPTIONS" or "Access-Control-Request-Method" not in request.headers:
        return None
    allow_origin(service, request)
    if not request.allowed_origin:
        return None
    return Response(
        status=204,
        headers={
            "Access-Control-Allow-Headers": REQUEST_HEADERS,
            "Access-Control-Allow-Methods": METHODS,
            "Access-Control-Max-Age": str(PREFLIGHT_SECONDS),
        },
    )


def _origins(tx: Transaction) -> frozenset[str]:
    """The origins of all public apps; a loopback origin without its port, which is free."""
    version = actor.version(tx)
    origins = _ORIGINS.get(tx.store, version)
    if origins is None:
        app = table_named("oauth_app")
        rows = tx.rows(lambda: app.select(app.c.callback_url).where(app.c.is_public == 1))
        addresses = [address for (text,) in rows for address in callbacks.registered(text)]
        origins = frozenset(
            _without_port(origin) or origin for each in addresses if (origin := callbacks.origin(each)).count("://")
        )
        if not tx.can_write:
            _ORIGINS.set(tx.store, version, origins)
    return origins


def _without_port(origin: str) -> str:
    """A loopback origin without its port, "" for any other origin.

    >>> _without_port("http://localhost:5173"), _without_port("https://a.example:8443")
    ('http://localhost', '')
    """
    scheme, _, host = origin.partition("://")
    name = host.rpartition(":")[0] if urlsplit(f"//{host}").netloc.rpartition(":")[2].isdecimal() else host
    return f"{scheme}://{name}" if scheme == "http" and name in LOOPBACK else ""
