"""Names looked up: every type of entry from a server of our own, and answers that are none."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from server.errors import Invalid, Unavailable
from server.outbound import dns

NAME = b"\xc0\x0c"  # the name of the question
MAIL = b"\x04mail\xc0\x0c"
Answer = Callable[[bytes], bytes]


class NameServer:
    """Answers every question on a port of its own, over UDP and TCP, as `answer` says."""

    def __init__(self) -> None:
        self.answer: Answer = lambda question: b""
        self.stream = socket.create_server(("127.0.0.1", 0))
        self.packets = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.packets.bind(self.stream.getsockname())
        self.address: dns.Server = self.packets.getsockname()
        for work in (self._packets, self._streams):
            threading.Thread(target=work, daemon=True).start()

    def _packets(self) -> None:
        while True:
            try:
                question, sender = self.packets.recvfrom(4096)
                self.packets.sendto(self.answer(question), sender)
            except OSError:
                return

    def _streams(self) -> None:
        while True:
            try:
                connection, _ = self.stream.accept()
            except OSError:
                return
            with connection:
                question = connection.recv(4096)[2:]
                answer = self.answer(question + b"tcp")
                connection.sendall(struct.pack("!H", len(answer)) + answer)

    def close(self) -> None:
        self.packets.close()
        self.stream.close()


@pytest.fixture(scope="module")
def server() -> Iterator[NameServer]:
    opened = NameServer()
    yield opened
    opened.close()


def record(type: int, data: bytes, name: bytes = NAME) -> bytes:
    return name + struct.pack("!HHIH", type, 1, 300, len(data)) + data


def answering(*records: bytes, flags: int = 0x8180) -> Answer:
    head, rest = struct.pack("!HHHHH", flags, 1, len(records), 0, 0), b"".join(records)
    return lambda question: question[:2] + head + question[12:] + rest


HEAD = {"host": "x.example", "class": "IN", "ttl": 300}
READ = [
    ("a", record(1, bytes([192, 0, 2, 7])), {"ip": "192.0.2.7"}),
    ("aaaa", record(28, bytes([0x20, 1, 0xD, 0xB8, *[0] * 11, 1])), {"ipv6": "2001:db8::1"}),
    ("mx", record(15, b"\x00\x0a" + MAIL), {"pri": 10, "target": "mail.x.example"}),
    ("ns", record(2, MAIL), {"target": "mail.x.example"}),
    ("cname", record(5, b"\x01y\x00"), {"target": "y"}),
    ("ptr", record(12, NAME), {"target": "x.example"}),
    ("srv", record(33, b"\x00\x01\x00\x02\x00\x50" + MAIL),
     {"pri": 1, "weight": 2, "port": 80, "target": "mail.x.example"}),
    ("txt", record(16, b"\x02ab\x03c\xc3\xa9"), {"txt": "abcé", "entries": ["ab", "cé"]}),
    ("caa", record(257, b"\x00\x05issueca.example"), {"flags": 0, "tag": "issue", "value": "ca.example"}),
    ("soa", record(6, MAIL + NAME + struct.pack("!IIIII", 1, 2, 3, 4, 5)),
     {"mname": "mail.x.example", "rname": "x.example", "serial": 1, "refresh": 2, "retry": 3, "expire": 4,
      "minimum-ttl": 5}),
]  # fmt: skip


@pytest.mark.parametrize(("type", "sent", "wanted"), READ, ids=[each[0] for each in READ])
def test_entries_of_every_type(server: NameServer, type: str, sent: bytes, wanted: dict[str, Any]) -> None:
    server.answer = answering(record(99, b"other"), sent)
    assert dns.records("X.example.", type, [server.address]) == [HEAD | {"type": type.upper()} | wanted]


def test_there_is_no_such_name(server: NameServer) -> None:
    server.answer = answering(flags=0x8183)
    assert dns.records("x.example", "a", [server.address]) == []


def test_the_name_of_an_address(server: NameServer) -> None:
    asked = []

    def answer(question: bytes) -> bytes:
        asked.append(question[12:])
        return answering(record(12, b"\x04host\x07example\x00"))(question)

    server.answer = answer
    assert dns.name_of("192.0.2.7", [server.address]) == "host.example"
    assert asked[0].startswith(b"\x017\x012\x010\x03192\x07in-addr\x04arpa\x00")


def test_a_long_answer_comes_over_tcp(server: NameServer) -> None:
    texts = [record(16, bytes([200]) + b"x" * 200)] * 40

    def answer(question: bytes) -> bytes:
        if question.endswith(b"tcp"):
            return answering(*texts)(question.removesuffix(b"tcp"))
        return answering(flags=0x8380)(question)

    server.answer = answer
    assert len(dns.records("x.example", "txt", [server.address])) == 40


BROKEN: list[tuple[str, Answer]] = [  # to a question for a CNAME
    ("another question", lambda asked: b"\0\0" + answering()(asked)[2:]),
    ("nothing", lambda asked: asked[:2]),
    ("refused", answering(flags=0x8185)),
    ("cut", lambda asked: answering(record(5, MAIL))(asked)[:-3]),
    ("a name that jumps to itself", answering(record(5, b"\xc0\x27"))),
    ("a name that jumps outside", answering(record(5, b"\xff\xff"))),
    ("a name in a circle", answering(record(5, b"\x01a\xc0\x27"))),
]


@pytest.mark.parametrize("answer", [each for _, each in BROKEN], ids=[name for name, _ in BROKEN])
def test_answers_that_are_none(server: NameServer, answer: Answer) -> None:
    server.answer = answer
    with pytest.raises(Unavailable, match="no name server has answered"):
        dns.records("x.example", "cname", [server.address])


@pytest.mark.parametrize("name", ["", "a..b", "x" * 64, "a." * 130, "\udcff.example"])
def test_names_that_cannot_be_asked_for(name: str) -> None:
    with pytest.raises(Invalid):
        dns.records(name, "a", [])


def test_what_is_no_address_has_no_name() -> None:
    with pytest.raises(Invalid, match="is no IP address"):
        dns.name_of("x.example", [])


def test_the_servers_of_the_machine(tmp_path: Path) -> None:
    file = tmp_path / "resolv.conf"
    file.write_text("# servers\nnameserver 192.0.2.1\noptions rotate\nnameserver 2001:db8::1\nnameserver 192.0.2.3\n")
    assert dns.system_servers(file) == [("192.0.2.1", 53), ("2001:db8::1", 53)]
    assert dns.system_servers(tmp_path / "none") == []
    with pytest.raises(Unavailable):
        dns.records("x.example", "a", dns.system_servers(tmp_path / "none"))
