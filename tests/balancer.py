"""A load balancer that sends each request to the next process in turn, without sticky sessions.

Like nginx in resources/help/growing.md it tries the next process where one does not respond, a write only where the
first process has not received it."""

import contextlib
import itertools
import re
import select
import socket
import threading
from urllib.parse import urlsplit

HOST = "127.0.0.1"
MAX_HEAD = 64 * 1024
CONNECTION = re.compile(rb"\r\n(?:Connection|Keep-Alive):[^\r]*", re.IGNORECASE)
BUSY = b"HTTP/1.1 503 "
GONE = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Balancer:
    """Serves inside `with`. urls: the processes, may change. answered: requests by the url that responded."""

    def __init__(self, urls: list[str], port: int = 0) -> None:
        self.urls = urls
        self.answered: dict[str, int] = {}
        self._turn = itertools.count()
        self._listener = socket.create_server((HOST, port), backlog=128)
        self.url = f"http://{HOST}:{self._listener.getsockname()[1]}"
        self._accepting = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> "Balancer":
        self._accepting.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._accepting.join(60)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            asked = _head(client)
            if asked is None:
                return
            first = next(self._turn)
            head, _, rest = asked.partition(b"\r\n\r\n")
            # One request per connection, so that the end of the connection ends the response.
            told = CONNECTION.sub(b"", head) + b"\r\nConnection: close\r\n\r\n" + rest
            for place in range(len(self.urls)):
                url = self.urls[(first + place) % len(self.urls)]
                if self._forwarded(client, url, told, may_ask_again=asked.startswith((b"GET ", b"HEAD "))):
                    return
            client.sendall(GONE)

    def _forwarded(self, client: socket.socket, url: str, told: bytes, may_ask_again: bool) -> bool:
        """Whether the client got its response."""
        try:
            backend = socket.create_connection((HOST, urlsplit(url).port or 80), timeout=60)
        except OSError:
            return False
        with backend:
            backend.settimeout(None)
            try:
                backend.sendall(told)
                begun = _relayed(client, backend)
            except OSError:
                begun = b""
            if not begun or (may_ask_again and begun.startswith(BUSY)):
                if may_ask_again:
                    return False
                client.sendall(begun or GONE)
                if not begun:
                    return True
            else:
                client.sendall(begun)
            self.answered[url] = self.answered.get(url, 0) + 1
            with contextlib.suppress(OSError):
                _relay(client, backend)
            return True


def _head(client: socket.socket) -> bytes | None:
    """The head of a request and the bytes read after it; None if the client sent nothing."""
    got = b""
    while b"\r\n\r\n" not in got and len(got) < MAX_HEAD:
        more = client.recv(MAX_HEAD)
        if not more:
            return None
        got += more
    return got


def _relayed(client: socket.socket, backend: socket.socket) -> bytes:
    """Forwards the rest of the request until the response begins; returns the first bytes of the response, b"" without
    one."""
    sources = [client, backend]
    while True:
        ready, _, _ = select.select(sources, [], [])
        if backend in ready:
            return backend.recv(MAX_HEAD)
        more = client.recv(MAX_HEAD)
        if not more:
            raise OSError("the client is gone")
        backend.sendall(more)


def _relay(client: socket.socket, backend: socket.socket) -> None:
    """Forwards in both directions until one side closes."""
    while True:
        ready, _, _ = select.select([client, backend], [], [])
        for each, other in ((backend, client), (client, backend)):
            if each in ready:
                more = each.recv(MAX_HEAD)
                if not more:
                    return
                other.sendall(more)
