"""Receives HTTP requests and sends the responses. Built below the framework's RequestHandler on purpose: its routing,
cookies and templating cost more than our whole response (`make bench` shows both).

Small reads run on the event loop under a budget of database steps, and start again on a thread when it is exceeded;
small writes go straight to the writer; everything else runs on a worker thread. Endpoints are in web/rest/."""

import asyncio
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from tornado.httputil import (
    HTTPConnection,
    HTTPHeaders,
    HTTPMessageDelegate,
    HTTPServerConnectionDelegate,
)
from tornado.iostream import StreamClosedError

from server import log, memory, passwords
from server.access import lockout
from server.context import Service
from server.errors import (
    HelpdeskError,
    NotFound,
    TooLarge,
)
from server.store.database import NotOnWriter, OutOfSteps, PendingRead, TextsWait
from server.store.transaction import Transaction
from server.store.writer import PendingWrite, Write
from server.translation import lazy_gettext
from server.web import cors, entity_tags, error_bodies
from server.web.bodies import BodyMeter, IncomingBody
from server.web.endpoint_call import Answer, Feed
from server.web.heads import head, head_text, start_line
from server.web.hosts import client_of, host_name, in_origin_form, known_hosts, networks, require_host
from server.web.meter import Meter
from server.web.packed import LEAST_BYTES, MOST_AT_ONCE_BYTES
from server.web.serving import ServedRequest
from server.web.site import UNKNOWN_LENGTH, Pool, Request, Site, announced
from server.web.streams import MEDIA_TYPE, Follower, Stream, Streams, stopping

LOG = log.get("web")
MAX_TARGET_CHARS = 16 * 1024
MAX_HEAD_CHARS = 64 * 1024
CUT_HEAD_BYTES = 2 * MAX_HEAD_CHARS  # bytes; the connection of a longer head is closed without a response
HASHING_THREADS = passwords.AT_ONCE + passwords.WAITING + 8  # more than can wait: the others are refused at once
MEMORY_SECONDS = 2.0  # delay before memory goes back to the system: more large bodies may follow
NO_BODY = frozenset((204, 205, 304))  # statuses without a body


class Front(HTTPServerConnectionDelegate):
    """Passes each request to its site. sites: {beginning of the path: site}; the longest match wins."""

    def __init__(
        self, service: Service, sites: dict[str, Site], rest_errors_as_200: bool = False, meter: Meter | None = None
    ) -> None:
        settings = service.settings
        self.service = service
        self.sites = sorted(sites.items(), key=lambda item: -len(item[0]))
        self._by_start = {
            start: [each for each in self.sites if each[0].startswith(start) or start.startswith(each[0])]
            for start in map(_first_part, sites)
        }
        self.pool = Pool(settings.worker_threads, settings.request_queue, "worker")
        self.hashing = Pool(HASHING_THREADS, settings.request_queue, "password")
        self.in_flight = 0
        self.bodies = BodyMeter(self._give_back_soon)
        self._gives_back: asyncio.TimerHandle | None = None
        self.steps = settings.inline_steps
        self.reads_wait = service.store.reads_wait  # so that none runs on the event loop
        self.logs_requests = settings.request_log
        self.errors_as_200 = rest_errors_as_200
        self._hosts = (service.base_url, known_hosts(service))
        self._heard: tuple[frozenset[str], list[str]] = (frozenset(), [])
        self.webhook_host = settings.webhook_host
        self.proxies = networks(settings.trusted_proxies)
        self.is_stopping = False
        self.is_leaving = False  # requests are served, but clients should use other processes from now on
        self.returns = Returns()
        self.meter = meter or Meter()
        self.streams = Streams(service, self.meter, settings.request_log)
        self._show_gauges()

    @property
    def hosts(self) -> frozenset[str]:
        """The current host names of the service."""
        of, found = self._hosts
        if of != self.service.base_url:
            self._hosts = (self.service.base_url, found := known_hosts(self.service))
        return found

    @property
    def closes(self) -> bool:
        """Whether a connection ends with its response."""
        return self.is_stopping or self.is_leaving

    def _show_gauges(self) -> None:
        self.meter.gauges["body_bytes"] = ("Bytes of bodies in memory.", lambda: self.bodies.held)
        self.meter.gauges["requests_in_flight"] = ("Requests that are being answered.", lambda: self.in_flight)
        for pool in (self.pool, self.hashing, *(site.pool for _, site in self.sites if site.pool is not None)):
            about = f"Requests on the {pool.name} threads, or waiting for one."
            self.meter.gauges[f"{pool.name}_requests"] = (about, lambda pool=pool: pool.waiting)  # type: ignore[misc]

    def start_request(self, server_conn: object, request_conn: HTTPConnection) -> HTTPMessageDelegate:
        assert isinstance(request_conn, ServedRequest)
        return Exchange(self, request_conn)

    def site_of(self, path: str, host: str) -> tuple[str, Site | None]:
        """Returns the site of a path at a host, and the beginning of its paths."""
        is_apart = self.webhook_host != "" and host_name(host) == self.webhook_host
        for prefix, site in self._by_start.get(_first_part(path), self.sites):
            if path.startswith(prefix) and (site.is_apart or not is_apart):
                return prefix, site
        return "", None

    def require_host(self, request: Request) -> None:
        """Raises Malformed for an unknown host. The last Host is cached, since most clients send the same."""
        hosts = (self.hosts, request.headers.get_list("Host"))
        if hosts != self._heard or not hosts[1]:
            require_host(request, hosts[0])
            self._heard = hosts

    def _give_back_soon(self) -> None:
        """Schedules the return of memory of large bodies to the system, unless it is scheduled."""
        if self._gives_back is None:
            self._gives_back = asyncio.get_running_loop().call_later(MEMORY_SECONDS, self._give_back)

    def _give_back(self) -> None:
        self._gives_back = None
        if not self.is_stopping:
            self.pool.threads.submit(memory.give_back)

    async def drain(self, seconds: float) -> None:
        """Waits until running requests are finished, at most this long."""
        self.is_stopping = True
        self.streams.close()
        end = time.monotonic() + seconds
        while (self.in_flight or self.streams.is_busy) and time.monotonic() < end:
            await asyncio.sleep(0.02)
        for pool in (self.pool, self.hashing, *(site.pool for _, site in self.sites)):
            if pool is not None:
                pool.threads.shutdown(wait=False, cancel_futures=True)


Finished = PendingRead | PendingWrite | Answer


class Returns:
    """Passes results of threads to the event loop, all available ones at a time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._finished: deque[tuple[Exchange, Finished]] = deque()
        self._is_called = False

    def put(self, exchange: "Exchange", finished: Finished) -> None:
        """Adds a result; on any thread."""
        self._finished.append((exchange, finished))
        if not self._is_called:
            self._is_called = True
            self._loop.call_soon_threadsafe(self._take)

    def _take(self) -> None:
        self._is_called = False  # cleared first, so that later results schedule another call
        while self._finished:
            exchange, finished = self._finished.popleft()
            exchange._returned(finished)


class Exchange(HTTPMessageDelegate):
    """One request and its response on one connection."""

    def __init__(self, front: Front, connection: ServedRequest) -> None:
        self.front = front
        self.connection = connection
        self.request: Request
        self.site: Site | None = None
        self.body = IncomingBody(front.bodies)
        self.refusal: HelpdeskError | None = None
        self.is_answered = False  # before the body is read; the body is discarded
        self.is_closed = False
        self.is_waiting = True  # for the head of a request
        self.is_reading = True  # the head, or the body
        self.since = time.monotonic()  # it waits for the head, and then for the body
        self.is_known_host = False
        self.pool: Pool | None = None  # the pool of the thread that runs it
        self.awaits_texts = False  # to be indexed by the writer before the search runs
        self.streaming: asyncio.Future[None] | None = None  # a reference, against garbage collection while it runs

    @property
    def is_arriving(self) -> bool:
        """Whether the head has arrived and the body has not."""
        return self.is_reading and not (self.is_waiting or self.is_answered or self.is_closed)

    def headers_received(self, start_line: Any, headers: HTTPHeaders) -> Awaitable[None] | None:
        self.is_waiting = False
        self.since = time.monotonic()
        if not start_line.path.startswith("/"):
            start_line, headers = in_origin_form(start_line, headers)
        peer = self.connection.peer
        self.request = Request(start_line, headers, client_of(peer, headers, self.front.proxies), peer)
        path = self.request.path
        self.request.route, self.site = self.front.site_of(path, headers.get("Host", ""))
        if self.site is not None:
            self.request.found = self.site.resolve(self.request)
        self.body.limit = self.site.limit(self.request) if self.site is not None else 64 * 1024
        # Bodies are measured below: the framework would respond to large ones with a bare status line.
        self.connection.set_max_body_size(sys.maxsize)
        length = announced(headers)
        try:
            self._require_measure(len(start_line.path), headers, length)
            if length:
                share = self.site.share if self.site is not None else ""
                self.body.sharers = (lockout.address(self.request.client), *([share] if share else []))
                site = self._require_site()
                if self.front.reads_wait and site.looks(self.request):
                    return self._admit_on_thread(site)
                early = site.admit(self.request)
                if early is not None:
                    self._answer_early(early)
        except HelpdeskError as error:
            self.refusal = error
            if length:
                self._answer_early(self._failure(error))
        except Exception as error:
            self._answer_early(self._bug(error))
        return None

    async def _admit_on_thread(self, site: Site) -> None:
        """Checks the request on a thread. The framework does not read the body before that ends."""
        pool = self.front.pool
        try:
            pool.require_room()
            pool.waiting += 1
            try:
                early = await asyncio.get_running_loop().run_in_executor(pool.threads, site.admit, self.request)
            finally:
                pool.waiting -= 1
            if early is not None:
                self._answer_early(early)
        except HelpdeskError as error:
            self.refusal = error
            self._answer_early(self._failure(error))
        except Exception as error:
            self._answer_early(self._bug(error))

    def _require_measure(self, target_chars: int, headers: HTTPHeaders, length: int) -> None:
        """Raises TooLarge if the address, headers or body exceed their limits."""
        if target_chars > MAX_TARGET_CHARS:
            raise TooLarge(f"the address is longer than {MAX_TARGET_CHARS} characters")
        if self.connection.head_chars > MAX_HEAD_CHARS and _chars(headers) > MAX_HEAD_CHARS:
            raise TooLarge(f"the headers are longer than {MAX_HEAD_CHARS} characters")
        if length > self.body.limit:
            raise self.body.too_large()

    def _require_site(self) -> Site:
        """Raises Malformed for an unknown host, NotFound for an unknown path."""
        if not self.is_known_host:
            self.front.require_host(self.request)
            self.is_known_host = True
        if self.site is None:
            raise NotFound(f"there is nothing at {self.request.path[:200]}")
        return self.site

    def _answer_early(self, answer: Answer) -> None:
        """Responds before the body has arrived. So that clients that send it anyway can read the response, the body is
        read and discarded up to a limit; then the connection is closed."""
        headers = self.request.headers
        asks_first = "Expect" in headers
        if asks_first:
            del headers["Expect"]  # the framework would send 100 Continue
        self.is_answered = True
        self._send(answer, close=asks_first or announced(headers) > self.body.most_discarded)

    def data_received(self, chunk: bytes) -> None:
        if self.is_answered:
            if self.body.discard(chunk):
                self._end()
            return
        try:
            self.body.take(chunk)
        except HelpdeskError as error:
            self.refusal = error
            self._answer_early(self._failure(error))

    def _end(self) -> None:
        """Ends the response. Closes the connection if more of the body is to arrive."""
        if not self.is_closed:
            self.connection.finish()

    def finish(self) -> None:
        self.is_reading = False
        if self.is_answered:
            self._end()
            return
        self.request.body = self.body.whole()
        front, request = self.front, self.request
        try:
            if self.refusal is not None:
                raise self.refusal
            site = self._require_site()
            if front.steps and site.inline(request):
                if front.reads_wait:
                    self._on_reader(site)
                    return
                try:
                    self._send(self._counted(site, front.steps))
                    return
                except TextsWait as error:
                    self._once_indexed(error.names)
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
        if self.body.is_arriving:  # a stream has no end
            self.body.let_go()

    def _on_reader(self, site: Site) -> None:
        """Runs a small read; the store runs several at once."""
        front = self.front
        if front.is_stopping:
            raise stopping()
        front.service.store.submit_read(
            lambda: self._counted(site, front.steps), lambda pending: front.returns.put(self, pending)
        )
        front.in_flight += 1

    def _on_writer(self, work: Callable[[], Answer]) -> None:
        """Runs a small write on the writer without a worker thread: two thread switches instead of four."""
        front, request = self.front, self.request
        if front.is_stopping:
            raise stopping()

        def write(tx: Transaction) -> Answer:
            answer = work()
            request.queries = tx.statements
            return answer

        front.service.store.submit(write, lambda pending: front.returns.put(self, pending))
        front.in_flight += 1

    def _once_indexed(self, names: tuple[str, ...]) -> None:
        """Repeats a small read after the writer has indexed the texts that it searches."""
        front = self.front
        front.service.store.submit(
            lambda tx: tx.store.index_waiting(tx, names), lambda pending: front.returns.put(self, pending)
        )
        front.in_flight += 1
        self.awaits_texts = True

    def _again_as_indexed(self) -> None:
        """Repeats a read with the texts that are indexed, if indexing the others failed, such as on a full disk."""
        front, site = self.front, self.site
        assert site is not None
        try:
            with front.service.store.as_indexed():
                answer = self._counted(site, front.steps)
            self._send(answer)
        except OutOfSteps:
            self._again_on_thread()
        except HelpdeskError as error:
            self._send(self._failure(error))
        except Exception as error:
            self._send(self._bug(error))

    def _returned(self, finished: Finished) -> None:
        self.front.in_flight -= 1
        pool, self.pool = self.pool, None
        if pool is not None:
            pool.waiting -= 1
        if self.awaits_texts:
            self.awaits_texts = False
            self.front.service.store.note_indexed(finished.error if isinstance(finished, PendingWrite) else None)
            self._again_as_indexed()
        elif isinstance(finished, Answer):
            self._send(finished)
        elif (error := finished.error) is None:
            self._send(finished.result)
        elif isinstance(error, (NotOnWriter, OutOfSteps)) and pool is None:
            self._again_on_thread()
        elif isinstance(error, HelpdeskError):
            self._send(self._failure(error))
        else:
            self._send(self._bug(error))

    def _again_on_thread(self) -> None:
        """Repeats on a worker thread a request that took too long on a thread of the store, without effects so far."""
        assert self.site is not None
        try:
            self._on_thread(self.site, is_new=False)
        except HelpdeskError as error:
            self._send(self._failure(error))

    def _on_thread(self, site: Site, is_new: bool = True) -> None:
        """is_new: whether a stopping service may refuse it."""
        front = self.front
        pool = front.hashing if site.hashes(self.request) else site.pool or front.pool
        if is_new and front.is_stopping:
            raise stopping()
        pool.require_room()
        pool.waiting += 1
        front.in_flight += 1
        self.pool = pool

        def work() -> None:
            answer = self._answer(site)
            if site.packs:  # on this thread, which delays no other request
                answer = entity_tags.pack(entity_tags.rendered(answer), self.request)
            if answer.write is None:
                front.returns.put(self, answer)
            else:
                self._write_before(answer, answer.write)

        pool.threads.submit(work)

    def _write_before(self, answer: Answer, write: Write) -> None:
        """Lets the writer send the response after its commit, so that this thread can serve other requests."""
        returns, request = self.front.returns, self.request

        def written(tx: Transaction) -> Answer:
            write(tx)
            return answer

        def done(pending: PendingWrite) -> None:
            request.queries += pending.statements
            returns.put(self, pending)

        try:
            self.front.service.store.submit(written, done)
        except HelpdeskError as error:
            returns.put(self, self._failure(error))

    def _answer(self, site: Site) -> Answer:
        """Returns the response; on a worker thread, and never raises."""
        try:
            return self._counted(site, None)
        except HelpdeskError as error:
            return self._failure(error)
        except Exception as error:
            return self._bug(error)

    def _counted(self, site: Site, steps: int | None) -> Answer:
        """Returns the site's response, and counts its statements for the log line."""
        store = self.front.service.store
        store.take_queries()
        try:
            return site.answer(self.request, steps)
        finally:
            self.request.queries += store.take_queries()

    def _failure(self, error: HelpdeskError) -> Answer:
        status, _ = error_bodies.status_and_code(error)
        headers = error_bodies.headers(error, self.front.service.base_url)
        own = self.site.failure(error) if self.site is not None else None
        if own is not None:
            return own
        if self.site is not None and not self.site.is_json:
            if self.request.method == "GET" and "Retry-After" in headers:  # browsers ignore Retry-After
                headers = {**headers, "Refresh": headers["Retry-After"]}
            return Answer(status=status, headers=headers, body=error.message.encode(), content_type="text/plain")
        if self.front.errors_as_200 and status != 401 and self.request.path.startswith("/rest/"):
            status = 200
        return Answer(error_bodies.body(error), status, headers)

    def _bug(self, error: BaseException) -> Answer:
        LOG.exception("request.failed", of=error, request_id=self.request.id, path=log.mask_path(self.request.path))
        message = lazy_gettext(error_bodies.BUG_MESSAGE, id=self.request.id)
        own = self.site.failure(HelpdeskError(message)) if self.site is not None else None
        return own or Answer({"__error": "ERROR_SERVER", "message": message}, 500)

    def _send(self, answer: Answer, close: bool = False) -> None:
        request = self.request
        if self.site is not None and self.site.is_json:
            request.told["X-Request-Id"] = request.id
        if request.allowed_origin:
            request.told |= cors.headers(request)
        if request.told:
            answer.headers = answer.headers | request.told
        if answer.pieces is not None and request.method != "HEAD":
            self.streaming = asyncio.ensure_future(self._stream(answer))
            return
        feeds = answer.feeds or ((answer.feed,) if answer.feed is not None else ())
        if feeds and request.method != "HEAD":
            self._follow(answer, feeds)
            return
        answer = entity_tags.rendered(answer)
        if len(answer.body) >= LEAST_BYTES and self.site is not None and self.site.packs:
            answer = entity_tags.pack(answer, request, MOST_AT_ONCE_BYTES)
        body, kind = answer.body, answer.content_type
        if answer.view is not None and entity_tags.is_known(request, answer.headers["ETag"]):
            answer.status, kind = 304, ""
        if answer.status in NO_BODY:  # the client would parse it as the beginning of the next response
            body = b""
        length = answer.length if answer.pieces is not None else len(body)
        closes, sent = close or self.front.closes, b"" if request.method == "HEAD" else body
        if self.is_closed:
            pass
        elif self.is_answered:  # finishing would close the connection and lose the response
            with suppress(StreamClosedError):
                self.connection.write_headers(start_line(answer.status), head(answer, kind, length, closes), sent)
        else:
            connection = self.connection.announces or ("close" if closes else "")
            self.connection.answer(head_text(answer, kind, length, connection) + sent)
        self._log(answer.status, len(body))

    def _follow(self, answer: Answer, feeds: tuple[Feed, ...]) -> None:
        """Starts a response that continues as a stream."""
        assert self.site is not None
        if self.front.reads_wait:
            self.streaming = asyncio.ensure_future(self._follow_from_thread(self.site, answer, feeds))
        else:
            self._follow_as(lambda site=self.site: site.follower(self.request), answer, feeds)  # type: ignore[misc]

    async def _follow_from_thread(self, site: Site, answer: Answer, feeds: tuple[Feed, ...]) -> None:
        pool = self.front.pool
        looking = asyncio.get_running_loop().run_in_executor(pool.threads, site.follower, self.request)
        await asyncio.wait([looking])
        self._follow_as(looking.result, answer, feeds)

    def _follow_as(self, who: Callable[[], Follower], answer: Answer, feeds: tuple[Feed, ...]) -> None:
        streams = self.front.streams
        try:
            follower = who()
            streams.require_room(follower)
        except HelpdeskError as error:
            self._send(self._failure(error))
            return
        if not self.is_closed:
            headers = head(answer, MEDIA_TYPE, UNKNOWN_LENGTH, self.front.closes)
            headers["X-Accel-Buffering"] = "no"  # nginx would buffer events
            self.connection.write_headers(start_line(answer.status), headers)
            streams.add(*(Stream(self.connection, feed, follower, self.request.id) for feed in feeds))
        self._log(answer.status, 0)

    async def _stream(self, answer: Answer) -> None:
        """Sends a large body piece by piece, no faster than the client reads."""
        assert answer.pieces is not None
        self.front.in_flight += 1
        loop = asyncio.get_running_loop()
        try:
            headers = head(answer, answer.content_type, answer.length, self.front.closes)
            line = start_line(answer.status)
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
            self.connection.stream.close()
        finally:
            self.front.in_flight -= 1
            self._log(answer.status, answer.length)

    def _log(self, status: int, length: int) -> None:
        request = self.request
        request.body = b""
        self.body.let_go()
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


def _first_part(path: str) -> str:
    """`/rest/` of `/rest/records/1.json`."""
    return path[: path.find("/", 1) + 1]


def _chars(headers: HTTPHeaders) -> int:
    return sum(len(name) + len(value) for name, value in headers.get_all())
