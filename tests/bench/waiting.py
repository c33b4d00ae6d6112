"""Requests that wait during another measurement: webhooks whose automations call a program that never responds."""

import contextlib
import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

HOST = "127.0.0.1"
SECONDS = 60  # in which all of them must have begun to wait


class Silent:
    """A server that accepts connections and stays silent. reached: the number of its connections."""

    def __init__(self, wanted: int) -> None:
        self.reached = threading.Event()
        self._wanted = wanted
        self._listener = socket.create_server((HOST, 0), backlog=1024)
        self.port = self._listener.getsockname()[1]
        self._taken: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        for each in self._taken:
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._taken.append(self._listener.accept()[0])
                if len(self._taken) >= self._wanted:
                    self.reached.set()


@contextmanager
def waiting(port: int, request: str, silent: Silent, count: int) -> Iterator[None]:
    """Lets `count` copies of a request wait while the context is active. Raises SystemExit if some do not wait."""
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection((HOST, port))) for _ in range(count)]
        for each in clients:
            each.sendall(request.encode("latin-1"))
        if not silent.reached.wait(SECONDS):
            raise SystemExit(f"not all of {count} webhooks came to wait; see the log of the server")
        yield
        with selectors.DefaultSelector() as ready:
            for each in clients:
                ready.register(each, selectors.EVENT_READ)
            if ready.select(0):
                raise SystemExit("a webhook was answered that should have waited all the time")
