"""Sends the response to a request: in one piece, as a file piece by piece, or as a stream of events."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from tornado.iostream import StreamClosedError

from server import log
from server.errors import HelpdeskError
from server.web import cors, entity_tags
from server.web.bodies import IncomingBody
from server.web.endpoint_call import Feed, Response
from server.web.error_responses import error_response
from server.web.front import Front
from server.web.heads import head, head_text, start_line
from server.web.packed import LEAST_BYTES, MOST_AT_ONCE_BYTES
from server.web.serving import ServedRequest
from server.web.site import UNKNOWN_LENGTH, Request, Site
from server.web.streams import MEDIA_TYPE, Follower, Stream

LOG = log.get("web")
NO_BODY = frozenset((204, 205, 304))  # statuses without a body


class ResponseSender:
    """Sends one response, on the event loop. request: set when its head has arrived. body: of the request, released
    with the response. is_early: the response was sent before the body arrived, which is discarded. is_closed: the
    client has closed the connection."""

    __slots__ = ("request", "is_early", "is_closed", "_front", "_connection", "_body", "_streaming")
    request: Request

    def __init__(self, front: Front, connection: ServedRequest, body: IncomingBody) -> None:
        self.is_early = False
        self.is_closed = False
        self._front = front
        self._connection = connection
        self._body = body
        self._streaming: asyncio.Future[None] | None = None  # a reference, against garbage collection while it runs

    def send_early(self, response: Response, close: bool) -> None:
        """Sends the response before the body has arrived. close: whether to close the connection afterwards."""
        self.is_early = True
        self.send(response, close)

    def end(self) -> None:
        """Ends an early response. Closes the connection if a part of the body has not arrived."""
        if not self.is_closed:
            self._connection.finish()

    def send_error(self, error: BaseException) -> None:
        """Sends the response to an error."""
        self.send(error_response(self._front, self.request, error))

    def send(self, response: Response, close: bool = False) -> None:
        """Sends the response. close: whether to close the connection afterwards."""
        request = self.request
        site = request.site
        if site is not None and site.is_json:
            request.told["X-Request-Id"] = request.id
        if request.allowed_origin:
            request.told |= cors.headers(request)
        if request.told:
            response.headers = response.headers | request.told
        if response.pieces is not None and request.method != "HEAD":
            self._streaming = asyncio.ensure_future(self._send_pieces(response))
            return
        feeds = response.feeds or ((response.feed,) if response.feed is not None else ())
        if feeds and request.method != "HEAD":
            self._follow(response, feeds)
            return
        response = entity_tags.rendered(response)
        if len(response.body) >= LEAST_BYTES and site is not None and site.packs:
            response = entity_tags.pack(response, request, MOST_AT_ONCE_BYTES)
        body, kind = response.body, response.content_type
        if response.view is not None and entity_tags.is_known(request, response.headers["ETag"]):
            response.status, kind = 304, ""
        if response.status in NO_BODY:  # the client would parse it as the beginning of the next response
            body = b""
        length = response.length if response.pieces is not None else len(body)
        closes, sent = close or self._front.closes, b"" if request.method == "HEAD" else body
        connection = self._connection
        if self.is_closed:
            pass
        elif self.is_early:  # finishing would close the connection and lose the response
            with suppress(StreamClosedError):
                connection.write_headers(start_line(response.status), head(response, kind, length, closes), sent)
        else:
            announced = connection.announces or ("close" if closes else "")
            connection.send_whole(head_text(response, kind, length, announced) + sent)
        self._finish(response.status, len(body))

    def _follow(self, response: Response, feeds: tuple[Feed, ...]) -> None:
        """Starts a response that continues as a stream."""
        site = self.request.site
        assert site is not None
        if self._front.reads_wait:
            self._streaming = asyncio.ensure_future(self._follow_from_thread(site, response, feeds))
        else:
            self._follow_as(lambda: site.follower(self.request), response, feeds)

    async def _follow_from_thread(self, site: Site, response: Response, feeds: tuple[Feed, ...]) -> None:
        pool = self._front.pool
        looking = asyncio.get_running_loop().run_in_executor(pool.threads, site.follower, self.request)
        await asyncio.wait([looking])
        self._follow_as(looking.result, response, feeds)

    def _follow_as(self, who: Callable[[], Follower], response: Response, feeds: tuple[Feed, ...]) -> None:
        streams = self._front.streams
        try:
            follower = who()
            streams.require_room(follower)
        except HelpdeskError as error:
            self.send_error(error)
            return
        if not self.is_closed:
            headers = head(response, MEDIA_TYPE, UNKNOWN_LENGTH, self._front.closes)
            headers["X-Accel-Buffering"] = "no"  # nginx would buffer events
            self._connection.write_headers(start_line(response.status), headers)
            streams.add(*(Stream(self._connection, feed, follower, self.request.id) for feed in feeds))
        self._finish(response.status, 0)

    async def _send_pieces(self, response: Response) -> None:
        """Sends a large body piece by piece, no faster than the client reads."""
        assert response.pieces is not None
        front, connection = self._front, self._connection
        front.in_flight += 1
        loop = asyncio.get_running_loop()
        try:
            headers = head(response, response.content_type, response.length, front.closes)
            await connection.write_headers(start_line(response.status), headers)
            pieces = response.pieces()
            while True:
                piece = await loop.run_in_executor(front.pool.threads, next, pieces, None)
                if piece is None:
                    break
                await connection.write(piece)
            connection.finish()
        except StreamClosedError:
            pass
        except Exception:
            LOG.exception("answer.broken", request_id=self.request.id)
            connection.stream.close()
        finally:
            front.in_flight -= 1
            self._finish(response.status, response.length)

    def _finish(self, status: int, length: int) -> None:
        """Releases the body of the request, counts the request and logs it."""
        front, request = self._front, self.request
        request.body = b""
        self._body.let_go()
        seconds = time.perf_counter() - request.started
        front.meter.count(request.method, request.route, status, seconds)
        if front.logs_requests:
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
