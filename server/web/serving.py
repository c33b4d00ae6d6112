"""Requests on the connections of clients, on top of the framework, which parses, checks and limits them. This module
skips work that the framework would repeat for each request. A complete response is sent as bytes at once, where the
framework would start a stream. Headers equal to those of the previous request on a connection are not parsed again,
which saves 10 microseconds for two lines and 27 for seven: 5 to 13 % of a small read.

tests/web/test_framework_names.py lists the private names of the framework that this uses."""

import asyncio
import sys
from typing import Any

from tornado.concurrent import future_add_done_callback, future_set_result_unless_cancelled
from tornado.http1connection import HTTP1Connection, HTTP1ConnectionParameters, HTTP1ServerConnection
from tornado.httputil import HTTPHeaders, HTTPServerConnectionDelegate
from tornado.iostream import IOStream, StreamClosedError, UnsatisfiableReadError

from server import log

MAX_KEPT_CHARS, MAX_KEPT_LINES = 2048, 32  # headers cached for each of possibly thousands of connections
UNIX_SOCKET = "127.0.0.1"  # a peer has no address; it is on this machine
MAX_AHEAD_BYTES = 32 * 1024  # received and not yet read; above it, reading pauses
LOG = log.get("web")


class ListeningStream(IOStream):
    """The bytes of a client. The event loop keeps the socket registered for reading while a request is processed: the
    framework would unregister it for a request with a body, and register it again for the next one, which takes
    20 microseconds, 4 % of creating an address."""

    _is_filling = False

    def reading(self) -> bool:
        """Whether to listen. While data is being read, the framework decides whether it needs more."""
        return super().reading() or (not self._is_filling and self._read_buffer_size < MAX_AHEAD_BYTES)

    def _handle_read(self) -> None:
        self._is_filling = True
        try:
            super()._handle_read()
        finally:
            self._is_filling = False


class ServedConnection(HTTP1ServerConnection):
    """One connection of a client. peer: its address. headers: those of its last request with their text; requests must
    not change them."""

    def __init__(self, stream: IOStream, params: HTTP1ConnectionParameters, address: Any) -> None:
        self.peer = str(address[0]) if isinstance(address, tuple) and address else UNIX_SOCKET
        super().__init__(stream, params, self.peer)
        self.headers: tuple[str, HTTPHeaders] = ("", HTTPHeaders())

    async def _server_request_loop(self, delegate: HTTPServerConnectionDelegate) -> None:
        """As in the framework, with our own requests."""
        try:
            # Responses leave in one write, so that waiting for more to send (Nagle) only delays them.
            self.stream.set_nodelay(True)
            while True:
                request = ServedRequest(self)
                if not await self._is_to_go_on(request, delegate):
                    return
                await asyncio.sleep(0)  # a client with pipelined requests yields to others
        finally:
            delegate.on_close(self)

    async def _is_to_go_on(self, request: "ServedRequest", delegate: HTTPServerConnectionDelegate) -> bool:
        """Reads and serves one request; returns whether another may follow."""
        try:
            return await request.read_response(delegate.start_request(self, request))
        except (StreamClosedError, UnsatisfiableReadError, asyncio.CancelledError):
            return False
        except Exception:
            LOG.exception("connection.failed")
            request.close()
            return False


class ServedRequest(HTTP1Connection):
    """One request on a connection, and its response. peer: the address of the client. head_chars: length of its request
    line and headers."""

    def __init__(self, served: ServedConnection) -> None:
        super().__init__(served.stream, False, served.params, served.context)
        self._served = served
        self.peer = served.peer
        self.head_chars = sys.maxsize  # unknown until the head has been read

    def _parse_headers(self, data: bytes) -> tuple[str, HTTPHeaders]:
        text = data.decode("latin1").lstrip("\r\n")
        self.head_chars = len(text)
        line, _, below = text.partition("\n")
        text_before, headers = self._served.headers
        if below != text_before:
            headers = HTTPHeaders.parse(below)
            is_short = len(below) <= MAX_KEPT_CHARS and below.count("\n") <= MAX_KEPT_LINES
            if is_short and not _is_changed(headers):
                self._served.headers = below, headers
        return line.rstrip("\r"), headers

    @property
    def announces(self) -> str:
        """Returns the value of the response's Connection header, "" for none."""
        line, headers = self._request_start_line, self._request_headers
        assert line is not None
        assert headers is not None
        if line.version == "HTTP/1.1":
            return "close" if self._disconnect_on_finish else ""
        return "Keep-Alive" if headers.get("Connection", "").lower() == "keep-alive" else ""

    def send_whole(self, whole: bytes) -> None:
        """Sends a complete response, head and body, and finishes the request."""
        if self.stream.closed():
            self._finish_request(None)
            return
        written = self.stream.write(whole)
        self._write_finished = True
        if not self._read_finished:  # the rest of this request must not be parsed as the next one
            self._disconnect_on_finish = True
        if written.done():
            self._finish_request(None)
        else:
            future_add_done_callback(written, self._finish_request)

    def _finish_request(self, future: Any) -> None:
        """As in the framework, which also delays small packets (Nagle's algorithm)."""
        self._clear_callbacks()
        if self._disconnect_on_finish:
            self.close()
        elif not self._finish_future.done():
            future_set_result_unless_cancelled(self._finish_future, None)


def _is_changed(headers: HTTPHeaders) -> bool:
    """Whether the headers are modified later: by the framework if a length is repeated, by server.py for Expect."""
    return "Expect" in headers or "," in headers.get("Content-Length", "")
