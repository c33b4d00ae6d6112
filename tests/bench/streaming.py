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
from dataclasses import asdict, dataclass, field, replace
from statistics import median
from urllib.parse import urlencode

from server.tickets.following import VERSIONS
from server.web.connections import raise_limit
from tests.bench import pages
from tests.bench.pages import Visit
from tests.bench.process import ROOT
from tests.bench.scenarios import Desk, compose, create, read

STREAMS, INBOXES, CLIENTS = 1000, 200, 16
PASSWORD = "a password of an inbox alone"
ROUNDS = 5
MOST_LOST_PERCENT = 10.0  # largest loss of requests per second without events
SETTLING = 6.0  # seconds in which the rounds after the opening of many streams end
# Seconds between two requests of a page while changes keep coming, for what is new in its list, and for the list beside
# its ticket; see worklist.js and panes.js.
NEWS_REST, LIST_REST = 15.0, 60.0
PAUSE = 0.05  # seconds until the next look at what is due
WITHOUT_REQUESTS = -1
OPEN, OK = "open", b"HTTP/1.1 200"
RECEIVE_BYTES = 1 << 18
SINCE, FOLLOWED = "SINCE", "FOLLOWED"  # in the request for a stream: the present cursors, of changes and of pages
HOST = "127.0.0.1"


@dataclass(frozen=True)
class Reaction:
    """A request that follows the events of a feed, at most once in `rest` seconds. feed: its number in the stream."""

    feed: int
    request: str
    rest: float


@dataclass(frozen=True)
class Follower:
    """A request for a stream, and the requests that follow its events."""

    stream: str
    reactions: list[Reaction] = field(default_factory=list)


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
    """Opens the inbox, and its first ticket with the list beside it; returns what their scripts request from then on:
    one stream, what is new in the list, and the list."""
    text = visit.session.get(f"{visit.url}/inbox?v=open", timeout=pages.SECONDS).text
    shown = {name: html.unescape(value) for name, value in re.findall(r'\bdata-([a-z-]+)="([^"]*)"', text)}
    ids = re.findall(r'name="ids\[\]" value="(\d+)"', text)
    address = html.unescape(re.search(r'href="(/tickets/[^"]+)', text)[1])  # type: ignore[index]
    page = visit.session.get(f"{visit.url}{address}", timeout=pages.SECONDS).text
    beside = html.unescape(re.search(r'data-beside="([^"]+)', page)[1])  # type: ignore[index]
    feeds = (
        f"/-/lists?since={SINCE}",
        f"{shown['follow']}?since={FOLLOWED}",
        "/notifications/unread?since=0",
        f"{address.partition('?')[0]}/live?since={FOLLOWED}",
    )
    news = f"q={shown['news-of']}&{urlencode({'since': shown['since'], 'ids': ','.join(ids)})}"
    cookies = "; ".join(f"{each.name}={each.value}" for each in visit.session.cookies)

    def get(path: str, headers: str) -> str:
        host = visit.url.partition("//")[2]
        return f"GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookies}\r\n{headers}\r\n\r\n"

    stream = urlencode([("feed[]", f" {each}") for each in feeds])
    return Follower(
        get(f"/-/stream?{stream}", "Accept: text/event-stream"),
        [
            Reaction(0, get(beside, "X-Live: 1"), LIST_REST),
            Reaction(1, get(f"/-/news?{news}", "X-Live: 1"), NEWS_REST),
        ],
    )


def _compared(
    title: str, desk: Desk, run: Callable[[list[str]], Half], requests: list[str], most: float = 0,
    held: Sequence[Follower] = (),
) -> Iterator[str]:  # fmt: skip
    rounds = []
    for _ in range(ROUNDS):
        alone = run(requests)
        with following(desk, (held and _up_to_date(desk, held)) or [Follower(_changes(desk))] * STREAMS):
            rounds.append((alone, run(requests)))
    lost = (1 - median(beside.per_second / alone.per_second for alone, beside in rounds)) * 100
    verdict = f"  at most {most:g}: {'ok' if lost <= most else 'MISSED'}" if most else ""
    told = " ".join(f"{median(getattr(half, name) for half in halves):>7.0f}"
                    for name in ("per_second", "cpu_us") for halves in zip(*rounds, strict=True))  # fmt: skip
    yield f"{title:<40} {told} {lost:>7.1f}{verdict}"


def _up_to_date(desk: Desk, held: Sequence[Follower]) -> list[Follower]:
    """Returns followers whose streams go on from the latest change, as those of pages that were open before."""
    since = int(desk.answer(desk.get("/rest/changes.json"))["cursor"])
    cursors = {SINCE: str(since), FOLLOWED: str(since * VERSIONS)}
    return [
        replace(each, stream=re.sub("|".join(cursors), lambda name: cursors[name[0]], each.stream)) for each in held
    ]


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
    """Opens the streams, reports it, and reads them until the input ends. Followers send their requests after events.
    Raises SystemExit if a stream ends before or a request fails."""
    waiting: dict[tuple[int, Reaction], float] = {}  # {(number of a follower, its reaction): when it sends the request}
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
            connect(number if each.reactions else WITHOUT_REQUESTS, [each.stream])
        # As if changes had come for long, and each had sent its requests at some moment of the last seconds.
        rested = {
            (number, reaction): time.monotonic() - random.uniform(0, reaction.rest)
            for number, each in enumerate(followers)
            for reaction in each.reactions
        }
        ready.register(sys.stdin, selectors.EVENT_READ)
        print(OPEN, flush=True)
        while True:
            for key, _ in ready.select(PAUSE if waiting else None):
                if key.data is None:
                    return
                received = key.fileobj.recv(RECEIVE_BYTES)  # type: ignore[union-attr]
                if not received:
                    raise SystemExit("a stream ended")
                if key.data >= 0 and key.fileobj is not requesting.get(key.data):
                    for each in followers[key.data].reactions:
                        if f'"feed":"{each.feed}"'.encode() in received:
                            soon = time.monotonic() + random.uniform(0.5, 1)
                            waiting.setdefault((key.data, each), max(soon, rested[key.data, each] + each.rest))
            for number, reaction in [each for each, due in waiting.items() if due <= time.monotonic()]:
                rested[number, reaction] = waiting.pop((number, reaction))
                if number in requesting:
                    requesting[number].sendall(reaction.request.encode("latin-1"))
                else:
                    requesting[number] = connect(number, [reaction.request])


if __name__ == "__main__":
    raise_limit()
    plan = json.loads(sys.stdin.readline())
    hold(int(sys.argv[1]), [Follower(each["stream"], [Reaction(**one) for one in each["reactions"]]) for each in plan])
