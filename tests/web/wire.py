"""Bytes to a server and back: for requests that no well-behaved client sends."""

import json
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

WAIT_SECONDS = 30


@dataclass(frozen=True)
class Heard:
    """What came back. `status` 0: the connection was closed without an answer. `more`: bytes behind the answer."""

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
    """Send bytes, as far as the server takes them, then read until it closes the connection or has answered."""
    with connect(url) as connection:
        try:
            for piece in pieces:
                connection.sendall(piece)
        except OSError:
            pass  # it has closed; its answer may be there anyway
        return hear(connection)


def head(line: str, token: str = "", *headers: str, host: str = "localhost") -> bytes:
    """A request line and headers, with the blank line behind them."""
    lines = [line, f"Host: {host}" if host else "", f"Authorization: Bearer {token}" if token else "", *headers]
    return ("\r\n".join(each for each in lines if each) + "\r\n\r\n").encode("latin-1")


def chunks(parts: Iterable[bytes]) -> list[bytes]:
    """A chunked body, a part each."""
    return [b"%x\r\n%s\r\n" % (len(part), part) for part in parts] + [b"0\r\n\r\n"]


def hear(connection: socket.socket, is_head: bool = False) -> Heard:
    """One answer."""
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
