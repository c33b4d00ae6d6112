"""One request and its response on one connection, as the framework reports them: the head, the pieces of the body, and
its end. request_head.py checks the head, bodies.py collects the body, dispatch.py runs the request, response_sender.py
sends the response."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from tornado.httputil import HTTPHeaders, HTTPMessageDelegate

from server.access import lockout
from server.errors import HelpdeskError
from server.web.bodies import IncomingBody
from server.web.dispatch import Dispatch
from server.web.endpoint_call import Response
from server.web.error_responses import error_response
from server.web.front import Front
from server.web.hosts import in_origin_form
from server.web.request_head import find_site, received_request, require_lengths, require_site
from server.web.response_sender import ResponseSender
from server.web.serving import ServedRequest
from server.web.site import Request, Site, announced

Result = TypeVar("Result")
OTHER_BODY_BYTES = 64 * 1024  # limit of a body that no site reads


class Exchange(HTTPMessageDelegate):
    """One request and its response. is_waiting: for the head. is_reading: the head or the body. since: when that wait
    began. refusal: the error of a request without a body, sent when the request ends."""

    def __init__(self, front: Front, connection: ServedRequest) -> None:
        self.front = front
        self.connection = connection
        self.request: Request
        self.body = IncomingBody(front.bodies)
        self.sender = ResponseSender(front, connection, self.body)
        self.refusal: HelpdeskError | None = None
        self.is_waiting = True
        self.is_reading = True
        self.since = time.monotonic()

    @property
    def is_arriving(self) -> bool:
        """Whether the head has arrived and the body has not."""
        return self.is_reading and not (self.is_waiting or self.sender.is_early or self.sender.is_closed)

    def headers_received(self, start_line: Any, headers: HTTPHeaders) -> Awaitable[None] | None:
        self.is_waiting = False
        self.since = time.monotonic()
        front, connection = self.front, self.connection
        if not start_line.path.startswith("/"):
            start_line, headers = in_origin_form(start_line, headers)
        self.request = self.sender.request = received_request(front, start_line, headers, connection.peer)
        # Bodies are measured below: the framework would respond to large ones with a bare status line.
        connection.set_max_body_size(sys.maxsize)
        if front.may_be_new(headers.get("Host", "")):
            return self._check_at_new_host(start_line)
        return self._check(start_line)

    async def _check_at_new_host(self, start_line: Any) -> None:
        """Reads the host names of brands again, since another process may have saved this one, and then checks the
        request."""
        front = self.front
        try:
            await self._on_thread(front.renew_hosts)
        except Exception as error:
            self._respond_early(error_response(front, self.request, error))
            return
        find_site(front, self.request)
        admitting = self._check(start_line)
        if admitting is not None:
            await admitting

    def _check(self, start_line: Any) -> Awaitable[None] | None:
        """Checks the head of a request before its body is read."""
        front, request, connection = self.front, self.request, self.connection
        headers = request.headers
        self.body.limit = request.site.limit(request) if request.site is not None else OTHER_BODY_BYTES
        length = announced(headers)
        try:
            require_lengths(start_line, headers, connection.head_chars)
            if length > self.body.limit:
                raise self.body.too_large()
            site = require_site(front, request)
            if length:
                return self._admit(site)
        except HelpdeskError as error:
            if length:
                self._respond_early(error_response(front, request, error))
            else:
                self.refusal = error
        except Exception as error:
            self._respond_early(error_response(front, request, error))
        return None

    def _admit(self, site: Site) -> Awaitable[None] | None:
        """Checks a request before its body is read, or responds to it if the site does not need the body."""
        request = self.request
        self.body.sharers = (lockout.address(request.client), *([site.share] if site.share else []))
        if self.front.reads_wait and site.looks(request):
            return self._admit_on_thread(site)
        early = site.admit(request)
        if early is not None:
            self._respond_early(early)
        return None

    async def _admit_on_thread(self, site: Site) -> None:
        """Checks the request on a thread. The framework does not read the body before that ends."""
        front, request = self.front, self.request
        try:
            early = await self._on_thread(lambda: site.admit(request))
            if early is not None:
                self._respond_early(early)
        except Exception as error:
            self._respond_early(error_response(front, request, error))

    async def _on_thread(self, work: Callable[[], Result]) -> Result:
        """Runs work that waits for the database. Raises Unavailable if too many requests wait for a thread."""
        pool = self.front.pool
        pool.require_room()
        pool.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(pool.threads, work)
        finally:
            pool.waiting -= 1

    def _respond_early(self, response: Response) -> None:
        """Responds before the body has arrived. So that clients that send it anyway can read the response, the body is
        read and discarded up to a limit; then the connection is closed."""
        headers = self.request.headers
        asks_first = "Expect" in headers
        if asks_first:
            del headers["Expect"]  # the framework would send 100 Continue
        self.sender.send_early(response, close=asks_first or announced(headers) > self.body.most_discarded)

    def data_received(self, chunk: bytes) -> None:
        if self.sender.is_early:
            if self.body.discard(chunk):
                self.sender.end()
            return
        try:
            self.body.take(chunk)
        except HelpdeskError as error:
            self._respond_early(error_response(self.front, self.request, error))

    def finish(self) -> None:
        self.is_reading = False
        sender, request = self.sender, self.request
        if sender.is_early:
            sender.end()
            return
        request.body = self.body.whole()
        if self.refusal is not None:
            sender.send_error(self.refusal)
        else:
            assert request.site is not None  # or the request was refused
            Dispatch(self.front, request, request.site, sender).start()

    def on_connection_close(self) -> None:
        self.sender.is_closed = True
        if self.body.is_arriving:  # a stream has no end
            self.body.let_go()
