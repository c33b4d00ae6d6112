"""A real server on a socket as the target of requests, which responds well, badly or without end.

Each path has a response: bytes, which are sent unchanged, or a function of the request, which may write to the
socket."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.smtp_server import tls_context

HOST = "127.0.0.1"


@dataclass
class Asked:
    """A received request. hung_up: set when the server is to stop, for endless responses."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes
    socket: socket.socket
    hung_up: threading.Event = field(repr=False)

    def header(self, name: str) -> str | None:
        """All values of a header, None if it is missing."""
        found = [value for key, value in self.headers if key == name]
        return ", ".join(found) if found else None


Answer = bytes | Callable[[Asked], bytes | None]


def answer(body: bytes | str = b"", status: int = 200, **headers: str) -> bytes:
    """A complete response; `_` in the name of a header stands for `-`."""
    content = body.encode() if isinstance(body, str) else body
    named = {"content_length": str(len(content))} | headers
    lines = [f"HTTP/1.1 {status} Said So", *(f"{name.replace('_', '-')}: {value}" for name, value in named.items())]
    return "\r\n".join([*lines, "", ""]).encode() + content


def redirect(location: str, status: int = 302) -> bytes:
    return answer(status=status, location=location)


class Peer:
    """Serves inside `with`. answers: responses by path; anything else is 404. asked: the requests, in order."""

    def __init__(self, is_tls: bool = False) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: list[Asked] = []
        self.connections = 0
        self._tls = tls_context() if is_tls else None
        self._listener = socket.create_server((HOST, 0))
        self.port = self._listener.getsockname()[1]
        self._hung_up = threading.Event()
        self._threads: list[threading.Thread] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)

    def url(self, path: str = "/", host: str = HOST) -> str:
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    def take(self) -> Asked:
        """Removes and returns the last request."""
        return self.asked[-1]

    def __enter__(self) -> "Peer":
        self._accepting.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._hung_up.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in (self._accepting, *self._threads):
            each.join(60)
            assert not each.is_alive()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(sock,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket) -> None:
        sock.settimeout(10)
        try:
            with self._tls.wrap_socket(sock, server_side=True) if self._tls else sock as line:
                asked = self._read(line)
                if asked is None:
                    return
                self.asked.append(asked)
                found = self.answers.get(asked.target.partition("?")[0], answer("nothing here", 404))
                content = found if isinstance(found, bytes) else found(asked)
                line.sendall(content or b"")
        except OSError:
            pass  # the client may disconnect

    def _read(self, line: socket.socket) -> Asked | None:
        stream = line.makefile("rb")
        first = stream.readline().decode("latin-1").split()
        if len(first) != 3:
            return None
        headers = []
        while text := stream.readline().decode().strip("\r\n"):
            name, _, value = text.partition(":")
            headers.append((name, value.strip()))
        length = int({name.lower(): value for name, value in headers}.get("content-length", 0))
        return Asked(first[0], first[1], headers, stream.read(length), line, self._hung_up)


@contextmanager
def once(serve: Callable[[socket.socket], object]) -> Iterator[int]:
    """A port whose first connection is served by a function, as soon as it is open."""
    with socket.create_server((HOST, 0)) as listener:

        def accept() -> None:
            with listener.accept()[0] as sock:
                sock.settimeout(10)
                serve(sock)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(60)
        assert not thread.is_alive()
