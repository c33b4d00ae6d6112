"""Refusals before the body: a client that may not send a body gets the refusal after the headers, and also if it sends
the whole body first."""

from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.service import Api, Server
from tests.web.wire import Heard, chunks, connect, head, hear

UPLOAD = "POST /rest/records/attachment/create.json HTTP/1.1"
PARSE = "POST /rest/parser/parse.json HTTP/1.1"
MIB = 1024 * 1024
UNSENT = f"Content-Length: {60 * MIB}"


def announced(url: str, line: str, *headers: str, token: str = "") -> Heard:
    """Returns the response to the head of a request whose body is never sent."""
    with connect(url) as connection:
        connection.sendall(head(line, token, *headers))
        return hear(connection)


@pytest.mark.parametrize(
    ("line", "headers", "status"),
    [
        (UPLOAD, [UNSENT], 401),
        (UPLOAD, [UNSENT, "Authorization: Bearer nonsense"], 401),
        (UPLOAD, ["Content-Length: 10"], 401),
        (UPLOAD, ["Transfer-Encoding: chunked"], 401),
        (UPLOAD, [UNSENT, "Expect: 100-continue"], 401),
        (PARSE, [UNSENT], 401),
        ("PUT /rest/records/ticket/1.json HTTP/1.1", ["Content-Length: 100000"], 401),
        ("POST /rest/nothing.json HTTP/1.1", [UNSENT], 413),
        ("POST /rest/nothing.json HTTP/1.1", ["Content-Length: 100000"], 401),
        ("POST /webhooks/nobody-listens-here HTTP/1.1", ["Content-Length: 1000000"], 404),
        ("POST /webhooks/nobody-listens-here HTTP/1.1", ["Transfer-Encoding: chunked"], 404),
        ("POST /login HTTP/1.1", ["Content-Length: 100000"], 413),
        ("POST /admin/packages/import HTTP/1.1", ["Transfer-Encoding: chunked"], 401),
        ("POST /admin/packages/import HTTP/1.1", ["Content-Length: 500000"], 401),
        ("POST /oauth/token HTTP/1.1", ["Content-Length: 100000"], 413),
        ("POST /nowhere/at/all HTTP/1.1", ["Content-Length: 100000"], 413),
    ],
)
def test_the_refusal_arrives_before_the_body(line: str, headers: list[str], status: int, server: Server) -> None:
    assert announced(server.url, line, *headers).status == status


def test_a_token_without_the_scope_is_refused_before_the_body(api: Api, server: Server) -> None:
    assert announced(server.url, UPLOAD, "Content-Length: 10", token=api.token + "x").status == 401
    assert (
        announced(server.url, "POST /rest/nothing.json HTTP/1.1", "Content-Length: 10", token=api.token).status == 404
    )


def test_the_connection_stays_open_if_the_body_is_sent_anyway(api: Api, server: Server) -> None:
    with connect(server.url) as connection:
        for _ in range(3):
            connection.sendall(head(UPLOAD, "", "Content-Length: 100000"))
            assert hear(connection).status == 401
            connection.sendall(b"x" * 100_000)
        connection.sendall(head("GET /rest/workers/me.json HTTP/1.1", api.token))
        assert hear(connection).status == 200


def test_a_chunked_body_is_discarded_too(api: Api, server: Server) -> None:
    with connect(server.url) as connection:
        connection.sendall(head(UPLOAD, "", "Transfer-Encoding: chunked") + b"".join(chunks([b"x" * 1000] * 50)))
        assert hear(connection).status == 401
        connection.sendall(head("GET /rest/workers/me.json HTTP/1.1", api.token))
        assert hear(connection).status == 200


def test_a_client_that_expects_100_continue_is_not_asked_for_the_body(server: Server) -> None:
    with connect(server.url) as connection:
        connection.sendall(head(UPLOAD, "", UNSENT, "Expect: 100-continue"))
        heard = hear(connection)
        assert (heard.status, heard.headers["connection"], heard.more) == (401, "close", b"")


def _many() -> Iterator[bytes]:
    for _ in range(40):
        yield b"x" * MIB


@pytest.mark.parametrize("body", [b"x" * 40 * MIB, _many()], ids=["at once", "in chunks"])
def test_a_client_that_sends_everything_before_it_reads_gets_the_response(body: Any, server: Server) -> None:
    response = requests.post(f"{server.url}/rest/parser/parse.json", data=body, timeout=60)
    assert (response.status_code, response.json()["__status"]) == (401, "error")


def test_eight_requests_without_a_token_do_not_block_uploads_of_others(api: Api, server: Server) -> None:
    callers = [connect(server.url) for _ in range(8)]
    try:
        for caller in callers:
            caller.sendall(head(PARSE, "", f"Content-Length: {64 * MIB}") + b"x" * MIB)
        held = next(
            line
            for line in requests.get(f"{server.url}/metrics", timeout=30).text.splitlines()
            if line.startswith("helpdesk_body_bytes ")
        )
        assert float(held.split()[1]) == 0
        mail = b"From: ann@ants.example\r\nTo: support@desk.example\r\nSubject: Large\r\n\r\n" + b"x " * 2 * MIB
        assert api.parse(mail).status == 200
        assert [hear(caller).status for caller in callers] == [401] * 8
    finally:
        for caller in callers:
            caller.close()
