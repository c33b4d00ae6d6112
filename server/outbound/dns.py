"""Looks names up in DNS: a question to the name servers of this machine, and what they answer. Not for connecting;
connection.py asks the system."""

import ipaddress
import secrets
import socket
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from server.errors import Invalid, Unavailable

MAX_SERVERS = 2  # that are asked, one after the other
MAX_RECORDS = 100  # of one answer
MAX_NAME_STEPS = 255  # labels and jumps of one name
MAX_SERVER_BYTES = 65_536  # of the file that names the servers
SECONDS = 2.0  # that each server has
PORT = 53
TYPES = {
    "a": 1, "ns": 2, "cname": 5, "soa": 6, "ptr": 12, "mx": 15, "txt": 16, "aaaa": 28, "srv": 33, "caa": 257,
}  # fmt: skip
_INTERNET, _NO_SUCH_NAME, _TRUNCATED, _WANTS_RECURSION = 1, 3, 0x0200, 0x0100
_HEADER = struct.Struct("!HHHHHH")
_RECORD = struct.Struct("!HHIH")

Server = tuple[str, int]


def records(name: str, type: str, servers: Sequence[Server] | None = None) -> list[dict[str, Any]]:
    """[{host, class, ttl, type, ...}] of one type of entry, one of TYPES; more keys by type, as `ip` or `target`. []
    for no such name.

    servers: (address, port), those of this machine when absent. Raises Invalid for an unusable name, Unavailable when
    no server answers. Source: ours; RFC 1035."""
    code = TYPES[type]
    question = _name(name) + struct.pack("!HH", code, _INTERNET)
    for server in servers if servers is not None else system_servers():
        try:
            return _read(_asked(server, question), question, code, type.upper())
        except (OSError, _Unreadable):
            continue
    raise Unavailable(f"no name server has answered the question for '{name[:80]}'")


def name_of(address: str, servers: Sequence[Server] | None = None) -> str | None:
    """The name of an address, None for none. Raises as `records`."""
    try:
        reverse = ipaddress.ip_address(address).reverse_pointer
    except ValueError:
        raise Invalid(f"'{address[:80]}' is no IP address") from None
    found = records(reverse, "ptr", servers)
    return found[0]["target"] if found else None


def system_servers(path: Path = Path("/etc/resolv.conf")) -> list[Server]:
    """The name servers of this machine, [] where they are not in the usual file."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            lines = file.read(MAX_SERVER_BYTES).splitlines()
    except OSError:
        return []
    named = [line.split() for line in lines]
    return [(words[1], PORT) for words in named if len(words) > 1 and words[0] == "nameserver"][:MAX_SERVERS]


class _Unreadable(Exception):
    """An answer that is none."""


def _name(name: str) -> bytes:
    """A name as it stands in a question."""
    try:
        labels = [label.encode("idna") for label in name.strip().rstrip(".").lower().split(".")]
    except UnicodeError:
        labels = [b""]
    if not all(0 < len(label) < 64 for label in labels) or sum(map(len, labels)) + len(labels) > 254:
        raise Invalid(f"'{name[:80]}' is no name that can be looked up")
    return b"".join(bytes((len(label),)) + label for label in labels) + b"\0"


def _asked(server: Server, question: bytes) -> bytes:
    """The answer of a server; over TCP when it is too long for a packet."""
    message = _HEADER.pack(secrets.randbits(16), _WANTS_RECURSION, 1, 0, 0, 0) + question
    family = socket.AF_INET6 if ":" in server[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as packets:
        packets.settimeout(SECONDS)
        packets.connect(server)
        packets.send(message)
        answer = packets.recv(4096)
    if answer[:2] != message[:2] or len(answer) < _HEADER.size:
        raise _Unreadable
    if not _HEADER.unpack_from(answer)[1] & _TRUNCATED:
        return answer
    with socket.create_connection(server, SECONDS) as stream, stream.makefile("rb") as incoming:
        stream.sendall(struct.pack("!H", len(message)) + message)
        return incoming.read(int.from_bytes(incoming.read(2)))


def _read(answer: bytes, question: bytes, code: int, type: str) -> list[dict[str, Any]]:
    try:
        _, flags, _, count, _, _ = _HEADER.unpack_from(answer)
        place = _HEADER.size
        if answer[place : place + len(question)].lower() != question.lower():
            raise _Unreadable
        if flags & 0xF:
            if flags & 0xF == _NO_SUCH_NAME:
                return []
            raise _Unreadable
        place += len(question)
        found = []
        for _ in range(min(count, MAX_RECORDS)):
            host, place = _host(answer, place)
            own, _, seconds, length = _RECORD.unpack_from(answer, place)
            place += _RECORD.size
            if own == code:
                head = {"host": host, "class": "IN", "ttl": seconds, "type": type}
                found.append(head | _READ[type](answer, place, length))
            place += length
        return found
    except (IndexError, struct.error, ValueError):
        raise _Unreadable from None


def _host(answer: bytes, place: int) -> tuple[str, int]:
    """The name that stands at a place, and the place behind it. A name may go on at an earlier place."""
    labels: list[str] = []
    end = 0
    for _ in range(MAX_NAME_STEPS):
        length = answer[place]
        if not length:
            return ".".join(labels), end or place + 1
        if length >= 0xC0:
            end = end or place + 2
            place = (length & 0x3F) << 8 | answer[place + 1]
        else:
            labels.append(answer[place + 1 : place + 1 + length].decode("ascii", "replace"))
            place += 1 + length
    raise _Unreadable  # it goes round in circles


def _address(answer: bytes, place: int, length: int) -> dict[str, Any]:
    found = ipaddress.ip_address(answer[place : place + length])
    return {"ip" if found.version == 4 else "ipv6": str(found)}


def _target(answer: bytes, place: int, length: int) -> dict[str, Any]:
    return {"target": _host(answer, place)[0]}


def _exchange(answer: bytes, place: int, length: int) -> dict[str, Any]:
    return {"pri": struct.unpack_from("!H", answer, place)[0], "target": _host(answer, place + 2)[0]}


def _service(answer: bytes, place: int, length: int) -> dict[str, Any]:
    priority, weight, port = struct.unpack_from("!HHH", answer, place)
    return {"pri": priority, "weight": weight, "port": port, "target": _host(answer, place + 6)[0]}


def _authority(answer: bytes, place: int, length: int) -> dict[str, Any]:
    server, place = _host(answer, place)
    person, place = _host(answer, place)
    names = ("serial", "refresh", "retry", "expire", "minimum-ttl")
    numbers = struct.unpack_from("!IIIII", answer, place)
    return {"mname": server, "rname": person, **dict(zip(names, numbers, strict=True))}


def _texts(answer: bytes, place: int, length: int) -> dict[str, Any]:
    entries, end = [], place + length
    while place < end:
        size = answer[place]
        entries.append(answer[place + 1 : place + 1 + size].decode("utf-8", "replace"))
        place += 1 + size
    return {"txt": "".join(entries), "entries": entries}


def _authorization(answer: bytes, place: int, length: int) -> dict[str, Any]:
    size = answer[place + 1]
    tag, value = answer[place + 2 : place + 2 + size], answer[place + 2 + size : place + length]
    return {"flags": answer[place], "tag": tag.decode("ascii", "replace"), "value": value.decode("utf-8", "replace")}


_READ: dict[str, Callable[[bytes, int, int], dict[str, Any]]] = {
    "A": _address, "AAAA": _address, "NS": _target, "CNAME": _target, "PTR": _target, "MX": _exchange,
    "SRV": _service, "SOA": _authority, "TXT": _texts, "CAA": _authorization,
}  # fmt: skip
