"""One request to another program: made, followed where it is redirected, and its answer read.

Nothing is remembered from one request to the next: no connections, no cookies. Nothing is taken from this machine: no
passwords of its users, no proxies of its environment."""

import contextlib
import http.client
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from server.dataclass import dataclass
from server.errors import Invalid, Unavailable
from server.outbound import unpack, urls
from server.outbound.addresses import Allowlist, allowed
from server.outbound.connection import Deadline, Resolver, connect, reason
from server.outbound.urls import HttpUrl
from server.settings import VERSION, Settings, defaults_by_name

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
MAX_SECONDS = 60  # maximum timeout that a request may set
MAX_REDIRECTS = 3
MAX_HEADERS = 100  # of a request
MAX_HEADER_BYTES = 16 * 1024  # of a request, together
REDIRECTS = frozenset((301, 302, 303, 307, 308))

# Those that say how the message travels, which is not for its author to say.
REFUSED_HEADERS = frozenset(
    """
    connection content-length expect host keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer
    transfer-encoding upgrade
""".split()
)
# Headers that follow a redirect to another origin; any other may be a secret, whatever its name.
_HARMLESS_HEADERS = frozenset(("accept", "accept-encoding", "accept-language", "content-type", "user-agent"))
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_UNSEEN = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True)
class OutboundRequest:
    """What is sent. headers: (lower-case name, value), in order. seconds: for all of it, 0 for as long as may be.
    verify: whether the certificate must be valid. sign: adds what proves who asks, a Signer or any function; it is not
    asked for another place than that of `url`."""

    url: HttpUrl
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    seconds: float = 0.0
    verify: bool = True
    follow: bool = True
    sign: "Callable[[OutboundRequest], OutboundRequest] | None" = None

    def header(self, name: str) -> str:
        """The first value of a header, "" if it is missing. name: in lower case."""
        return next((value for key, value in self.headers if key == name), "")

    def with_headers(self, values: Mapping[str, str]) -> "OutboundRequest":
        """A copy with headers set, replacing present ones. Raises Invalid for characters that cannot be sent."""
        new = tuple(_checked(tuple(values.items())))
        kept = (pair for pair in self.headers if pair[0] not in dict(new))
        return replace(self, headers=(*kept, *new))


@dataclass(frozen=True)
class Signer:
    """What signs requests. renewed: answers another one, given seconds, for when this proof is no longer accepted."""

    sign: Callable[[OutboundRequest], OutboundRequest]
    renewed: "Callable[[float], Signer] | None" = None

    def __call__(self, asked: OutboundRequest) -> OutboundRequest:
        return self.sign(asked)


@dataclass(frozen=True)
class OutboundResponse:
    """What came back. url: where it came from, after redirects. headers: lower-case names; repeated ones are joined by
    commas. body: unpacked."""

    status: int
    reason: str
    url: HttpUrl
    headers: Mapping[str, str]
    body: bytes


def may_pass(status: int) -> bool:
    """Whether the same request may be answered well later: after 429 (RFC 6585, 4) and 500 and above (RFC 9110, 15.6).

    >>> may_pass(503), may_pass(404)
    (True, False)
    """
    return status == 429 or status >= 500


@dataclass(frozen=True)
class RequestLimits:
    """What the settings say of requests. seconds: for one with its redirects. max_bytes: of an unpacked answer."""

    seconds: float
    max_bytes: int
    permitted: Allowlist


def limits(settings: Settings | None = None) -> RequestLimits:
    """The limits that settings say, or their defaults. Raises Invalid for a wrong `outbound_allow`."""
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
    """A request from what people write. Raises Invalid that says which part cannot be sent."""
    method = method.upper()
    if method not in METHODS:
        raise Invalid(f"the method '{method[:30]!r}' is not sent; use one of {', '.join(METHODS)}", field="method")
    if not 0 <= seconds <= MAX_SECONDS:
        raise Invalid(f"the timeout is {seconds:g}; it must be from 0 to {MAX_SECONDS:g} seconds", field="timeout")
    listed = tuple(headers.items()) if isinstance(headers, Mapping) else tuple(headers)
    return OutboundRequest(urls.parsed(url), method, tuple(_checked(listed)), body, seconds, verify)


def send(asked: OutboundRequest, bounds: RequestLimits, resolve: Resolver = socket.getaddrinfo) -> OutboundResponse:
    """The answer, whatever its status. Blocks, at most as long as asked for or as bounds say.

    Raises Rejected for a host that may not be reached or has no valid certificate, TimedOut, TooLarge, Unavailable when
    there is no answer or no end of redirects."""
    deadline = Deadline(min(asked.seconds or bounds.seconds, MAX_SECONDS))
    here = asked
    for _ in range(MAX_REDIRECTS + 1):
        response = _signed_exchange(here, bounds, deadline, resolve)
        if response.status == 401 and isinstance(here.sign, Signer) and here.sign.renewed is not None:
            here = replace(here, sign=here.sign.renewed(deadline.left()).sign)  # the renewed one is not renewed again
            response = _signed_exchange(here, bounds, deadline, resolve)
        location = response.headers.get("location")
        if not asked.follow or response.status not in REDIRECTS or location is None:
            return response
        here = _redirected(here, response.status, urls.following(here.url, location))
    raise Unavailable(f"{asked.url.host} redirects more than {MAX_REDIRECTS} times")


def _checked(headers: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, str]]:
    if len(headers) > MAX_HEADERS:
        raise Invalid(f"a request has at most {MAX_HEADERS} headers, this one {len(headers):,}", field="headers")
    if sum(len(name) + len(value) for name, value in headers) > MAX_HEADER_BYTES:
        raise Invalid(f"the headers of a request have at most {MAX_HEADER_BYTES:,} characters", field="headers")
    for name, value in headers:
        name, value = name.strip().lower(), value.strip()
        if not _TOKEN.match(name):
            raise Invalid(f"{name[:50]!r} is no name of a header, such as x-api-key", field="headers")
        if name in REFUSED_HEADERS:
            raise Invalid(f"the header '{name}' is not for a request to set; leave it out", field="headers")
        if _UNSEEN.search(value):
            raise Invalid(f"the header '{name}' has a line break or control character in it", field="headers")
        yield name, value


def _signed_exchange(
    asked: OutboundRequest, bounds: RequestLimits, deadline: Deadline, resolve: Resolver
) -> OutboundResponse:
    signed = asked.sign(asked) if asked.sign is not None else asked
    return replace(_exchange(signed, bounds, deadline, resolve), url=asked.url)  # without its signature


def _exchange(asked: OutboundRequest, bounds: RequestLimits, deadline: Deadline, resolve: Resolver) -> OutboundResponse:
    """One request on one connection."""
    url = asked.url
    connection, line = connect(url, bounds.permitted, deadline, verify=asked.verify, resolve=resolve)
    try:
        _write(connection, asked)
        answer = connection.getresponse()
        line.head_is_read()
        content = unpack.body(answer, bounds.max_bytes)
        return OutboundResponse(answer.status, answer.reason.strip(), url, _joined(answer.getheaders()), content)
    except (http.client.HTTPException, OSError, ValueError) as error:
        deadline.left()  # then that is why
        raise Unavailable(f"{url.authority} gave no answer that can be read: {_told(error)}") from error
    finally:
        line.hang_up()


def _write(connection: http.client.HTTPConnection, asked: OutboundRequest) -> None:
    connection.putrequest(asked.method, asked.url.target, skip_host=True, skip_accept_encoding=True)
    headers = [("host", asked.url.authority), *asked.headers]
    given = {name for name, _ in headers}
    defaults = {
        "user-agent": f"Helpdesk/{VERSION}",
        "accept": "*/*",
        "accept-encoding": "gzip, deflate",
    }
    headers += [(name, value) for name, value in defaults.items() if name not in given]
    if asked.body or asked.method in ("POST", "PUT", "PATCH"):
        headers.append(("content-length", str(len(asked.body))))
    for name, value in (*headers, ("connection", "close")):
        connection.putheader(name, value.encode())
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it has heard enough; its answer may say why
        connection.endheaders(asked.body or None)


def _redirected(asked: OutboundRequest, status: int, url: HttpUrl) -> OutboundRequest:
    """The request that a redirect asks for. Follows RFC 9110, Redirection."""
    here = replace(asked, url=url)
    if (status == 303 and asked.method not in ("GET", "HEAD")) or (status in (301, 302) and asked.method == "POST"):
        kept = tuple(pair for pair in asked.headers if not pair[0].startswith("content-"))
        here = replace(here, method="GET", body=b"", headers=kept)
    if url.origin != asked.url.origin:
        kept = tuple(pair for pair in here.headers if pair[0] in _HARMLESS_HEADERS)
        here = replace(here, sign=None, headers=kept)
    return here


def _joined(headers: list[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in headers:
        key, text = name.lower(), value.encode("latin-1", "replace").decode("utf-8", "replace")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def _told(error: Exception) -> str:
    if isinstance(error, http.client.RemoteDisconnected):
        return "it hung up"
    if isinstance(error, http.client.IncompleteRead):
        return "it ends too early"
    if isinstance(error, http.client.HTTPException):
        return f"its head is not HTTP ({type(error).__name__})"
    return reason(error)
