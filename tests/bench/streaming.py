"""The cost of streams for others: requests per second without and with open streams, in turn, so that a temporary
slowdown of the machine affects both.

    python -m tests.bench.streaming PORT < requests

holds a stream for each of the requests in a separate process, reports when all have begun, and reads their events
until its input ends."""

import json
import selectors
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import median

from server.web.connections import raise_limit
from tests.bench.pages import Visit
from tests.bench.process import ROOT
from tests.bench.scenarios import Desk, compose, create, read

STREAMS, INBOXES, CLIENTS = 1000, 200, 16
PASSWORD = "a password of an inbox alone"
ROUNDS = 5
MOST_LOST_PERCENT = 10.0  # largest loss of requests per second without events
OPEN = "open"
RECEIVE_BYTES = 1 << 18
HOST = "127.0.0.1"


@dataclass(frozen=True)
class Half:
    """Half of a round. cpu_us: of the server per request, which other programs affect less."""

    per_second: float
    cpu_us: float


def lines(desk: Desk, run: Callable[[list[str]], Half]) -> Iterator[str]:
    """Yields the lines to print. run: half a round of requests by CLIENTS clients."""
    title = f"{CLIENTS} clients, alone and beside {STREAMS} streams"
    yield f"{title:<40} {'a second':>15} {'us each':>15} {'lost %':>7}"
    yield from _compared("read a ticket by id", desk, run, read(desk), MOST_LOST_PERCENT)
    yield from _compared("create an address, which all hear of", desk, run, create(desk))


def inbox_lines(desk: Desk, run: Callable[[list[str]], Half]) -> Iterator[str]:
    """Yields the same lines next to the open inboxes of INBOXES workers: each follows the tickets and its own bell."""
    cursor = desk.answer(desk.get("/rest/changes.json"))["cursor"]
    held = []
    for number in range(INBOXES):
        email = f"inbox{number}@bench.example"
        fields = {"email": email, "first_name": "Inbox", "language": "en_US", "timezone": "UTC", "password": PASSWORD}
        desk.answer(desk.post("/rest/records/worker/create.json", **{f"fields[{k}]": v for k, v in fields.items()}))
        cookies = Visit(f"http://{HOST}:{desk.port}", email, PASSWORD).session.cookies
        sent = f"Cookie: {'; '.join(f'{each.name}={each.value}' for each in cookies)}\r\nAccept: text/event-stream"
        held += [f"GET {path} HTTP/1.1\r\nHost: {HOST}:{desk.port}\r\n{sent}\r\n\r\n"
                 for path in (f"/-/follow/ticket?since={cursor}", "/notifications/unread?since=0")]  # fmt: skip
    title = f"{CLIENTS} clients, alone and beside {INBOXES} open inboxes"
    yield f"{title:<40} {'a second':>15} {'us each':>15} {'lost %':>7}"
    yield from _compared("read a ticket by id", desk, run, read(desk), MOST_LOST_PERCENT, held)
    yield from _compared("compose a ticket, which all hear of", desk, run, compose(desk), MOST_LOST_PERCENT, held)


def _compared(
    title: str, desk: Desk, run: Callable[[list[str]], Half], requests: list[str], most: float = 0,
    held: Sequence[str] = (),
) -> Iterator[str]:  # fmt: skip
    rounds = []
    for _ in range(ROUNDS):
        alone = run(requests)
        with following(desk, held or [_changes(desk)] * STREAMS):
            rounds.append((alone, run(requests)))
    lost = (1 - median(beside.per_second / alone.per_second for alone, beside in rounds)) * 100
    verdict = f"  at most {most:g}: {'ok' if lost <= most else 'MISSED'}" if most else ""
    told = " ".join(f"{median(getattr(half, name) for half in halves):>7.0f}"
                    for name in ("per_second", "cpu_us") for halves in zip(*rounds, strict=True))  # fmt: skip
    yield f"{title:<40} {told} {lost:>7.1f}{verdict}"


def _changes(desk: Desk) -> str:
    """Returns the request for a stream of changes."""
    return desk.get("/rest/changes.json").replace("\r\n\r\n", "\r\nAccept: text/event-stream\r\n\r\n")


@contextmanager
def following(desk: Desk, requests: Sequence[str]) -> Iterator[None]:
    """Holds a stream open for each of the requests while the context is active. Raises SystemExit if one does not
    open."""
    command = [sys.executable, "-m", "tests.bench.streaming", str(desk.port)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holding:
        assert holding.stdin is not None and holding.stdout is not None
        holding.stdin.write(f"{json.dumps(requests)}\n")
        holding.stdin.flush()
        if holding.stdout.readline().strip() != OPEN:
            raise SystemExit("not all streams came to be open; see the log of the server")
        yield
        holding.stdin.close()
    if holding.returncode:
        raise SystemExit("a stream ended that should have stayed open; see the log of the server")


def hold(port: int, requests: list[str]) -> None:
    """Opens a stream for each, reports it, and reads them until the input ends. Raises SystemExit if one ends
    before."""
    with ExitStack() as stack, selectors.DefaultSelector() as ready:
        for request in requests:
            client = stack.enter_context(socket.create_connection((HOST, port), timeout=30))
            client.sendall(request.encode("latin-1"))
            if not client.recv(RECEIVE_BYTES).startswith(b"HTTP/1.1 200"):
                raise SystemExit("a stream was refused")
            ready.register(client, selectors.EVENT_READ, client)
        ready.register(sys.stdin, selectors.EVENT_READ)
        print(OPEN, flush=True)
        while True:
            for key, _ in ready.select():
                if key.data is None:
                    return
                if not key.data.recv(RECEIVE_BYTES):
                    raise SystemExit("a stream ended")


if __name__ == "__main__":
    raise_limit()
    hold(int(sys.argv[1]), json.loads(sys.stdin.readline()))
