"""Limits the connections of clients, so that the process has enough open files for the database, mail and responses.
Above the limit, a new connection replaces the one that has waited longest for a request. A client that does not read
its response times out like one that does not send its request."""

import asyncio
import socket
import time
from contextlib import suppress
from typing import Any

import tornado
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPConnection, HTTPMessageDelegate
from tornado.ioloop import PeriodicCallback
from tornado.iostream import IOStream

from server import log
from server.errors import Unavailable
from server.web.exchange import Exchange
from server.web.front import Front
from server.web.serving import ListeningStream, ServedConnection, ServedRequest

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

MIN_TORNADO = (6, 6)
WANTED_FILES = 10_240  # granted by every system; many start with 256 or 1,024
FILES_WITHOUT_LIMIT = 512  # Windows has no limit to query: what one call of select() accepts there
LOOK_SECONDS = 5.0  # seconds between two checks for idle clients; shorter if their timeouts are
LAST_SECONDS, LAST_LOOK_SECONDS = 1.0, 0.02  # seconds for requests in transit when the server stops
TOLD_SECONDS = 60  # seconds between two log lines about too many connections
LOG = log.get("web")


def require_framework() -> None:
    """Raises Unavailable if the framework is too old to limit the size of requests."""
    if tornado.version_info[:2] < MIN_TORNADO:
        version = ".".join(map(str, MIN_TORNADO))
        raise Unavailable(f"Tornado {version} or newer is needed, this is {tornado.version}; install it again")


def raise_limit() -> None:
    """Raises the limit of open files of this process, up to WANTED_FILES."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = WANTED_FILES if hard == resource.RLIM_INFINITY else min(hard, WANTED_FILES)
    if soft == resource.RLIM_INFINITY or soft >= limit:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    except (OSError, ValueError) as error:
        LOG.warning("files.limit", files=soft, reason=str(error))


def most_connections() -> int:
    """Returns half the number of files that the process may open now; the rest is for the database and other
    programs."""
    if resource is None:
        return FILES_WITHOUT_LIMIT // 2
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return (WANTED_FILES if files == resource.RLIM_INFINITY else files) // 2


class Connections(HTTPServer):
    """The framework's server with a limit on its connections."""

    def initialize(  # type: ignore[override]
        self, front: Front, idle_timeout: float, body_timeout: float, **options: Any
    ) -> None:
        """idle_timeout: seconds that a connection may wait for the head of a request. body_timeout: seconds for the
        body, and for which a client may read nothing of the response. options: further ones of the framework."""
        super().initialize(self, **options)  # self: requests begin in start_request
        self._front = front
        # A timer of the framework for each request costs a tenth of a small request; one periodic check is enough.
        self.conn_params.header_timeout = None
        self._idle_seconds, self._seconds = idle_timeout, body_timeout
        self._looking = PeriodicCallback(self._look, min(LOOK_SECONDS, idle_timeout, body_timeout) * 1000)
        self._looking.start()
        self._taken: dict[IOStream, tuple[int, float]] = {}  # bytes that the client has read, and since when
        self._streams: dict[IOStream, Exchange | None] = {}  # longest wait for a request first
        self._new: dict[IOStream, float] = {}  # connections without a request yet, and since when
        self._told_at = -TOLD_SECONDS * 1.0
        front.streams.most = min(front.streams.most, most_connections() // 2)  # others have requests
        front.meter.gauges["connections"] = ("Connections of clients.", lambda: len(self._streams))

    def start_request(self, server_conn: object, request_conn: HTTPConnection) -> HTTPMessageDelegate:
        """Returns the receiver of the next request on a connection, which is marked as waiting."""
        assert isinstance(request_conn, ServedRequest)
        exchange = Exchange(self._front, request_conn)
        stream = request_conn.stream
        if self._streams.pop(stream, None) is not None:  # moves to the end of the queue
            self._new.pop(stream, None)
        if not stream.closed():
            self._streams[stream] = exchange
        return exchange

    def on_close(self, server_conn: object) -> None:
        self._forget(server_conn.stream)  # type: ignore[attr-defined]
        super().on_close(server_conn)

    def _forget(self, stream: IOStream) -> None:
        self._streams.pop(stream, None)
        self._new.pop(stream, None)

    def _handle_connection(self, connection: socket.socket, address: Any) -> None:
        """Creates a ListeningStream, where the framework creates an IOStream."""
        try:
            stream = ListeningStream(
                connection, max_buffer_size=self.max_buffer_size, read_chunk_size=self.read_chunk_size
            )
            self.handle_stream(stream, address)
        except Exception:
            LOG.exception("connection.failed")

    def handle_stream(self, stream: IOStream, address: Any) -> None:
        """A new connection."""
        served = ServedConnection(stream, self.conn_params, address)
        self._connections.add(served)
        served.start_serving(self)
        self._streams.setdefault(stream, None)
        self._new[stream] = time.monotonic()
        if len(self._streams) > most_connections():
            self._make_room()

    async def last_call(self) -> None:
        """Stops accepting connections, and serves those already established: a request in transit on a new connection
        would be lost."""
        for each in self._sockets.values():
            with suppress(OSError):  # the wait was cancelled
                while True:
                    self._handle_connection(*each.accept())
        self.stop()
        began = time.monotonic()
        while any(self._is_expected(*each, began) for each in self._streams.items()):
            await asyncio.sleep(LAST_LOOK_SECONDS)

    def _is_expected(self, stream: IOStream, exchange: Exchange | None, began: float) -> bool:
        """Whether a request is still to arrive: the first one of a new connection, or the rest of one."""
        now, new_since = time.monotonic(), self._new.get(stream)
        if exchange is None or exchange.is_waiting:
            return new_since is not None and now - new_since < LAST_SECONDS
        return exchange.is_arriving and now - began < LAST_SECONDS

    async def close_all_connections(self) -> None:
        self._looking.stop()
        await super().close_all_connections()

    def _look(self) -> None:
        self._close_silent()
        self._close_unread()

    def _close_silent(self) -> None:
        """Closes connections whose clients have not sent a complete request in time."""
        now = time.monotonic()
        for stream, exchange in list(self._streams.items()):
            if exchange is not None and exchange.is_reading:
                most = self._idle_seconds if exchange.is_waiting else self._seconds
                if now - exchange.since > most:
                    stream.close()

    def _close_unread(self) -> None:
        """Closes connections whose clients have stopped reading their responses."""
        now, before = time.monotonic(), self._taken
        self._taken = {}
        for stream in [each for each in self._streams if each.writing()]:
            written = stream._total_write_done_index
            since = before[stream][1] if stream in before and before[stream][0] == written else now
            if now - since > self._seconds:
                stream.close()
            else:
                self._taken[stream] = (written, since)

    def _make_room(self) -> None:
        """Closes the connection that has waited longest for a request, or the new one if all others have sent
        theirs."""
        for stream, exchange in self._streams.items():
            if exchange is None or exchange.is_waiting:
                self._forget(stream)
                stream.close()
                break
        now = time.monotonic()
        if now - self._told_at >= TOLD_SECONDS:
            self._told_at = now
            LOG.warning("connections.full", connections=len(self._streams))
