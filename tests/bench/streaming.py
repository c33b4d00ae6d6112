"""The cost of streams for others: requests per second without and with open streams, in turn, so that a temporary
slowdown of the machine affects both.

    python -m tests.bench.streaming PORT < followers

opens a stream for each of the followers in a separate process, reports when all have begun, and reads their events
until its input ends."""

import html
import json
import random
import re
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from statistics import median
from urllib.parse import urlencode

from server.web.connections import raise_limit
from tests.bench import pages
from tests.bench.pages import Visit
from tests.bench.process import ROOT
from tests.bench.scenarios import Desk, compose, create, read

STREAMS, INBOXES, CLIENTS = 1000, 200, 16
PASSWORD = "a password of an inbox alone"
ROUNDS = 5
MOST_LOST_PERCENT = 10.0  # largest loss of requests per second without events
SETTLING = 3.0  # seconds in which the rounds after the opening of many streams end
REST = 8.0  # seconds between two requests of a page for what is new in its list; see worklist.js
PAUSE = 0.05  # seconds until the next look at what is due
WITHOUT_REQUESTS = -1
OPEN, OK = "open", b"HTTP/1.1 200"
RECEIVE_BYTES = 1 << 18
HOST = "127.0.0.1"


@dataclass(frozen=True)
class Follower:
    """A request for a stream, and the requests that follow the events of one of its feeds, which has this number."""

    stream: str
    feed: str = ""
    then: list[str] = field(default_factory=list)


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
    """Yields the same lines next to the desks of INBOXES workers: each has an inbox and a ticket open."""
    held = []
    for number in range(INBOXES):
        email = f"inbox{number}@bench.example"
        fields = {"email": email, "first_name": "Inbox", "language": "en_US", "timezone": "UTC", "password": PASSWORD}
        desk.answer(desk.post("/rest/records/worker/create.json", **{f"fields[{k}]": v for k, v in fields.items()}))
        held.append(_open_desk(Visit(f"http://{HOST}:{desk.port}", email, PASSWORD)))
    title = f"{CLIENTS} clients, alone and beside {INBOXES} open inboxes"
    yield f"{title:<40} {'a second':>15} {'us each':>15} {'lost %':>7}"
    yield from _compared("read a ticket by id", desk, run, read(desk), MOST_LOST_PERCENT, held)
    yield from _compared("compose a ticket, which all hear of", desk, run, compose(desk), MOST_LOST_PERCENT, held)


def _open_desk(visit: Visit) -> Follower:
    """Opens the inbox and its first ticket, and returns what their scripts request from then on: one stream, and after
    an event of the list what is new in it."""
    text = visit.session.get(f"{visit.url}/inbox?v=open", timeout=pages.SECONDS).text
    shown = {name: html.unescape(value) for name, value in re.findall(r'\bdata-([a-z-]+)="([^"]*)"', text)}
    ids = re.findall(r'name="ids\[\]" value="(\d+)"', text)
    ticket = html.unescape(re.search(r'href="(/tickets/[^"?]+)', text)[1])  # type: ignore[index]
    visit.session.get(f"{visit.url}{ticket}", timeout=pages.SECONDS)
    list_feed = f"{shown['follow']}?since={shown['followed']}"
    feeds = (
        "/notifications/unread?since=0",
        f"/-/lists?since={shown['at']}",
        list_feed,
        f"{ticket}/live?since={shown['followed']}",
    )
    news = f"q={shown['news-of']}&{urlencode({'since': shown['since'], 'ids': ','.join(ids)})}"
    cookies = "; ".join(f"{each.name}={each.value}" for each in visit.session.cookies)

    def get(path: str, headers: str) -> str:
        host = visit.url.partition("//")[2]
        return f"GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookies}\r\n{headers}\r\n\r\n"

    stream = urlencode([("feed[]", f" {each}") for each in feeds])
    return Follower(
        get(f"/-/stream?{stream}", "Accept: text/event-stream"),
        str(feeds.index(list_feed)),
        [get(f"/-/news?{news}", "X-Live: 1")],
    )


def _compared(
    title: str, desk: Desk, run: Callable[[list[str]], Half], requests: list[str], most: float = 0,
    held: Sequence[Follower] = (),
) -> Iterator[str]:  # fmt: skip
    rounds = []
    for _ in range(ROUNDS):
        alone = run(requests)
        with following(desk, held or [Follower(_changes(desk))] * STREAMS):
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
def following(desk: Desk, followers: Sequence[Follower]) -> Iterator[None]:
    """Holds the streams of the followers open while the context is active. Raises SystemExit if one does not open."""
    command = [sys.executable, "-m", "tests.bench.streaming", str(desk.port)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holding:
        assert holding.stdin is not None and holding.stdout is not None
        holding.stdin.write(f"{json.dumps([asdict(each) for each in followers])}\n")
        holding.stdin.flush()
        if holding.stdout.readline().strip() != OPEN:
            raise SystemExit("not all streams came to be open; see the log of the server")
        time.sleep(SETTLING)
        yield
        holding.stdin.close()
    if holding.returncode:
        raise SystemExit("a stream or a request of a follower failed; see the log of the server")


def hold(port: int, followers: list[Follower]) -> None:
    """Opens the streams, reports it, and reads them until the input ends. A follower that has requests sends them
    after an event, at most once in REST seconds. Raises SystemExit if a stream ends before or a request fails."""
    waiting: dict[int, float] = {}  # {the number of a follower: when it sends its requests}
    with ExitStack() as stack, selectors.DefaultSelector() as ready:

        def connect(number: int, requests: Sequence[str]) -> socket.socket:
            client = stack.enter_context(socket.create_connection((HOST, port), timeout=30))
            client.sendall("".join(requests).encode("latin-1"))
            if not client.recv(RECEIVE_BYTES).startswith(OK):
                raise SystemExit("a request of a follower was refused")
            ready.register(client, selectors.EVENT_READ, number)
            return client

        requesting: dict[int, socket.socket] = {}
        for number, each in enumerate(followers):
            connect(number if each.then else WITHOUT_REQUESTS, [each.stream])
        news = [f'"feed":"{each.feed}'.encode() for each in followers]
        # As if each had sent its requests at some moment of the last seconds.
        rested = {number: time.monotonic() - random.uniform(0, REST) for number in range(len(followers))}
        ready.register(sys.stdin, selectors.EVENT_READ)
        print(OPEN, flush=True)
        while True:
            for key, _ in ready.select(PAUSE if waiting else None):
                if key.data is None:
                    return
                received = key.fileobj.recv(RECEIVE_BYTES)  # type: ignore[union-attr]
                if not received:
                    raise SystemExit("a stream ended")
                if key.data >= 0 and key.fileobj is not requesting.get(key.data) and news[key.data] in received:
                    waiting.setdefault(
                        key.data, max(time.monotonic() + random.uniform(0.5, 1), rested[key.data] + REST)
                    )
            for number in [each for each, due in waiting.items() if due <= time.monotonic()]:
                rested[number] = waiting.pop(number)
                if number in requesting:
                    requesting[number].sendall("".join(followers[number].then).encode("latin-1"))
                else:
                    requesting[number] = connect(number, followers[number].then)


if __name__ == "__main__":
    raise_limit()
    hold(int(sys.argv[1]), [Follower(**each) for each in json.loads(sys.stdin.readline())])
