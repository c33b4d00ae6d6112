"""Requests in progress use bounded memory: sending a body needs no token."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from tornado.httputil import HTTPHeaders, RequestStartLine, ResponseStartLine

from server.errors import Unavailable
from server.web import bodies
from server.web.bodies import SMALL_BODY_BYTES, BodyMeter
from server.web.endpoint_call import Response
from server.web.exchange import Exchange
from server.web.meter import Meter
from server.web.site import Request, Site

MOST = 4 * SMALL_BODY_BYTES
CHUNK = b"x" * (SMALL_BODY_BYTES // 2)


class Taking(Site):
    """Accepts bodies of any size."""

    def limit(self, request: object) -> int:
        return 2 * MOST

    def inline(self, request: Request) -> bool:
        return True

    def respond(self, request: Request, steps: int | None) -> Response:
        return Response({"length": len(request.body)})


class Connection:
    """Stores the status of the response."""

    status = 0
    peer = "127.0.0.1"
    head_chars = 0
    announces = ""

    def set_max_body_size(self, size: int) -> None:
        pass

    def write_headers(self, line: ResponseStartLine, headers: HTTPHeaders, body: bytes) -> None:
        self.status = line.code

    def send_whole(self, whole: bytes) -> None:
        self.status = int(whole.split()[1])

    def finish(self) -> None:
        pass


@pytest.fixture
def front(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The front door with room for MOST bytes; at the end it holds no bytes."""
    monkeypatch.setattr(bodies, "MAX_BODIES_BYTES", MOST)
    monkeypatch.setattr(bodies, "SHARES", 1)
    store = SimpleNamespace(take_queries=lambda: 0)
    made = SimpleNamespace(
        bodies=BodyMeter(), proxies=(), hosts=frozenset({"localhost"}), steps=1, is_stopping=False, reads_wait=False,
        logs_requests=False, errors_as_200=False, closes=False, meter=Meter(),
        service=SimpleNamespace(store=store, base_url=""),
        site_of=lambda path, host: ("/", Taking()), may_be_new=lambda host: False,
    )  # fmt: skip
    yield made
    assert made.bodies.held == 0


def begun(front: Any, chunks: int) -> tuple[Exchange, Connection]:
    """A request after this many chunks."""
    connection = Connection()
    exchange = Exchange(front, connection)  # type: ignore[arg-type]
    exchange.headers_received(RequestStartLine("POST", "/", "HTTP/1.1"), HTTPHeaders({"Host": "localhost"}))
    for _ in range(chunks):
        exchange.data_received(CHUNK)
    return exchange, connection


def ended(exchange: Exchange, connection: Connection) -> int:
    """The status of its response."""
    exchange.finish()
    return connection.status


def test_the_request_above_the_bound_gets_retry_after(front: Any) -> None:
    first, second = begun(front, 5), begun(front, 5)
    assert front.bodies.held == 5 * len(CHUNK)  # the second was refused where it passed the bound
    assert (ended(*second), ended(*first)) == (503, 200)


def test_small_ones_are_served_beside_large_ones_up_to_twice_the_bound(front: Any) -> None:
    large = begun(front, 8)
    small = [begun(front, 2) for _ in range(5)]
    assert [ended(*each) for each in small] == [200] * 4 + [503]
    assert ended(*large) == 200


@pytest.mark.parametrize(("sharer", "status"), [("webhooks", 503), ("198.51.100.7", 503), ("other", 200)])
def test_one_address_and_all_webhooks_have_a_share(sharer: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MAX_BODIES_BYTES", MOST)
    counted = BodyMeter()
    for shared in (("198.51.100.7", "webhooks"), ("198.51.100.7",), ("webhooks",)):
        counted.take(shared, len(CHUNK), len(CHUNK))
    refused = 200
    try:
        counted.take((sharer,), len(CHUNK), SMALL_BODY_BYTES + 1)
    except Unavailable:
        refused = 503
    assert refused == status


def test_memory_is_given_back_once_when_little_is_held_again() -> None:
    told: list[int] = []
    counted = BodyMeter(lambda: told.append(counted.held))
    for size in (bodies.LARGE_BYTES, 1, 1):
        counted.take(("a",), size, size)
    counted.let_go(("a",), 1)
    assert told == []
    counted.let_go(("a",), bodies.LARGE_BYTES)
    counted.let_go(("a",), 1)
    assert (told, counted.held) == ([1], 0)


def test_one_alone_may_be_as_large_as_its_site_lets_it_be(front: Any) -> None:
    assert ended(*begun(front, 16)) == 200
    assert ended(*begun(front, 17)) == 413


def test_who_leaves_half_way_holds_nothing(front: Any) -> None:
    for chunks in (1, 5, 8, 17):
        exchange, _ = begun(front, chunks)
        exchange.on_connection_close()
        assert front.bodies.held == 0
    exchange, connection = begun(front, 3)
    exchange.finish()
    exchange.on_connection_close()
    assert connection.status == 200
