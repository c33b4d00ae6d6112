"""Connections to allowed hosts, each bound to the deadline of its request.

The name is resolved once, every returned address must be allowed, and the connection uses one of them: a second lookup
might return others.

Not urllib3, whose timeouts begin again with each byte that a slow peer sends, whose heads have up to 6 MB, and which
resolves names itself; what it would save, about fifteen lines, costs each start 57 ms."""

import contextlib
import functools
import http.client
import io
import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

from server.errors import Rejected, TimedOut, Unavailable
from server.outbound.allowlist import Allowlist
from server.outbound.urls import HttpUrl
from server.translation import N_

MAX_CONNECT_SECONDS = 5  # seconds for each address of a host
MAX_ADDRESSES = 4  # addresses of a host that are tried
MAX_HEAD_BYTES = 64 * 1024  # bytes of a response's status line and headers
SEND_BYTES = 64 * 1024  # per call

Resolver = Callable[..., Sequence[Any]]  # has the signature of socket.getaddrinfo


class Deadline:
    """The end of a request, on the monotonic clock."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ends_at = time.monotonic() + seconds

    def left(self) -> float:
        """Returns the remaining seconds, more than 0. Raises TimedOut."""
        seconds = self._ends_at - time.monotonic()
        if seconds <= 0:
            raise self.over()
        return seconds

    def over(self) -> TimedOut:
        """Returns the error for an expired deadline."""
        return TimedOut(f"no complete response within {self.seconds:g} seconds")


class SocketStream(io.RawIOBase):
    """A connected socket with the interface that http.client needs. Every wait ends with the deadline, however slow the
    peer is; a head that does not end is cut at MAX_HEAD_BYTES."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        super().__init__()
        self._socket = sock
        self._deadline = deadline
        self._head_left: int | None = MAX_HEAD_BYTES

    def makefile(self, mode: str, *_: object) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._socket.settimeout(self._deadline.left())
        try:
            count = self._socket.recv_into(buffer)
        except TimeoutError:
            raise self._deadline.over() from None
        if self._head_left is not None:
            self._head_left -= count
            if self._head_left < 0:
                raise Unavailable(f"the response starts with more than {MAX_HEAD_BYTES:,} bytes of headers")
        return count

    def head_is_read(self) -> None:
        """Ends the limit of the head; the body is limited elsewhere."""
        self._head_left = None

    def sendall(self, content: bytes) -> None:
        rest = memoryview(content)
        while rest:
            self._socket.settimeout(self._deadline.left())
            try:
                rest = rest[self._socket.send(rest[:SEND_BYTES]) :]
            except TimeoutError:
                raise self._deadline.over() from None

    def close(self) -> None:
        """Does nothing: http.client closes the socket after the head, before the body is read."""

    def hang_up(self) -> None:
        self._socket.close()

    def interrupt(self) -> None:
        """Ends the wait of another thread for this peer. The socket stays open until that thread closes it, so that
        no other connection gets its number."""
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # not that of TLS, which would wait for its lock


class Cancellation:
    """Cancels one request from another thread: its connection ends, so that the peer can stop working on it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._line: SocketStream | None = None
        self.is_cancelled = False

    def attach(self, line: SocketStream) -> None:
        """Makes the connection of the request known. Raises Unavailable if the request is cancelled already."""
        with self._lock:
            self._line = line
        self.require_none()

    def require_none(self) -> None:
        """Raises Unavailable if the request is cancelled."""
        if self.is_cancelled:
            raise Unavailable(N_("the request was cancelled"))

    def cancel(self) -> None:
        """Cancels the request, now or as soon as it is connected. Callable on any thread, and more than once."""
        with self._lock:
            self.is_cancelled = True
            line = self._line
        if line is not None:
            line.interrupt()


def connect(
    url: HttpUrl,
    permitted: Allowlist,
    deadline: Deadline,
    *,
    verify: bool = True,
    resolve: Resolver = socket.getaddrinfo,
) -> tuple[http.client.HTTPConnection, SocketStream]:
    """Connects to the host of `url`. Returns a connection for http.client, and its stream, which the caller must hang
    up.

    verify: whether the certificate must be valid for the host. resolve: resolves names. Raises Rejected for a host that
    must not be reached or an invalid certificate, Unavailable, TimedOut."""
    addresses = _addresses(url, permitted, deadline, resolve)
    sock = _connected(url, addresses, deadline)
    if url.scheme == "https":
        sock = _encrypted(sock, url, deadline, verify)
    line = SocketStream(sock, deadline)
    connection = http.client.HTTPConnection(url.host, url.port)
    connection.auto_open = 0  # it must not reconnect by itself
    connection.sock = cast(socket.socket, line)
    return connection, line


def _addresses(url: HttpUrl, permitted: Allowlist, deadline: Deadline, resolve: Resolver) -> list[tuple[str, int]]:
    """Returns [(IP address, port)] of the host, all of them allowed."""
    addresses = list(
        dict.fromkeys(
            (str(place[0]), int(place[1]))
            for family, *_, place in _looked_up(url, deadline, resolve)
            if family in (socket.AF_INET, socket.AF_INET6)
        )
    )
    if not addresses:
        raise Unavailable(f"the host {url.host} has no address")
    for address, _ in addresses:
        if not permitted.lets(url.host, address):
            label = url.host if url.host == address else f"{url.host} ({address})"
            raise Rejected(
                f"{label} is not on the public internet; an administrator can allow it with the setting outbound_allow",
                field="url",
            )
    return addresses[:MAX_ADDRESSES]


def _looked_up(url: HttpUrl, deadline: Deadline, resolve: Resolver) -> Sequence[Any]:
    """Resolves a name on a separate thread: the lookup of the system cannot be stopped, but its callers can stop
    waiting."""
    results: queue.SimpleQueue[Sequence[Any] | Exception] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            results.put(resolve(url.host, url.port, type=socket.SOCK_STREAM))
        except Exception as error:
            results.put(error)

    threading.Thread(target=look_up, name="lookup", daemon=True).start()
    try:
        result = results.get(timeout=deadline.left())
    except queue.Empty:
        raise deadline.over() from None
    if isinstance(result, (OSError, UnicodeError)):
        raise Unavailable(f"the host {url.host} cannot be resolved: {reason(result)}") from result
    if isinstance(result, Exception):
        raise result
    return result


def _connected(url: HttpUrl, addresses: list[tuple[str, int]], deadline: Deadline) -> socket.socket:
    why = ""
    for each in addresses:
        try:
            # An IP address needs no second lookup.
            return socket.create_connection(each, min(MAX_CONNECT_SECONDS, deadline.left()))
        except OSError as error:
            why = reason(error)
    deadline.left()
    raise Unavailable(f"{url.authority} cannot be reached: {why}")


def _encrypted(sock: socket.socket, url: HttpUrl, deadline: Deadline, verify: bool) -> socket.socket:
    try:
        sock.settimeout(deadline.left())
        return tls_context(verify).wrap_socket(sock, server_hostname=url.host)
    except ssl.SSLCertVerificationError as error:
        sock.close()
        raise Rejected(f"the certificate of {url.host} is not valid: {error.verify_message}", field="url") from error
    except OSError as error:
        sock.close()
        deadline.left()
        raise Unavailable(f"{url.authority} cannot be reached by https: {reason(error)}") from error
    except BaseException:
        sock.close()
        raise


@functools.cache
def tls_context(verify: bool) -> ssl.SSLContext:
    """Returns the TLS configuration. It trusts the certificate authorities of this machine and of the package requests:
    a packed program may run where the former are missing."""
    from requests import certs  # imported late, since it takes longer to load than this module

    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    if verify:
        context.load_verify_locations(certs.where())
    else:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def reason(error: Exception) -> str:
    """Describes a network error in a few words, without memory addresses and codes."""
    if isinstance(error, TimeoutError):
        return "no response in time"
    if isinstance(error, ssl.SSLError):
        return (error.reason or "the encryption failed").lower().replace("_", " ")
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__)[:200]
