"""A part of the service by the beginning of its paths: what it is asked for each request, and the request itself."""

import itertools
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tornado.httputil import HTTPHeaders, RequestStartLine

from server.errors import HelpdeskError, NotOffered, Unavailable, UnsupportedMedia
from server.web.call import Answer
from server.web.streams import Follower

UNKNOWN_LENGTH = -1
BUSY_RETRY_SECONDS = 1


READING = "GET, HEAD, OPTIONS"  # what is offered where nothing can be written


FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data", "application/json")


_PROCESS = secrets.token_hex(3)  # with a count behind it: a random number for each request costs as much as a read


_COUNT = itertools.count(0x1000)


class Request:
    """What arrived. `body` is complete. `client` is the peer's address, or whom a trusted proxy speaks for. `route` is
    what its path stands for: the path of an endpoint, or the beginning that its site has. `found` is what the site has
    there, looked up once by Site.resolve. `admitted` is what Site.admit found, for the site itself. `allowed_origin` is
    the web app that may read the response; see cors.py. `told` are headers of every answer to it."""

    __slots__ = (
        "method",
        "version",
        "path",
        "query",
        "headers",
        "body",
        "client",
        "peer",
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
        self.route = ""
        self.id = f"{_PROCESS}{next(_COUNT):x}"
        self.started = time.perf_counter()
        self.is_counted = False  # for the rate limit
        self.queries = 0  # statements run for it
        self.found: Any = None
        self.admitted: Any = None
        self.allowed_origin = ""
        self.told: dict[str, str] = {}


class Pool:
    """Threads that answer requests, and how many requests may wait for one."""

    def __init__(self, threads: int, queue: int, name: str) -> None:
        self.threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self.name = name
        self.waiting = 0
        self.max_waiting = queue + threads

    def require_room(self) -> None:
        """Raises Unavailable where too many wait already."""
        if self.waiting >= self.max_waiting:
            raise Unavailable("too many requests are waiting; try again", retry_after=BUSY_RETRY_SECONDS)


class Site(ABC):
    """One part of the service, by the beginning of its paths.

    writing(request): the work to be done on the writer, inside its transaction, for a request that is small enough to
    need no thread of its own; None for others.
    answer(request, steps): steps is the budget on the event loop, None on a thread; raises OutOfSteps there.
    follower(request): who follows the feed of its answer.
    resolve(request): called first, once, when the head is there. inline(request): whether to try on the event loop.
    admit(request): asked before a body is read; raises the error, or has the answer, of a request whose body need not
    be. looks(request): whether it reads for that. hashes(request): whether a password may have to be hashed for it; it
    waits in a queue of its own then. share: a name for what all of its bodies are counted under together, or "".
    is_json: whether errors are the JSON envelope. is_apart: whether it answers at the host of webhook_base_url as well,
    where nothing else does. packs: whether large answers go out as gzip. pool: threads of its own, for answers that
    wait for others."""

    is_json = True
    is_apart = False
    packs = False
    share = ""
    pool: Pool | None = None

    def resolve(self, request: Request) -> Any:
        """What is at the path of a request, for `request.found`."""
        return None

    @abstractmethod
    def limit(self, request: Request) -> int:
        """The largest body in bytes."""

    def admit(self, request: Request) -> Answer | None:
        """The answer to a request whose body need not be read. Raises the errors of errors.py."""
        return None

    def looks(self, request: Request) -> bool:
        """Whether `admit` reads, so that it may not run on the event loop where reads wait for another program."""
        return False

    def hashes(self, request: Request) -> bool:
        """Whether it is answered on the threads for passwords."""
        return False

    def inline(self, request: Request) -> bool:
        return False

    def writing(self, request: Request) -> Callable[[], Answer] | None:
        return None

    @abstractmethod
    def answer(self, request: Request, steps: int | None) -> Answer:
        """The answer. Raises the errors of errors.py, and OutOfSteps within a budget."""

    def follower(self, request: Request) -> Follower:
        """Who follows the feed of an answer; on the event loop. Raises the errors of errors.py."""
        raise NotOffered(f"there is nothing to follow at {request.path[:200]}")

    def failure(self, error: HelpdeskError) -> Answer | None:
        """The answer to an error, where this part of the service has a form of its own for it."""
        return None


def announced(headers: HTTPHeaders) -> int:
    """How many bytes of a body are announced; UNKNOWN_LENGTH for one in chunks.

    >>> announced(HTTPHeaders({"Content-Length": "12"})), announced(HTTPHeaders({"Transfer-Encoding": "chunked"}))
    (12, -1)
    """
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


def unless_read(request: Request) -> Answer | None:
    """Where nothing can be written: None for a request that reads, else the answer to OPTIONS. Raises NotOffered."""
    if request.method == "OPTIONS":
        return Answer(status=204, headers={"Allow": READING})
    if request.method not in ("GET", "HEAD"):
        raise NotOffered(f"{request.method[:20]} is not offered at {request.path}, but {READING}", allow=READING)
    return None


def unsupported(kind: str) -> UnsupportedMedia:
    """The error for a body that no endpoint reads."""
    return UnsupportedMedia(f"a body of type '{kind[:80]}' is not read; send one of {', '.join(FORM_TYPES)}")
