"""The cost of outgoing webhooks for composing: requests per second without and with webhooks, in turn.

    python -m tests.bench.outgoing

runs a receiver that accepts each delivery, in a separate process: it prints its port, and runs until its input
ends."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import median
from typing import Any

from tests.bench.process import ROOT
from tests.bench.scenarios import Desk, compose
from tests.bench.streaming import CLIENTS, Half

HOST = "127.0.0.1"
CLOSED_PORT = 9  # nothing listens: deliveries wait for the receiver
EVENTS = "ticket.created, message.created"  # two deliveries for each composed ticket
WEBHOOKS = 2
ROUNDS = 5
LEAST_QUEUED = 1000  # deliveries per second
MOST_LOST_PERCENT = 5.0  # largest loss of composed tickets per second


def lines(desk: Desk, run: Callable[[list[str]], Half], seconds: float) -> Iterator[str]:
    """Yields the lines to print. run: half a round of requests by CLIENTS clients; seconds: its length."""
    title = f"{CLIENTS} clients compose, beside {WEBHOOKS} webhooks"
    yield f"{title:<40} {'a second':>15} {'us each':>15} {'lost %':>7}"
    yield _compared("their receivers are away", desk, run, seconds, CLOSED_PORT)
    with _receiver() as port:
        yield _compared("their receivers accept", desk, run, seconds, port)


def _compared(title: str, desk: Desk, run: Callable[[list[str]], Half], seconds: float, port: int) -> str:
    requests = compose(desk)
    rounds, queued, sent = [], [], []
    for _ in range(ROUNDS):
        alone = run(requests)
        with _webhooks(desk, port):
            before = _deliveries(desk)
            rounds.append((alone, run(requests)))
            queued.append((_deliveries(desk) - before) / seconds)
            sent.append(_deliveries(desk, state="sent") / seconds)
    lost = (1 - median(beside.per_second / alone.per_second for alone, beside in rounds)) * 100
    figures = " ".join(f"{median(getattr(half, name) for half in halves):>7.0f}"
                       for name in ("per_second", "cpu_us") for halves in zip(*rounds, strict=True))  # fmt: skip
    is_ok = lost <= MOST_LOST_PERCENT and median(queued) >= LEAST_QUEUED
    goal = f"at most {MOST_LOST_PERCENT:g} beside {LEAST_QUEUED}: {'ok' if is_ok else 'MISSED'}"
    return (
        f"{title:<40} {figures} {lost:>7.1f}  {median(queued):.0f} deliveries a second, {median(sent):.0f} sent; {goal}"
    )


@contextmanager
def _webhooks(desk: Desk, port: int) -> Iterator[None]:
    path = "/rest/records/outgoing_webhook"
    ids = []
    for number in range(WEBHOOKS):
        fields = {"name": f"Bench {number}", "url": f"http://{HOST}:{port}/{number}", "events": EVENTS}
        ids.append(
            desk.answer(desk.post(f"{path}/create.json", **{f"fields[{k}]": v for k, v in fields.items()}))["id"]
        )
    yield
    for id in ids:
        desk.answer(desk.get(f"{path}/{id}.json").replace("GET", "DELETE", 1))


def _deliveries(desk: Desk, **params: str) -> int:
    total: int = desk.answer(desk.get("/rest/outgoing_webhooks/deliveries.json", limit="1", **params))["total"]
    return total


class _Accepting(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing."""


@contextmanager
def _receiver() -> Iterator[int]:
    """Runs a receiver; yields its port."""
    command = [sys.executable, "-m", "tests.bench.outgoing"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        yield int(process.stdout.readline())
        process.stdin.close()


if __name__ == "__main__":
    with ThreadingHTTPServer((HOST, 0), _Accepting) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(server.server_port, flush=True)
        sys.stdin.read()
        server.shutdown()
