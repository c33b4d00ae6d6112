"""The front door: HTTP requests in, answers out. Below the framework's RequestHandler on purpose: its routing, cookies
and templating cost more than our whole answer (`make bench` shows both).

Small reads are answered on the event loop under a budget of database steps, and start again on a thread when it runs
out; small writes go straight to the writer; everything else runs on a worker thread. Not for what endpoints do: that
is web/rest/."""

import asyncio
import email.utils
import ipaddress
import itertools
import re
import secrets
import sys
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any

from tornado.httputil import (
    HTTPConnection,
    HTTPHeaders,
    HTTPMessageDelegate,
    HTTPServerConnectionDelegate,
    RequestStartLine,
    ResponseStartLine,
)
from tornado.iostream import StreamClosedError

from server import clock, log, memory, passwords
from server.access import lockout
from server.context import Service
from server.errors import (
    HelpdeskError,
    Invalid,
    Malformed,
    NotFound,
    NotOffered,
    TooLarge,
    Unavailable,
    UnsupportedMedia,
)
from server.store.database import NotOnWriter, OutOfSteps
from server.store.transaction import Transaction
from server.store.writer import PendingWrite
from server.web import envelope, errors
from server.web.bodies import BodyMeter
from server.web.call import Answer, Feed
from server.web.meter import Meter
from server.web.streams import MEDIA_TYPE, Follower, Stream, Streams, stopping

LOG = log.get("web")
MAX_TARGET_CHARS = 16 * 1024
MAX_HEAD_CHARS = 64 * 1024
CUT_HEAD_BYTES = 2 * MAX_HEAD_CHARS  # a head longer than this is not read: its connection is closed without an answer
DISCARD_FACTOR = 4  # a body this many times its limit is read and thrown away, so that the client gets its answer
UNKNOWN_LENGTH = -1
HASHING_THREADS = passwords.AT_ONCE + passwords.WAITING + 8  # more than wait: those that find no place are told so
MEMORY_SECONDS = 2.0  # after large bodies until the system gets its memory back: others may follow
BUSY_RETRY_SECONDS = 1
READING = "GET, HEAD, OPTIONS"  # what is offered where nothing can be written
NO_BODY = frozenset((204, 205, 304))  # answers of these never have one
FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data", "application/json")
SECURITY_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
}


_HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
_PROCESS = secrets.token_hex(3)  # with a count behind it: a random number for each request costs as much as a read
_COUNT = itertools.count(0x1000)


class Request:
    """What arrived. `body` is complete. `client` is the peer's address, or whom a trusted proxy speaks for. `route` is
    what its path stands for: the path of an endpoint, or the beginning that its site has. `found` is what the site has
    there, looked up once by Site.resolve."""

    __slots__ = (
        "method", "version", "path", "query", "headers", "body", "client", "peer", "route", "id", "started",
        "is_counted", "queries", "found",
    )  # fmt: skip

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


class Pool:
    """Threads that answer requests, and how many requests may wait for one."""

    def __init__(self, threads: int, queue: int, name: str) -> None:
        self.threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self.name = name
        self.waiting = 0
        self.max_waiting = queue + threads


class Site(ABC):
    """One part of the service, by the beginning of its paths.

    writing(request): the work to be done on the writer, inside its transaction, for a request that is small enough to
    need no thread of its own; None for others.
    answer(request, steps): steps is the budget on the event loop, None on a thread; raises OutOfSteps there.
    follower(request): who follows the feed of its answer.
    resolve(request): called first, once, when the head is there. inline(request): whether to try on the event loop.
    admit(request): asked before a body is read, on the event loop; raises the error, or has the answer, of a request
    whose body need not be. hashes(request): whether a password may have to be hashed for it; it waits in a queue of its
    own then. share: a name for what all of its bodies together are counted under, "" for nothing.
    is_json: whether errors are the JSON envelope. is_apart: whether it answers at the host of webhook_base_url as well,
    where nothing else does. pool: threads of its own, for answers that wait for others."""

    is_json = True
    is_apart = False
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


class Front(HTTPServerConnectionDelegate):
    """Hands each request to its site. sites: {beginning of the path: site}, the longest that fits wins."""

    def __init__(
        self, service: Service, sites: dict[str, Site], rest_errors_as_200: bool = False, meter: Meter | None = None
    ) -> None:
        settings = service.settings
        self.service = service
        self.sites = sorted(sites.items(), key=lambda item: -len(item[0]))
        self.pool = Pool(settings.worker_threads, settings.request_queue, "worker")
        self.hashing = Pool(HASHING_THREADS, settings.request_queue, "password")
        self.in_flight = 0
        self.bodies = BodyMeter(self._give_back_soon)
        self._gives_back: asyncio.TimerHandle | None = None
        self.steps = settings.inline_steps
        self.logs_requests = settings.request_log
        self.errors_as_200 = rest_errors_as_200
        self._hosts = (service.base_url, _known_hosts(service))
        self.webhook_host = settings.webhook_host
        self.proxies = networks(settings.trusted_proxies)
        self.is_stopping = False
        self.returns = WriteReturns()
        self.meter = meter or Meter()
        self.streams = Streams(service, self.meter, settings.request_log)
        self._show_gauges()

    @property
    def hosts(self) -> frozenset[str]:
        """The names that we have now."""
        of, found = self._hosts
        if of != self.service.base_url:
            self._hosts = (self.service.base_url, found := _known_hosts(self.service))
        return found

    def _show_gauges(self) -> None:
        self.meter.gauges["body_bytes"] = ("Bytes of bodies in memory.", lambda: self.bodies.held)
        self.meter.gauges["requests_in_flight"] = ("Requests that are being answered.", lambda: self.in_flight)
        for pool in (self.pool, self.hashing, *(site.pool for _, site in self.sites if site.pool is not None)):
            about = f"Requests on the {pool.name} threads, or waiting for one."
            self.meter.gauges[f"{pool.name}_requests"] = (about, lambda pool=pool: pool.waiting)  # type: ignore[misc]

    def start_request(self, server_conn: object, request_conn: HTTPConnection) -> HTTPMessageDelegate:
        return Exchange(self, request_conn)

    def site_of(self, path: str, host: str) -> tuple[str, Site | None]:
        """The site of a path at a host, and the beginning that it has."""
        is_apart = self.webhook_host != "" and host_name(host) == self.webhook_host
        for prefix, site in self.sites:
            if path.startswith(prefix) and (site.is_apart or not is_apart):
                return prefix, site
        return "", None

    def _give_back_soon(self) -> None:
        """Return the memory of large bodies to the system, unless that is about to be done."""
        if self._gives_back is None:
            self._gives_back = asyncio.get_running_loop().call_later(MEMORY_SECONDS, self._give_back)

    def _give_back(self) -> None:
        self._gives_back = None
        if not self.is_stopping:
            self.pool.threads.submit(memory.give_back)

    async def drain(self, seconds: float) -> None:
        """Wait until running requests are answered, at most this long."""
        self.is_stopping = True
        self.streams.close()
        end = time.monotonic() + seconds
        while (self.in_flight or self.streams.is_busy) and time.monotonic() < end:
            await asyncio.sleep(0.02)
        for pool in (self.pool, self.hashing, *(site.pool for _, site in self.sites)):
            if pool is not None:
                pool.threads.shutdown(wait=False, cancel_futures=True)


class WriteReturns:
    """Brings what the writer has finished back to the event loop, a whole group at a time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._finished: deque[tuple[Exchange, PendingWrite]] = deque()
        self._is_called = False

    def put(self, exchange: "Exchange", pending: PendingWrite) -> None:
        """On the writer's thread."""
        self._finished.append((exchange, pending))
        if not self._is_called:
            self._is_called = True
            self._loop.call_soon_threadsafe(self._take)

    def _take(self) -> None:
        self._is_called = False  # first: what is put from here on calls again
        while self._finished:
            exchange, pending = self._finished.popleft()
            exchange._written(pending)


class Exchange(HTTPMessageDelegate):
    """One request and its answer on one connection."""

    def __init__(self, front: Front, connection: HTTPConnection) -> None:
        self.front = front
        self.connection = connection
        self.request: Request
        self.site: Site | None = None
        self.pieces: list[bytes] = []
        self.received = 0
        self.held = 0  # bytes of the body in memory
        self.sharers: tuple[str, ...] = ()  # whose share of the memory they come out of
        self.limit = 0
        self.refusal: HelpdeskError | None = None
        self.is_answered = False  # before the body is read; what comes of it is thrown away
        self.is_closed = False
        self.is_waiting = True  # for the head of a request
        self.streaming: asyncio.Future[None] | None = None  # kept, or it might be collected half way

    def headers_received(self, start_line: Any, headers: HTTPHeaders) -> None:
        self.is_waiting = False
        context = getattr(self.connection, "context", None)
        peer = str(getattr(context, "remote_ip", "") or "")
        self.request = Request(start_line, headers, client_of(peer, headers, self.front.proxies), peer)
        path = self.request.path
        self.request.route, self.site = self.front.site_of(path, headers.get("Host", ""))
        if self.site is not None:
            self.request.found = self.site.resolve(self.request)
        self.limit = self.site.limit(self.request) if self.site is not None else 64 * 1024
        # Bodies are measured below: the framework would answer those that are too large with a bare line.
        self.connection.set_max_body_size(sys.maxsize)  # type: ignore[attr-defined]
        length = announced(headers)
        try:
            self._require_measure(len(start_line.path), headers, length)
            if length:
                early = self._require_site().admit(self.request)
                if early is not None:
                    self._answer_early(early)
                share = self.site.share if self.site is not None else ""
                self.sharers = (lockout.address(self.request.client), *([share] if share else []))
        except HelpdeskError as error:
            self.refusal = error
            if length:
                self._answer_early(self._failure(error))
        except Exception as error:
            self._answer_early(self._bug(error))

    def _require_measure(self, target_chars: int, headers: HTTPHeaders, length: int) -> None:
        """Raises TooLarge for an address, headers or a body beyond their limits."""
        if target_chars > MAX_TARGET_CHARS:
            raise TooLarge(f"the address is longer than {MAX_TARGET_CHARS} characters")
        if sum(len(name) + len(value) for name, value in headers.get_all()) > MAX_HEAD_CHARS:
            raise TooLarge(f"the headers are longer than {MAX_HEAD_CHARS} characters")
        if length > self.limit:
            raise self._too_large()

    def _require_site(self) -> Site:
        """Raises Malformed for a host that is not ours, NotFound for an address that nothing is at."""
        self._check_host()
        if self.site is None:
            raise NotFound(f"there is nothing at {self.request.path[:200]}")
        return self.site

    def _answer_early(self, answer: Answer) -> None:
        """Before the body is there. Clients that send it anyway before they look get their answer, too: up to a
        bound it is read and thrown away, then the connection is closed."""
        headers = self.request.headers
        asks_first = "Expect" in headers
        if asks_first:
            del headers["Expect"]  # the framework would ask for the body
        self.is_answered = True
        self._send(answer, close=asks_first or announced(headers) > self.limit * DISCARD_FACTOR)

    def data_received(self, chunk: bytes) -> None:
        self.received += len(chunk)
        if self.is_answered:
            if self.received > self.limit * DISCARD_FACTOR:
                self._end()
        elif self.received > self.limit:
            self._let_go()
            self.refusal = self._too_large()
            self._answer_early(self._failure(self.refusal))
        else:
            self._take(chunk)

    def _take(self, chunk: bytes) -> None:
        self.pieces.append(chunk)
        self.held += len(chunk)
        try:
            self.front.bodies.take(self.sharers, len(chunk), self.held)
        except Unavailable as error:
            self._let_go()
            self.refusal = error
            self._answer_early(self._failure(error))

    def _let_go(self) -> None:
        """Of the body: it is answered, or not wanted."""
        self.pieces.clear()
        self.request.body = b""
        if self.held:
            self.front.bodies.let_go(self.sharers, self.held)
            self.held = 0

    def _end(self) -> None:
        """The answer is complete. Closes the connection when there is more of the body to come."""
        if not self.is_closed:
            self.connection.finish()

    def finish(self) -> None:
        if self.is_answered:
            self._end()
            return
        self.request.body = b"".join(self.pieces)
        self.pieces.clear()
        front, request = self.front, self.request
        try:
            if self.refusal is not None:
                raise self.refusal
            site = self._require_site()
            if front.steps and site.inline(request):
                try:
                    self._send(self._counted(site, front.steps))
                    return
                except OutOfSteps:
                    pass
            work = site.writing(request)
            if work is not None:
                self._on_writer(work)
            else:
                self._on_thread(site)
        except HelpdeskError as error:
            self._send(self._failure(error))
        except Exception as error:
            self._send(self._bug(error))

    def on_connection_close(self) -> None:
        self.is_closed = True
        if self.pieces:  # the body never ended
            self._let_go()

    def _on_writer(self, work: Callable[[], Answer]) -> None:
        """Straight to the writer, without a worker thread between: two changes of thread instead of four."""
        front, request = self.front, self.request
        if front.is_stopping:
            raise stopping()

        def write(tx: Transaction) -> Answer:
            answer = work()
            request.queries = tx.statements
            return answer

        front.service.store.submit(write, lambda pending: front.returns.put(self, pending))
        front.in_flight += 1

    def _written(self, pending: PendingWrite) -> None:
        self.front.in_flight -= 1
        error = pending.error
        if error is None:
            self._send(pending.result)
        elif isinstance(error, NotOnWriter):
            self._again_on_thread()
        elif isinstance(error, HelpdeskError):
            self._send(self._failure(error))
        else:
            self._send(self._bug(error))

    def _again_on_thread(self) -> None:
        """What ran on the writer needs longer than others may wait for; nothing of it was kept."""
        assert self.site is not None
        try:
            self._on_thread(self.site)
        except HelpdeskError as error:
            self._send(self._failure(error))

    def _on_thread(self, site: Site) -> None:
        front = self.front
        pool = front.hashing if site.hashes(self.request) else site.pool or front.pool
        if front.is_stopping:
            raise stopping()
        if pool.waiting >= pool.max_waiting:
            raise Unavailable("too many requests are waiting; try again", retry_after=BUSY_RETRY_SECONDS)
        pool.waiting += 1
        front.in_flight += 1
        loop = asyncio.get_running_loop()

        def work() -> None:
            answer = self._answer(site)
            loop.call_soon_threadsafe(self._finished, answer, pool)

        pool.threads.submit(work)

    def _answer(self, site: Site) -> Answer:
        """On a worker thread: never raises."""
        try:
            return self._counted(site, None)
        except HelpdeskError as error:
            return self._failure(error)
        except Exception as error:
            return self._bug(error)

    def _counted(self, site: Site, steps: int | None) -> Answer:
        """The site's answer; the statements run for it go into the log line."""
        store = self.front.service.store
        store.take_queries()
        try:
            return site.answer(self.request, steps)
        finally:
            self.request.queries += store.take_queries()

    def _finished(self, answer: Answer, pool: Pool) -> None:
        pool.waiting -= 1
        self.front.in_flight -= 1
        self._send(answer)

    def _too_large(self) -> TooLarge:
        return TooLarge(f"the body is larger than {self.limit} bytes, the most that this address takes")

    def _check_host(self) -> None:
        """Raises Malformed for a request that does not say once, and in due form, which host it is for."""
        hosts = self.request.headers.get_list("Host")
        host = hosts[0] if hosts else ""
        if len(hosts) > 1:
            raise Malformed("the request has several Host headers; send one")
        if not host and self.request.version != "HTTP/1.0":
            raise Malformed("the request has no Host header; send the name of this service")
        if host and not _HOST.fullmatch(host):
            raise Malformed(f"'{host[:100]}' is no host; send a name or an address, with a port where it has one")
        if not _host_is_known(host, self.front.hosts):
            raise Malformed(f"this service is not called '{host[:100]}'; set base_url or trusted_hosts if it should be")

    def _failure(self, error: HelpdeskError) -> Answer:
        status, _ = errors.status_and_code(error)
        headers = errors.headers(error, self.front.service.base_url)
        own = self.site.failure(error) if self.site is not None else None
        if own is not None:
            return own
        if self.site is not None and not self.site.is_json:
            if self.request.method == "GET" and "Retry-After" in headers:  # browsers know only this one
                headers = {**headers, "Refresh": headers["Retry-After"]}
            return Answer(status=status, headers=headers, body=error.message.encode(), content_type="text/plain")
        if self.front.errors_as_200 and status != 401 and self.request.path.startswith("/rest/"):
            status = 200
        return Answer(errors.body(error), status, headers)

    def _bug(self, error: BaseException) -> Answer:
        LOG.exception("request.failed", request_id=self.request.id, path=log.mask_path(self.request.path))
        told = errors.BUG_MESSAGE + self.request.id
        own = self.site.failure(HelpdeskError(told)) if self.site is not None else None
        return own or Answer({"__error": "ERROR_SERVER", "message": told}, 500)

    def _send(self, answer: Answer, close: bool = False) -> None:
        request = self.request
        if answer.pieces is not None and request.method != "HEAD":
            self.streaming = asyncio.ensure_future(self._stream(answer))
            return
        if answer.feed is not None and request.method != "HEAD":
            self._follow(answer, answer.feed)
            return
        body, kind = answer.body, answer.content_type
        if answer.payload is not None:
            make = envelope.success if answer.status < 400 and "__error" not in answer.payload else envelope.failure
            body, kind = make(answer.payload), "application/json; charset=utf-8"
        if answer.status in NO_BODY:  # the client would take it for the beginning of the next answer
            body = b""
        headers = self._headers(answer, kind, answer.length if answer.pieces is not None else len(body), close)
        if not self.is_closed:
            try:
                line = ResponseStartLine("HTTP/1.1", answer.status, _reason(answer.status))
                self.connection.write_headers(line, headers, b"" if request.method == "HEAD" else body)
                if not self.is_answered:  # else the connection would be closed, and the answer lost with it
                    self.connection.finish()
            except StreamClosedError:
                pass
        self._log(answer.status, len(body))

    def _follow(self, answer: Answer, feed: Feed) -> None:
        """Begin an answer that goes on as a stream."""
        assert self.site is not None
        streams = self.front.streams
        try:
            follower = self.site.follower(self.request)
            streams.require_room(follower)
        except HelpdeskError as error:
            self._send(self._failure(error))
            return
        if not self.is_closed:
            headers = self._headers(answer, MEDIA_TYPE, UNKNOWN_LENGTH, False)
            headers["X-Accel-Buffering"] = "no"  # nginx would keep events until it has more of them
            self.connection.write_headers(ResponseStartLine("HTTP/1.1", answer.status, _reason(answer.status)), headers)
            streams.add(Stream(self.connection, feed, follower, self.request.id))
        self._log(answer.status, 0)

    async def _stream(self, answer: Answer) -> None:
        """Send a large body piece by piece, no faster than the client takes it."""
        assert answer.pieces is not None
        self.front.in_flight += 1
        loop = asyncio.get_running_loop()
        try:
            headers = self._headers(answer, answer.content_type, answer.length, False)
            line = ResponseStartLine("HTTP/1.1", answer.status, _reason(answer.status))
            await self.connection.write_headers(line, headers)
            pieces = answer.pieces()
            while True:
                piece = await loop.run_in_executor(self.front.pool.threads, next, pieces, None)
                if piece is None:
                    break
                await self.connection.write(piece)
            self.connection.finish()
        except StreamClosedError:
            pass
        except Exception:
            LOG.exception("answer.broken", request_id=self.request.id)
            self.connection.stream.close()  # type: ignore[attr-defined]
        finally:
            self.front.in_flight -= 1
            self._log(answer.status, answer.length)

    def _headers(self, answer: Answer, kind: str, length: int, close: bool) -> HTTPHeaders:
        headers = HTTPHeaders()
        headers["Date"] = _http_date(clock.now())
        for name, value in SECURITY_HEADERS.items():
            headers[name] = value
        if kind:
            headers["Content-Type"] = kind
        if answer.status not in (204, 304) and length != UNKNOWN_LENGTH:
            headers["Content-Length"] = str(length)
        for name, value in answer.headers.items():
            headers[name] = value.replace("\r", " ").replace("\n", " ")
        for cookie in answer.cookies:
            headers.add("Set-Cookie", cookie)
        if close or self.front.is_stopping:
            headers["Connection"] = "close"
        return headers

    def _log(self, status: int, length: int) -> None:
        self._let_go()
        request = self.request
        seconds = time.perf_counter() - request.started
        self.front.meter.count(request.method, request.route, status, seconds)
        if self.front.logs_requests:
            LOG.info(
                "request",
                id=request.id,
                client=request.client,
                method=request.method,
                path=log.mask_path(request.path),
                status=status,
                bytes=length,
                queries=request.queries,
                ms=round(seconds * 1000, 1),
            )


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


Networks = tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]


def networks(listed: tuple[str, ...], setting: str = "trusted_proxies") -> Networks:
    """Addresses and networks of a setting. Raises Invalid that names the wrong one."""
    found = []
    for each in listed:
        try:
            found.append(ipaddress.ip_network(each, strict=False))
        except ValueError:
            raise Invalid(f"{setting}: '{each}' is not an address or network, such as 10.0.0.0/8") from None
    return tuple(found)


def client_of(peer: str, headers: HTTPHeaders, proxies: Networks) -> str:
    """The client's address, without a port: the peer, or what trusted proxies say of whom they speak for. The word of
    anybody else in X-Forwarded-For counts for nothing."""
    if not proxies:
        return peer
    hops = [_address_of(hop.strip()) for hop in headers.get("X-Forwarded-For", "").split(",") if hop.strip()]
    client = peer
    while hops and is_within(client, proxies):
        client = hops.pop()
    return client


def _address_of(hop: str) -> str:
    """What a proxy tells, without the port that some put behind it.

    >>> [_address_of(hop) for hop in ("192.0.2.1:567", "[2001:db8::1]:567", "[2001:db8::1]", "2001:db8::1", "unknown")]
    ['192.0.2.1', '2001:db8::1', '2001:db8::1', '2001:db8::1', 'unknown']
    """
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop


def is_within(address: str, networks: Networks) -> bool:
    """Whether an address is in one of these networks; False for what is no address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped:  # of a socket for both kinds
        parsed = parsed.ipv4_mapped
    return any(parsed in network for network in networks)


def _reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


_date: tuple[int, str] = (0, "")


def _http_date(now: int) -> str:
    global _date
    if _date[0] != now:
        _date = (now, email.utils.formatdate(now, usegmt=True))
    return _date[1]


def _known_hosts(service: Service) -> frozenset[str]:
    base = service.base_url.partition("://")[2].partition("/")[0]
    names = {"localhost", host_name(base), str(service.settings.host).lower(), service.settings.webhook_host} - {""}
    names.update(str(name).lower() for name in service.settings.trusted_hosts)
    return frozenset(names)


def host_name(host: str) -> str:
    """The name in a Host header, without port."""
    host = host.strip().lower()
    if host.startswith("["):
        return host.partition("]")[0].lstrip("[")
    return host.partition(":")[0].rstrip(".")


def _host_is_known(host: str, known: frozenset[str]) -> bool:
    """Names must be ours, against rebinding of foreign names; addresses cannot be rebound. No header: HTTP/1.0."""
    name = host_name(host)
    if not name or name in known:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
