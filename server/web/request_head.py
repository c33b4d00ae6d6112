"""The head of a request: its site, and the checks before its body is read."""

from tornado.httputil import HTTPHeaders, RequestStartLine

from server.errors import NotFound, TooLarge
from server.web.front import Front
from server.web.hosts import client_of, require_host
from server.web.site import Request, Site

MAX_TARGET_CHARS = 16 * 1024
MAX_HEAD_CHARS = 64 * 1024
CUT_HEAD_BYTES = 2 * MAX_HEAD_CHARS  # bytes; the connection of a longer head is closed without a response


def received_request(front: Front, line: RequestStartLine, headers: HTTPHeaders, peer: str) -> Request:
    """Returns the request with this head, without its body, and finds its site. peer: address of the client or of its
    proxy."""
    request = Request(line, headers, client_of(peer, headers, front.proxies), peer)
    find_site(front, request)
    return request


def find_site(front: Front, request: Request) -> None:
    """Sets the site of a request, and its target there."""
    request.route, request.site = front.site_of(request.path, request.headers.get("Host", ""))
    if request.site is not None:
        request.found = request.site.resolve(request)


def require_lengths(line: RequestStartLine, headers: HTTPHeaders, head_chars: int) -> None:
    """Raises TooLarge if the address or the headers exceed their limits. head_chars: of both together, with blanks and
    line ends."""
    if len(line.path) > MAX_TARGET_CHARS:
        raise TooLarge(f"the address is longer than {MAX_TARGET_CHARS} characters")
    if head_chars > MAX_HEAD_CHARS and _chars(headers) > MAX_HEAD_CHARS:
        raise TooLarge(f"the headers are longer than {MAX_HEAD_CHARS} characters")


def require_site(front: Front, request: Request) -> Site:
    """Returns the site of a request. Raises Malformed for an unknown host, NotFound for an unknown path."""
    require_host(request, front.hosts)
    if request.site is None:
        raise NotFound(f"there is nothing at {request.path[:200]}")
    return request.site


def _chars(headers: HTTPHeaders) -> int:
    return sum(len(name) + len(value) for name, value in headers.get_all())
