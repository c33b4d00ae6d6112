"""Connections to hosts that may be reached, each bound to the time that the whole of a request has.

The name is looked up once, every address that comes back must be allowed, and the connection goes to one of them: what
is looked up a second time may have changed."""

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
from server.outbound.addresses import Allowlist
from server.outbound.urls import HttpUrl

MAX_CONNECT_SECONDS = 5  # seconds for each address of a host
MAX_ADDRESSES = 4  # addresses of a host that are tried
MAX_HEAD_BYTES = 64 * 1024  # bytes of a response's status line and headers
SEND_BYTES = 64 * 1024  # handed over at once

Resolver = Callable[..., Sequence[Any]]  # as in socket.getaddrinfo


class Deadline:
    """When a request must be over, on the monotonic clock."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ends_at = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds, more than 0. Raises TimedOut."""
        left = self._ends_at - time.monotonic()
        if left <= 0:
            raise self.over()
        return left

    def over(self) -> TimedOut:
        """The error for a request whose time is over."""
        return TimedOut(f"no complete answer within {self.seconds:g} seconds")


class SocketStream(io.RawIOBase):
    """A connected socket as http.client uses one. However slowly the other side sends or takes, every wait ends with
    the deadline; a head that never ends is cut at MAX_HEAD_BYTES."""

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
                raise Unavailable(f"the answer begins with more than {MAX_HEAD_BYTES:,} bytes of headers")
        return count

    def head_is_read(self) -> None:
        """From now on the body comes, which is counted elsewhere."""
        self._head_left = None

    def sendall(self, content: bytes) -> None:
        left = memoryview(content)
        while left:
            self._socket.settimeout(self._deadline.left())
            try:
                left = left[self._socket.send(left[:SEND_BYTES]) :]
            except TimeoutError:
                raise self._deadline.over() from None

    def close(self) -> None:
        """Nothing: http.client closes as soon as it has read the head, while the body is still to come."""

    def hang_up(self) -> None:
        self._socket.close()


def connect(
    url: HttpUrl,
    permitted: Allowlist,
    deadline: Deadline,
    *,
    verify: bool = True,
    resolve: Resolver = socket.getaddrinfo,
) -> tuple[http.client.HTTPConnection, SocketStream]:
    """A connection to the host of `url`, which http.client may send on, and its line, to be hung up at the end.

    verify: whether the certificate must be valid for the host. resolve: what looks names up.
    Raises Rejected for a host that may not be reached or a certificate that is not valid, Unavailable, TimedOut."""
    addresses = _addresses(url, permitted, deadline, resolve)
    sock = _connected(url, addresses, deadline)
    if url.scheme == "https":
        sock = _encrypted(sock, url, deadline, verify)
    line = SocketStream(sock, deadline)
    connection = http.client.HTTPConnection(url.host, url.port)
    connection.auto_open = 0  # it must never connect by itself
    connection.sock = cast(socket.socket, line)
    return connection, line


def _addresses(url: HttpUrl, permitted: Allowlist, deadline: Deadline, resolve: Resolver) -> list[tuple[int, Any]]:
    """(family, socket address) of the host, all of them allowed."""
    found = list(
        dict.fromkeys(
            (answer[0], answer[4])
            for answer in _looked_up(url, deadline, resolve)
            if answer[0] in (socket.AF_INET, socket.AF_INET6)
        )
    )
    if not found:
        raise Unavailable(f"the host {url.host} has no address")
    for _, place in found:
        if not permitted.lets(url.host, str(place[0])):
            shown = url.host if url.host == place[0] else f"{url.host} ({place[0]})"
            raise Rejected(
                f"{shown} is not on the open internet; who runs the service may allow it by the setting outbound_allow",
                field="url",
            )
    return found[:MAX_ADDRESSES]


def _looked_up(url: HttpUrl, deadline: Deadline, resolve: Resolver) -> Sequence[Any]:
    """Looks up a name on a thread of its own: a lookup of the system cannot be stopped, but callers need not wait for
    it."""
    answers: queue.SimpleQueue[Sequence[Any] | Exception] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            answers.put(resolve(url.host, url.port, type=socket.SOCK_STREAM))
        except Exception as error:
            answers.put(error)

    threading.Thread(target=look_up, name="lookup", daemon=True).start()
    try:
        found = answers.get(timeout=deadline.left())
    except queue.Empty:
        raise deadline.over() from None
    if isinstance(found, (OSError, UnicodeError)):
        raise Unavailable(f"the host {url.host} is not known: {reason(found)}") from found
    if isinstance(found, Exception):
        raise found
    return found


def _connected(url: HttpUrl, addresses: list[tuple[int, Any]], deadline: Deadline) -> socket.socket:
    why = ""
    for family, place in addresses:
        try:
            sock = socket.socket(family, socket.SOCK_STREAM)
        except OSError as error:  # a kind of address that this machine does not have
            why = reason(error)
            continue
        try:
            sock.settimeout(min(MAX_CONNECT_SECONDS, deadline.left()))
            sock.connect(place)
            return sock
        except OSError as error:
            sock.close()
            why = reason(error)
        except BaseException:
            sock.close()
            raise
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
    """How connections are encrypted. Trusted are the authorities of this machine and those that come with requests:
    a packed program may run where the first are not found."""
    from requests import certs  # here, since it takes longer to load than all of this

    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    if verify:
        context.load_verify_locations(certs.where())
    else:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def reason(error: Exception) -> str:
    """An error of the network in a few words, without addresses of memory and codes."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ssl.SSLError):
        return (error.reason or "the encryption failed").lower().replace("_", " ")
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__)[:200]
