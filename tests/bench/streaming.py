"""What streams cost others: requests a second without and with so many open, in turn, so that a machine that is slow
for a while is slow for both.

    python -m tests.bench.streaming PORT COUNT < request

holds so many streams in a process of its own, says so once each of them has begun, and reads what they are told until
its input ends."""

import selectors
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import median

from server.web.connections import raise_limit
from tests.bench.process import ROOT
from tests.bench.scenarios import Desk, create, read

STREAMS, CLIENTS = 1000, 16
ROUNDS = 5
MOST_LOST_PERCENT = 10.0  # of the requests a second, while nothing is told
OPEN = "open"
RECEIVE_BYTES = 1 << 18
HOST = "127.0.0.1"


@dataclass(frozen=True)
class Half:
    """One half of a round. cpu_us: of the server, for one request: what other programs do changes it less."""

    per_second: float
    cpu_us: float


def lines(desk: Desk, run: Callable[[list[str]], Half]) -> Iterator[str]:
    """What is printed. run: half a round of requests by CLIENTS clients."""
    title = f"{CLIENTS} clients, alone and beside {STREAMS} streams"
    yield f"{title:<40} {'a second':>15} {'us each':>15} {'lost %':>7}"
    yield from _compared("read a ticket by id", desk, run, read(desk), MOST_LOST_PERCENT)
    yield from _compared("create an address, which all hear of", desk, run, create(desk))


def _compared(
    title: str, desk: Desk, run: Callable[[list[str]], Half], requests: list[str], most: float = 0
) -> Iterator[str]:
    rounds = []
    for _ in range(ROUNDS):
        alone = run(requests)
        with following(desk, STREAMS):
            rounds.append((alone, run(requests)))
    lost = (1 - median(beside.per_second / alone.per_second for alone, beside in rounds)) * 100
    verdict = f"  at most {most:g}: {'ok' if lost <= most else 'MISSED'}" if most else ""
    told = " ".join(f"{median(getattr(half, name) for half in halves):>7.0f}"
                    for name in ("per_second", "cpu_us") for halves in zip(*rounds, strict=True))  # fmt: skip
    yield f"{title:<40} {told} {lost:>7.1f}{verdict}"


@contextmanager
def following(desk: Desk, number: int) -> Iterator[None]:
    """Inside, so many streams of changes are open. Raises SystemExit when not all are."""
    request = desk.get("/rest/changes.json").replace("\r\n\r\n", "\r\nAccept: text/event-stream\r\n\r\n")
    command = [sys.executable, "-m", "tests.bench.streaming", str(desk.port), str(number)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holding:
        assert holding.stdin is not None and holding.stdout is not None
        holding.stdin.write(f"{request!r}\n")
        holding.stdin.flush()
        if holding.stdout.readline().strip() != OPEN:
            raise SystemExit("not all streams came to be open; see the log of the server")
        yield
        holding.stdin.close()
    if holding.returncode:
        raise SystemExit("a stream ended that should have stayed open; see the log of the server")


def hold(port: int, number: int, request: bytes) -> None:
    """Open streams, say so, and read them until the input ends. Raises SystemExit when one ends before."""
    with ExitStack() as stack, selectors.DefaultSelector() as ready:
        for _ in range(number):
            client = stack.enter_context(socket.create_connection((HOST, port), timeout=30))
            client.sendall(request)
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
    import ast

    raise_limit()
    hold(int(sys.argv[1]), int(sys.argv[2]), ast.literal_eval(sys.stdin.readline()).encode("latin-1"))
