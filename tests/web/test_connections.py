"""Many requests on one connection: each is handled by its own headers, in order."""

import pytest

from tests.service import Api, Server
from tests.web.wire import chunks, connect, head, hear

ME = "GET /rest/workers/me.json HTTP/1.1"
SEARCH = "POST /rest/records/ticket/search.json HTTP/1.1"
FORM = "Content-Type: application/x-www-form-urlencoded"


def test_headers_of_one_request_do_not_apply_to_the_next(api: Api, server: Server) -> None:
    accepted, other_host = head(ME, api.token), head(ME, api.token).replace(b"Host: ", b"Host: not-")
    sent = [
        (accepted, 200), (accepted, 200), (head(ME, ""), 401), (accepted, 200), (head(ME, api.token + "x"), 401),
        (accepted, 200), (accepted.replace(b"me.json", b"we.json"), 404), (accepted, 200),
        (head(ME.replace("GET", "HEAD"), api.token), 200), (other_host, 400), (accepted, 200),
        (head(SEARCH, api.token, FORM, "Content-Length: 7") + b"limit=1", 200),
        (head(SEARCH, api.token, FORM, "Content-Length: 7") + b"q=_x_:1", 422),
        (head(SEARCH, api.token, FORM, "Content-Length: 7, 7") + b"limit=1", 200),
        (head(SEARCH, api.token, FORM, "Content-Length: 7, 7") + b"limit=2", 200),
        (head(SEARCH, api.token, FORM, "Transfer-Encoding: chunked") + b"".join(chunks([b"limit=1"])), 200),
        (head(SEARCH, api.token, FORM, "Transfer-Encoding: chunked") + b"".join(chunks([b"q=_x_:1"])), 422),
        (accepted, 200),
    ]  # fmt: skip
    with connect(server.url) as connection:
        for request, status in sent:
            connection.sendall(request)
            heard = hear(connection, is_head=request.startswith(b"HEAD"))
            assert heard.status == status, (request, heard)


def test_pipelined_requests_are_answered_in_order(api: Api, server: Server) -> None:
    body = b"limit=1&page=" + b"0" * 100_000 + b"1"  # larger than the read-ahead buffer
    large = head(SEARCH, api.token, FORM, f"Content-Length: {len(body)}") + body
    with connect(server.url) as connection:
        connection.sendall((head(ME, api.token) + large + head(ME, "")) * 3)
        heard = b""
        while heard.count(b"HTTP/1.1 ") < 9 and (piece := connection.recv(65536)):
            heard += piece
    assert [each[:3] for each in heard.split(b"HTTP/1.1 ")[1:]] == [b"200", b"200", b"401"] * 3


@pytest.mark.parametrize(
    ("line", "header", "told"),
    [
        (ME, "Accept: */*", None), (ME, "Connection: close", "close"), (ME, "Connection: keep-alive", None),
        (ME.replace("1.1", "1.0"), "Connection: keep-alive", "Keep-Alive"),
        (ME.replace("1.1", "1.0"), "Accept: */*", None),
    ],
)  # fmt: skip
def test_a_response_says_whether_the_connection_stays_open(
    line: str, header: str, told: str | None, api: Api, server: Server
) -> None:
    with connect(server.url) as connection:
        connection.sendall(head(line, api.token, header))
        heard = hear(connection)
        assert (heard.status, heard.headers.get("connection")) == (200, told)
        if told == "close" or (told is None and "1.0" in line):
            assert connection.recv(1) == b""
        else:
            connection.sendall(head(ME, api.token))
            assert hear(connection).status == 200
