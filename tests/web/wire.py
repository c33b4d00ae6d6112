"""Raw bytes to a server and back, for requests that no well-behaved client sends."""

import json
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

WAIT_SECONDS = 30


@dataclass(frozen=True)
class Heard:
    """A response. status: 0 if the connection was closed without one. more: bytes after the response."""

    status: int
    headers: dict[str, str]
    body: bytes
    more: bytes

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.body)


def connect(url: str) -> socket.socket:
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname or "", parts.port or 80), timeout=WAIT_SECONDS)


def send(url: str, *pieces: bytes) -> Heard:
    """Sends bytes as far as the server accepts them, then reads until it closes the connection or has responded."""
    with connect(url) as connection:
        try:
            for piece in pieces:
                connection.sendall(piece)
        except OSError:
            pass  # the server has closed; its response may have arrived anyway
        return hear(connection)


def head(line: str, token: str = "", *headers: str, host: str = "localhost") -> bytes:
    """Returns a request line and headers, with the empty line after them."""
    lines = [line, f"Host: {host}" if host else "", f"Authorization: Bearer {token}" if token else "", *headers]
    return ("\r\n".join(each for each in lines if each) + "\r\n\r\n").encode("latin-1")


def chunks(parts: Iterable[bytes]) -> list[bytes]:
    """Returns a chunked body, one chunk per part."""
    return [b"%x\r\n%s\r\n" % (len(part), part) for part in parts] + [b"0\r\n\r\n"]


def hear(connection: socket.socket, is_head: bool = False) -> Heard:
    """Reads one response."""
    got = b""
    try:
        while b"\r\n\r\n" not in got:
            piece = connection.recv(65536)
            if not piece:
                return Heard(0, {}, b"", got)
            got += piece
        first, _, rest = got.partition(b"\r\n\r\n")
        line, *fields = first.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
        length = 0 if is_head else int(headers.get("content-length", 0))
        while len(rest) < length:
            piece = connection.recv(65536)
            if not piece:
                break
            rest += piece
    except OSError:
        return Heard(0, {}, b"", got)
    return Heard(int(line.split()[1]), headers, rest[:length], rest[length:])
