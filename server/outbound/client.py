"""Sends one request to another program, follows its redirects and reads the response.

Requests share no connections or cookies, and use neither passwords of users nor proxies of this machine."""

import contextlib
import http.client
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace

from server.dataclass import dataclass
from server.digits import whole_in
from server.errors import Invalid, Unavailable
from server.outbound import unpack, urls
from server.outbound.allowlist import Allowlist, allowed
from server.outbound.connection import Cancellation, Deadline, Resolver, connect, reason
from server.outbound.urls import HttpUrl
from server.settings import VERSION, Settings, defaults_by_name

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
MAX_SECONDS = 60  # maximum timeout that a request may set
MAX_REDIRECTS = 3
LONGEST_RETRY_SECONDS = 10**9  # a longer Retry-After is ignored
MAX_HEADERS = 100  # per request
MAX_HEADER_BYTES = 16 * 1024  # all headers together, per request
REDIRECTS = frozenset((301, 302, 303, 307, 308))

# Headers of the transport, which callers must not set.
REFUSED_HEADERS = frozenset(
    """
    connection content-length expect host keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer
    transfer-encoding upgrade
""".split()
)
# Headers that follow a redirect to another origin. Any other header may contain a secret.
_HARMLESS_HEADERS = frozenset(("accept", "accept-encoding", "accept-language", "content-type", "user-agent"))
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_UNSEEN = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True)
class OutboundRequest:
    """A request. headers: (lower-case name, value), in order. seconds: its timeout including redirects, 0 for the limit
    of the caller. verify: whether the certificate must be valid. is_cut: a response above the limit is cut off there
    instead of refused. sign: adds the authentication, a Signer or any function; it is not called after a redirect to
    another origin. cancellation: ends the request early."""

    url: HttpUrl
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    seconds: float = 0.0
    verify: bool = True
    follow: bool = True
    is_cut: bool = False
    sign: "Callable[[OutboundRequest], OutboundRequest] | None" = None
    cancellation: Cancellation | None = None

    def header(self, name: str) -> str:
        """Returns the first value of a header, "" if it is missing. name: in lower case."""
        return next((value for key, value in self.headers if key == name), "")

    def with_headers(self, values: Mapping[str, str]) -> "OutboundRequest":
        """Returns a copy with these headers set. Raises Invalid for characters that cannot be sent."""
        new = tuple(_checked(tuple(values.items())))
        others = (pair for pair in self.headers if pair[0] not in dict(new))
        return replace(self, headers=(*others, *new))


@dataclass(frozen=True)
class Signer:
    """Signs requests. renewed: called with the remaining seconds when the authentication is rejected; returns a new
    signer."""

    sign: Callable[[OutboundRequest], OutboundRequest]
    renewed: "Callable[[float], Signer] | None" = None

    def __call__(self, outgoing: OutboundRequest) -> OutboundRequest:
        return self.sign(outgoing)


@dataclass(frozen=True)
class OutboundResponse:
    """A response. url: its address after redirects, without authentication. headers: by lower-case name; repeated ones
    are joined by commas. body: unpacked."""

    status: int
    reason: str
    url: HttpUrl
    headers: Mapping[str, str]
    body: bytes


def may_pass(status: int) -> bool:
    """Returns whether the same request may succeed later: after 429 (RFC 6585, 4) and 5xx (RFC 9110, 15.6).

    >>> may_pass(503), may_pass(404)
    (True, False)
    """
    return status == 429 or status >= 500


def retry_after(headers: Mapping[str, str]) -> int | None:
    """Returns the seconds that a response asks to wait (Retry-After of RFC 9110, 10.2.3); None if it names none. Dates
    are not read. headers: by lower-case name.

    >>> retry_after({"retry-after": "120"}), retry_after({"retry-after": "9" * 5000}), retry_after({})
    (120, None, None)
    """
    return whole_in(headers.get("retry-after", "").strip(), 0, LONGEST_RETRY_SECONDS)


@dataclass(frozen=True)
class RequestLimits:
    """The limits of requests in the settings. seconds: of a request with its redirects. max_bytes: of an unpacked
    response."""

    seconds: float
    max_bytes: int
    permitted: Allowlist


@dataclass(frozen=True)
class AccountAccess:
    """What requests with a connected account need: their authentication and their limits."""

    sign: Signer = field(repr=False)
    bounds: RequestLimits


def limits(settings: Settings | None = None) -> RequestLimits:
    """Returns the limits of these settings, or the default ones. Raises Invalid for a wrong `outbound_allow`."""
    said = settings or Settings(defaults_by_name())
    return RequestLimits(said.outbound_seconds, said.outbound_max_bytes, allowed(said.outbound_allow))


def request(
    url: str,
    method: str = "GET",
    headers: "Mapping[str, str] | tuple[tuple[str, str], ...]" = (),
    body: bytes = b"",
    *,
    seconds: float = 0.0,
    verify: bool = True,
) -> OutboundRequest:
    """Creates a request from user input. Raises Invalid for the part that cannot be sent."""
    method = method.upper()
    if method not in METHODS:
        raise Invalid(f"the method '{method[:30]!r}' is not supported; use one of {', '.join(METHODS)}", field="method")
    if not 0 <= seconds <= MAX_SECONDS:
        raise Invalid(f"the timeout is {seconds:g}; it must be from 0 to {MAX_SECONDS:g} seconds", field="timeout")
    pairs = tuple(headers.items()) if isinstance(headers, Mapping) else tuple(headers)
    return OutboundRequest(urls.parsed(url), method, tuple(_checked(pairs)), body, seconds, verify)


def send(outgoing: OutboundRequest, bounds: RequestLimits, resolve: Resolver = socket.getaddrinfo) -> OutboundResponse:
    """Returns the response, with any status. Blocks, at most until the timeout of the request or of `bounds`.

    Raises Rejected for a host that must not be reached or has no valid certificate, TimedOut, TooLarge, and Unavailable
    if there is no response or redirects do not end."""
    deadline = Deadline(min(outgoing.seconds, MAX_SECONDS) if outgoing.seconds else bounds.seconds)
    here = outgoing
    for _ in range(MAX_REDIRECTS + 1):
        response = _signed_exchange(here, bounds, deadline, resolve)
        if response.status == 401 and isinstance(here.sign, Signer) and here.sign.renewed is not None:
            here = replace(here, sign=here.sign.renewed(deadline.left()).sign)  # is renewed only once
            response = _signed_exchange(here, bounds, deadline, resolve)
        location = response.headers.get("location")
        if not outgoing.follow or response.status not in REDIRECTS or location is None:
            return response
        here = _redirected(here, response.status, urls.following(here.url, location))
    raise Unavailable(f"{outgoing.url.host} redirects more than {MAX_REDIRECTS} times")


def _checked(headers: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, str]]:
    if len(headers) > MAX_HEADERS:
        raise Invalid(f"a request has at most {MAX_HEADERS} headers, this one {len(headers):,}", field="headers")
    if sum(len(name) + len(value) for name, value in headers) > MAX_HEADER_BYTES:
        raise Invalid(f"the headers of a request have at most {MAX_HEADER_BYTES:,} characters", field="headers")
    for name, value in headers:
        name, value = name.strip().lower(), value.strip()
        if not _TOKEN.match(name):
            raise Invalid(f"{name[:50]!r} is not a header name, such as x-api-key", field="headers")
        if name in REFUSED_HEADERS:
            raise Invalid(f"the header '{name}' cannot be set by a request; leave it out", field="headers")
        if _UNSEEN.search(value):
            raise Invalid(f"the header '{name}' has a line break or control character in it", field="headers")
        yield name, value


def _signed_exchange(
    outgoing: OutboundRequest, bounds: RequestLimits, deadline: Deadline, resolve: Resolver
) -> OutboundResponse:
    signed = outgoing.sign(outgoing) if outgoing.sign is not None else outgoing
    return replace(_exchange(signed, bounds, deadline, resolve), url=outgoing.url)  # omits parameters of the signer


def _exchange(
    outgoing: OutboundRequest, bounds: RequestLimits, deadline: Deadline, resolve: Resolver
) -> OutboundResponse:
    """Sends one request on one connection."""
    url = outgoing.url
    connection, line = connect(url, bounds.permitted, deadline, verify=outgoing.verify, resolve=resolve)
    try:
        if outgoing.cancellation is not None:
            outgoing.cancellation.attach(line)
        _write(connection, outgoing)
        response = connection.getresponse()
        line.head_is_read()
        content = unpack.body(response, bounds.max_bytes, is_cut=outgoing.is_cut)
        if outgoing.cancellation is not None:
            outgoing.cancellation.require_none()  # an interrupted body without a length looks complete
        return OutboundResponse(response.status, response.reason.strip(), url, _joined(response.getheaders()), content)
    except (http.client.HTTPException, OSError, ValueError) as error:
        if outgoing.cancellation is not None:
            outgoing.cancellation.require_none()
        deadline.left()  # raises TimedOut if the deadline expired
        raise Unavailable(f"{url.authority} sent no readable response: {_description(error)}") from error
    finally:
        line.hang_up()


def _write(connection: http.client.HTTPConnection, outgoing: OutboundRequest) -> None:
    connection.putrequest(outgoing.method, outgoing.url.target, skip_host=True, skip_accept_encoding=True)
    headers = [("host", outgoing.url.authority), *outgoing.headers]
    names = {name for name, _ in headers}
    defaults = {
        "user-agent": f"Helpdesk/{VERSION}",
        "accept": "*/*",
        "accept-encoding": "gzip, deflate",
    }
    headers += [(name, value) for name, value in defaults.items() if name not in names]
    if outgoing.body or outgoing.method in ("POST", "PUT", "PATCH"):
        headers.append(("content-length", str(len(outgoing.body))))
    for name, value in (*headers, ("connection", "close")):
        connection.putheader(name, value.encode())
    # The server may stop reading early; its response may explain why.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.endheaders(outgoing.body or None)


def _redirected(outgoing: OutboundRequest, status: int, url: HttpUrl) -> OutboundRequest:
    """Returns the request after a redirect. Follows RFC 9110, 15.4."""
    here = replace(outgoing, url=url)
    if (status == 303 and outgoing.method not in ("GET", "HEAD")) or (
        status in (301, 302) and outgoing.method == "POST"
    ):
        headers = tuple(pair for pair in outgoing.headers if not pair[0].startswith("content-"))
        here = replace(here, method="GET", body=b"", headers=headers)
    if url.origin != outgoing.url.origin:
        headers = tuple(pair for pair in here.headers if pair[0] in _HARMLESS_HEADERS)
        here = replace(here, sign=None, headers=headers)
    return here


def _joined(headers: list[tuple[str, str]]) -> dict[str, str]:
    values: dict[str, str] = {}
    for name, value in headers:
        key, text = name.lower(), value.encode("latin-1", "replace").decode("utf-8", "replace")
        values[key] = f"{values[key]}, {text}" if key in values else text
    return values


def _description(error: Exception) -> str:
    if isinstance(error, http.client.RemoteDisconnected):
        return "it hung up"
    if isinstance(error, http.client.IncompleteRead):
        return "it ends too early"
    if isinstance(error, http.client.HTTPException):
        return f"its head is not HTTP ({type(error).__name__})"
    return reason(error)
