"""Requests that are too large, too slow or not HTTP: refused with the usual error body, while other clients
are served."""

import re
import resource
import select
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.service import Api, Server
from tests.web.wire import Heard, chunks, connect, head, hear, send

pytestmark = pytest.mark.sqlite("the same with any store")

UNREAD = 40  # responses
FILES = 200  # limit of open files of the process
MAX_BODY, READ_AND_DROPPED = 8192, 4 * 8192
CREATE = "POST /rest/records/task/create.json HTTP/1.1"
ME = "GET /rest/workers/me.json HTTP/1.1"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A server that accepts small bodies and waits at most a second for a client."""
    env = {
        "HELPDESK_MAX_BODY_BYTES": str(MAX_BODY), "HELPDESK_MAX_ATTACHMENT_BYTES": str(MAX_BODY // 3),
        "HELPDESK_BODY_TIMEOUT_SECONDS": "1", "HELPDESK_IDLE_TIMEOUT_SECONDS": "1",
    }  # fmt: skip
    data: Path = tmp_path_factory.mktemp("small") / "data"
    server = Server(data, env=env)
    yield server.set_up()
    assert server.stop() == 0


@pytest.fixture
def many_files() -> Iterator[None]:
    """Raises the limit of open files of this process to its hard limit."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _is_refusal(heard: Heard, status: int) -> None:
    assert heard.status == status, heard
    assert heard.json["__status"] == "error" and heard.json["message"]
    assert heard.headers["content-type"].startswith("application/json") and heard.more == b""


def _lengths(path: str) -> str:
    return f"POST {path} HTTP/1.1"


BIG = "/rest/oauth/tokens/create.json"


@pytest.mark.parametrize("size", [MAX_BODY + 1, READ_AND_DROPPED, READ_AND_DROPPED + 1, 100 * READ_AND_DROPPED])
def test_a_declared_body_that_is_too_large_is_413(size: int, small: Api) -> None:
    request = head(_lengths(BIG), small.token, f"Content-Length: {size}")
    _is_refusal(send(small.url, request, b"x" * min(size, 2 * READ_AND_DROPPED)), 413)


def test_a_client_that_expects_100_continue_is_refused_before_it_sends(small: Api) -> None:
    request = head(_lengths(BIG), small.token, "Content-Length: 10000000", "Expect: 100-continue")
    _is_refusal(send(small.url, request), 413)


@pytest.mark.parametrize("count", [9, 40, 500])
def test_a_chunked_body_that_grows_too_large_is_413(count: int, small: Api) -> None:
    request = head(_lengths(BIG), small.token, "Transfer-Encoding: chunked")
    _is_refusal(send(small.url, request, *chunks([b"x" * 1000] * count)), 413)


def test_one_chunk_of_a_huge_size_is_413(small: Api) -> None:
    request = head(_lengths(BIG), small.token, "Transfer-Encoding: chunked")
    _is_refusal(send(small.url, request, b"7fffffff\r\n", b"x" * 5 * READ_AND_DROPPED), 413)


def test_a_body_of_exactly_the_maximum_size_is_read(small: Api) -> None:
    form = b"worker_id=1&label="
    body = form + b"x" * (MAX_BODY - len(form))
    request = head(_lengths(BIG), small.token, f"Content-Length: {len(body)}")
    assert send(small.url, request, body).status == 200


def test_a_chunked_body_is_read(small: Api) -> None:
    request = head(CREATE, small.token, "Transfer-Encoding: chunked", "Content-Type: application/x-www-form-urlencoded")
    heard = send(small.url, request, *chunks([b"fields[tit", b"le]=in+pieces"]))
    assert heard.status == 200 and heard.json["title"] == "in pieces"


def test_the_connection_stays_open_after_a_body_slightly_above_the_limit(small: Api) -> None:
    with connect(small.url) as connection:
        connection.sendall(head(_lengths(BIG), small.token, f"Content-Length: {MAX_BODY + 1}") + b"x" * (MAX_BODY + 1))
        assert hear(connection).status == 413
        connection.sendall(head(ME, small.token))
        assert hear(connection).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        ["X-Long: " + "a" * 70_000],
        [f"X-{number}: {'a' * 50}" for number in range(1300)],
        ["Cookie: " + "; ".join(f"a{number}=b" for number in range(9000))],
    ],
    ids=["one long", "many", "cookies"],
)
def test_oversized_headers_are_413(headers: list[str], small: Api) -> None:
    _is_refusal(send(small.url, head(ME, small.token, *headers)), 413)


@pytest.mark.parametrize("size", [200_000, 5_000_000])
def test_endless_headers_are_cut_off(size: int, small: Api) -> None:
    assert send(small.url, head(ME, small.token, "X-Long: " + "a" * size)).status in (0, 413)
    assert small.get("/rest/workers/me.json").status == 200


def test_an_oversized_address_is_413(small: Api) -> None:
    _is_refusal(send(small.url, head(f"GET /rest/{'a' * 20_000}.json HTTP/1.1", small.token)), 413)


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nA\x00: b\r\n\r\n",
        b"GET / HTTP/1.1\r\n folded: b\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1_0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
    ],
)
def test_input_that_is_not_http_is_refused_without_details(request_bytes: bytes, small: Api) -> None:
    heard = send(small.url, request_bytes)
    assert heard.status in (0, 400)
    assert b"Traceback" not in heard.body and b"tornado" not in heard.body.lower()


def test_slow_clients_are_cut_off_and_delay_no_one(small: Api) -> None:
    body = head(CREATE, small.token, "Content-Length: 100")
    beginnings = [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: loc", body, body + b"fields[title]=never"]
    slow = [connect(small.url) for _ in range(40)]
    for number, connection in enumerate(slow):
        connection.sendall(beginnings[number % len(beginnings)])
    for number in range(20):
        assert small.create("task", title=f"meanwhile {number}").status == 200
    for connection in slow:
        assert hear(connection).status == 0  # closed by the server; our own timeout would raise
        connection.close()
    assert small.search("task", "title:never*").ok()["total"] == 0


@pytest.mark.exhaustive("a thousand connections")
def test_a_thousand_idle_and_trickling_connections_leave_others_served_and_are_closed(
    small: Api, many_files: None
) -> None:
    """Trickling connections send a byte of a head or a body between two requests of other clients until they are
    closed."""
    idle = [connect(small.url) for _ in range(1000)]
    body = head(CREATE, small.token, "Content-Length: 50000")
    dripping = [(connect(small.url), body if number % 2 else b"GET / HTTP/1.1\r\nX: ") for number in range(40)]
    for connection, beginning in dripping:
        connection.sendall(beginning)
    open_ones = [connection for connection, _ in dripping]
    turns = 0
    while open_ones:
        assert small.get("/rest/workers/me.json").status == 200
        open_ones = [each for each in open_ones if _drips(each)]
        turns += 1
        assert turns < 20_000
    for connection in [*idle, *(each for each, _ in dripping)]:
        assert hear(connection).status == 0  # closed by the server
        connection.close()


def test_a_client_that_does_not_read_its_responses_is_closed_and_delays_no_one(small: Api) -> None:
    """Forty long responses, far more than the socket buffers hold, and one that is sent in pieces."""
    unread = [connect(small.url) for _ in range(5)]
    for connection in unread:
        connection.sendall(head("GET /openapi.json HTTP/1.1", small.token) * UNREAD)
    for _ in range(20_000):
        assert small.get("/rest/workers/me.json").status == 200
        told = re.search(r"^helpdesk_connections (\d+)", requests.get(f"{small.url}/metrics", timeout=30).text, re.M)
        assert told is not None
        if int(told[1]) <= 2:  # the two connections of this test
            break
    else:
        raise AssertionError(told[0])
    for connection in unread:
        connection.close()


def _drips(connection: socket.socket) -> bool:
    """Sends one more byte; returns False if the server has closed the connection."""
    try:
        connection.sendall(b"x")
        polled = select.poll()
        polled.register(connection, select.POLLIN)
        return not polled.poll(0)
    except OSError:
        return False


def test_connections_beyond_the_file_limit_replace_the_oldest_ones(server: Server, api: Api) -> None:
    limit = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (FILES, limit[1]))
    try:
        idle = [connect(server.url) for _ in range(2 * FILES)]
        assert Api(server.url, api.token).get("/rest/workers/me.json").status == 200
        idle[-1].sendall(head(ME, api.token))  # the newest connection, which was not closed
        assert hear(idle[-1]).status == 200
    finally:
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, limit)
    for connection in idle[:FILES]:
        assert hear(connection).status == 0
    for connection in idle:
        connection.close()
    log = Path(server.log.name).read_text()
    assert log.count("connections.full") == 1 and "Too many open files" not in log


def test_a_client_that_disconnects_in_the_middle_does_no_harm(small: Api) -> None:
    for piece in (b"", b"fields[title]=half"):
        with connect(small.url) as connection:
            connection.sendall(head(CREATE, small.token, "Content-Length: 100") + piece)
    with connect(small.url) as connection:
        connection.sendall(head("GET /rest/records/task/search.json?limit=500 HTTP/1.1", small.token))
    assert small.search("task", "title:half*").ok()["total"] == 0


def test_consecutive_requests_on_one_connection_are_answered_in_turn(small: Api) -> None:
    with connect(small.url) as connection:
        connection.sendall(head(ME, small.token) * 3)
        answers = [hear(connection)]
        rest = answers[0].more
        while rest.count(b"HTTP/1.1 200") < 2:
            rest += connection.recv(65536)
    assert answers[0].status == 200
