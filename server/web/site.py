"""A part of the service, by the beginning of its paths, and the requests that it serves."""

import itertools
import secrets
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from tornado.httputil import HTTPHeaders, RequestStartLine

from server.errors import HelpdeskError, NotOffered, Unavailable, UnsupportedMedia
from server.web.endpoint_call import Response
from server.web.streams import Follower

UNKNOWN_LENGTH = -1
BUSY_RETRY_SECONDS = 1
WRITE_WAIT_SECONDS = 10


READING = "GET, HEAD, OPTIONS"  # methods of read-only paths


FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data", "application/json")


_PROCESS = secrets.token_hex(3)  # followed by a counter: a random number for each request costs as much as a read


_COUNT = itertools.count(0x1000)


class Request:
    """A request with its complete body. `client` is the peer's address, or the one that a trusted proxy forwards for.
    `site` serves the request, None if no site has its path. `route` is the path of its endpoint, or the beginning of
    the paths of its site. `found` is the result of Site.resolve, which is called once; `admitted` the result of
    Site.admit, for the site itself. `allowed_origin` is the web app that may read the response; see cors.py. `told` are
    headers of every response to it."""

    __slots__ = (
        "method",
        "version",
        "path",
        "query",
        "headers",
        "body",
        "client",
        "peer",
        "site",
        "route",
        "id",
        "started",
        "is_counted",
        "queries",
        "found",
        "admitted",
        "allowed_origin",
        "told",
    )

    def __init__(self, line: RequestStartLine, headers: HTTPHeaders, client: str, peer: str) -> None:
        self.method = line.method
        self.version = line.version
        self.path, _, self.query = line.path.partition("?")
        self.headers = headers
        self.body = b""
        self.client = client
        self.peer = peer
        self.site: Site | None = None
        self.route = ""
        self.id = f"{_PROCESS}{next(_COUNT):x}"
        self.started = time.perf_counter()
        self.is_counted = False  # counted by the rate limit
        self.queries = 0  # statements run for this request
        self.found: Any = None
        self.admitted: Any = None
        self.allowed_origin = ""
        self.told: dict[str, str] = {}


class WriteLimits(NamedTuple):
    """How many writes of a pool may be under way at once: while no other request writes, and while others do."""

    alone: int
    beside_others: int


class Pool:
    """Threads that serve requests, and the number of requests that may wait for one."""

    def __init__(self, threads: int, queue: int, name: str, writes: WriteLimits | None = None) -> None:
        """writes: None for any number."""
        self.threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self.name = name
        self.waiting = 0
        self.max_waiting = queue + threads
        self.writes = writes
        self._writing = 0
        self._ended = threading.Condition()

    def require_room(self) -> None:
        """Raises Unavailable if too many requests wait already."""
        if self.waiting >= self.max_waiting:
            raise Unavailable("too many requests are waiting; try again", retry_after=BUSY_RETRY_SECONDS)

    def begin_write(self, is_alone: Callable[[], bool]) -> None:
        """Waits until the write of a response may begin, on a thread of the pool. is_alone: whether nobody else writes.
        Raises Unavailable."""
        if self.writes is None:
            return
        alone, beside_others = self.writes
        with self._ended:
            is_free = self._ended.wait_for(
                lambda: self._writing < (alone if is_alone() else beside_others), WRITE_WAIT_SECONDS
            )
            self._writing += is_free
        if not is_free:
            raise Unavailable("too many requests are waiting; try again", retry_after=BUSY_RETRY_SECONDS)

    def end_write(self) -> None:
        """Lets the next write begin; on any thread."""
        if self.writes is not None:
            with self._ended:
                self._writing -= 1
                self._ended.notify_all()


class Site(ABC):
    """One part of the service, by the beginning of its paths.

    writing(request): returns the work for the writer, inside its transaction, of a request that is small enough to need
    no thread; None for others. respond(request, steps): steps is the budget on the event loop, None on a thread; raises
    OutOfSteps there. follower(request): returns the caller that follows the feed of a response. resolve(request):
    called first, once, when the head has arrived. inline(request): whether to try on the event loop. admit(request):
    called before a body is read; raises an error, or returns the response, if the body is not needed. looks(request):
    whether it reads the database for that. hashes(request): whether a password may have to be hashed; the request then
    waits in a separate queue. pool_for(request): the threads that serve it. share: a name under which all bodies of the
    site are counted, or "". is_json: whether errors are the JSON envelope. is_apart: whether it responds at the host of
    webhook_base_url as well, which serves no other site. packs: whether large responses are compressed with gzip. pool:
    separate threads, for responses that wait for other requests."""

    is_json = True
    is_apart = False
    packs = False
    share = ""
    pool: Pool | None = None

    def resolve(self, request: Request) -> Any:
        """Returns the target of a request's path, for `request.found`."""
        return None

    @abstractmethod
    def limit(self, request: Request) -> int:
        """The largest body in bytes."""

    def admit(self, request: Request) -> Response | None:
        """Returns the response to a request whose body is not needed. Raises any HelpdeskError."""
        return None

    def looks(self, request: Request) -> bool:
        """Whether `admit` reads the database, so that it may not run on the event loop if reads wait for another
        program."""
        return False

    def hashes(self, request: Request) -> bool:
        """Whether the request runs on the threads for passwords."""
        return False

    @property
    def pools(self) -> tuple[Pool, ...]:
        """All threads of the site."""
        return () if self.pool is None else (self.pool,)

    def pool_for(self, request: Request) -> Pool | None:
        """Returns the threads of the site that serve a request, None for the common ones."""
        return self.pool

    def inline(self, request: Request) -> bool:
        return False

    def writing(self, request: Request) -> Callable[[], Response] | None:
        return None

    @abstractmethod
    def respond(self, request: Request, steps: int | None) -> Response:
        """Returns the response. Raises any HelpdeskError, and OutOfSteps within a budget."""

    def follower(self, request: Request) -> Follower:
        """Returns the caller that follows the feed of a response; on the event loop. Raises any HelpdeskError."""
        raise NotOffered(f"there is nothing to follow at {request.path[:200]}")

    def failure(self, error: HelpdeskError) -> Response | None:
        """Returns the response to an error, if this part of the service has its own format for it."""
        return None

    def failed(self, request: Request, error: HelpdeskError) -> Response | None:
        """Returns the response to an error of a request; by default, failure()."""
        return self.failure(error)


class HostSite(Site):
    """A site with host names at which no other site responds."""

    @property
    @abstractmethod
    def own_hosts(self) -> frozenset[str]:
        """The current host names."""

    @abstractmethod
    def renew_hosts(self) -> None:
        """Reads the host names again, since another process may have changed them. Not called on the event loop."""


def announced(headers: HTTPHeaders) -> int:
    """Returns the announced length of a body in bytes; UNKNOWN_LENGTH for one in chunks.

    >>> announced(HTTPHeaders({"Content-Length": "12"})), announced(HTTPHeaders({"Transfer-Encoding": "chunked"}))
    (12, -1)"""
    if "Transfer-Encoding" in headers:
        return UNKNOWN_LENGTH
    length = headers.get("Content-Length", "")
    return int(length) if length.isascii() and length.isdigit() else 0


def content_type(request: Request) -> str:
    """The media type of the body."""
    return media_type(request.headers.get("Content-Type", ""))


def media_type(header: str) -> str:
    """The media type of a Content-Type header, lower case, without parameters."""
    return header.partition(";")[0].strip().lower()


def unless_read(request: Request) -> Response | None:
    """Returns the response to OPTIONS of a read-only path; None for a request that reads. Raises NotOffered."""
    if request.method == "OPTIONS":
        return Response(status=204, headers={"Allow": READING})
    if request.method not in ("GET", "HEAD"):
        raise NotOffered(f"{request.method[:20]} is not allowed at {request.path}; use {READING}", allow=READING)
    return None


def unsupported(kind: str) -> UnsupportedMedia:
    """Returns the error for a body that no endpoint reads."""
    return UnsupportedMedia(f"a body of type '{kind[:80]}' is not supported; send one of {', '.join(FORM_TYPES)}")
