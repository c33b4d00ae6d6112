"""Name resolution: every type of record from a test server, and malformed responses."""

import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from server.errors import Invalid, Unavailable
from server.outbound import dns

NAME = b"\xc0\x0c"  # pointer to the name of the question
MAIL = b"\x04mail\xc0\x0c"
Answer = Callable[[bytes], bytes]


class NameServer:
    """A name server over UDP and TCP that responds to every question with `answer`, which does not see EDNS.

    asked: every question over UDP, unparsed. before: packets sent ahead of each response."""

    def __init__(self) -> None:
        self.answer: Answer = lambda question: b""
        self.asked: list[bytes] = []
        self.before: Callable[[bytes], list[bytes]] = lambda question: []
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
                self.asked.append(question)
                for packet in (*self.before(plain(question)), self.answer(plain(question))):
                    self.packets.sendto(packet, sender)
            except OSError:
                return

    def _streams(self) -> None:
        while True:
            try:
                connection, _ = self.stream.accept()
            except OSError:
                return
            with connection:
                answer = self.answer(plain(connection.recv(4096)[2:]) + b"tcp")
                self.send(connection, struct.pack("!H", len(answer)) + answer)

    def send(self, connection: socket.socket, answer: bytes) -> None:
        connection.sendall(answer)

    def close(self) -> None:
        self.packets.close()
        self.stream.close()


@pytest.fixture
def server() -> Iterator[NameServer]:
    opened = NameServer()
    yield opened
    opened.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shortens timeouts for missing or malformed responses."""
    monkeypatch.setattr(dns, "SECONDS", 0.2)


def plain(question: bytes) -> bytes:
    """The head and the question alone, without the additions of EDNS."""
    end = question.index(b"\0", 12) + 5
    return question[:10] + b"\0\0" + question[12:end]


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
    server.answer = answering(record(0xFF00, b"other"), sent)  # a type for private use
    assert dns.records("X.example.", type, [server.address]) == [HEAD | {"type": type.upper()} | wanted]


@pytest.mark.parametrize("type", dns.TYPES)
def test_entries_of_other_classes_are_left_out(server: NameServer, type: str) -> None:
    data = {kind: sent for kind, sent, _ in READ}[type]
    other = data[:4] + struct.pack("!H", 0xFF00) + data[6:]  # a class for private use
    server.answer = answering(other, data)
    assert len(dns.records("x.example", type, [server.address])) == 1


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


def long_over_tcp(question: bytes) -> bytes:
    """Truncated over UDP, complete over TCP."""
    if question.endswith(b"tcp"):
        return answering(record(16, b"\x01x"))(question.removesuffix(b"tcp"))
    return answering(flags=0x8380)(question)


class Dripping(NameServer):
    """Sends its responses over TCP byte by byte, each within the timeout of one read."""

    def __init__(self) -> None:
        self.over = threading.Event()
        super().__init__()

    def send(self, connection: socket.socket, answer: bytes) -> None:
        with suppress(OSError):  # the client has given up
            for byte in answer:
                connection.sendall(bytes([byte]))
                self.over.wait(0.05)

    def close(self) -> None:
        self.over.set()
        super().close()


@pytest.mark.usefixtures("impatient")
def test_an_answer_that_drips_over_tcp_is_given_up() -> None:
    server = Dripping()
    server.answer = long_over_tcp
    with pytest.raises(Unavailable):
        dns.records("x.example", "txt", [server.address])
    server.close()


class Breaking(NameServer):
    """Closes the connection in the middle of its responses over TCP."""

    def send(self, connection: socket.socket, answer: bytes) -> None:
        connection.sendall(answer[:-1])


def test_a_truncated_tcp_response_is_ignored() -> None:
    server = Breaking()
    server.answer = long_over_tcp
    with pytest.raises(Unavailable):
        dns.records("x.example", "txt", [server.address])
    server.close()


def test_a_question_allows_long_packets(server: NameServer) -> None:
    server.answer = answering(*[record(16, bytes([200]) + b"x" * 200)] * 5)
    assert len(dns.records("x.example", "txt", [server.address])) == 5
    assert server.asked[0][-11:] == b"\0" + struct.pack("!HHIH", 41, dns.PACKET_BYTES, 0, 0)


@pytest.mark.parametrize("refusal", [1, 4], ids=["format error", "not implemented"])
def test_an_old_server_is_queried_again_without_edns(server: NameServer, refusal: int) -> None:
    def answer(question: bytes) -> bytes:
        if server.asked[-1] != question:
            return answering(flags=0x8180 | refusal)(question)
        return answering(record(16, b"\x01x"))(question)

    server.answer = answer
    assert dns.records("x.example", "txt", [server.address])[0]["txt"] == "x"
    assert len(server.asked) == 2


def test_forged_packets_do_not_hide_the_true_answer(server: NameServer) -> None:
    server.answer = answering(record(1, bytes([192, 0, 2, 7])))
    forged = answering(record(1, bytes([203, 0, 113, 9])))
    server.before = lambda question: [b"", b"x", bytes([question[0] ^ 1]) + forged(question)[1:],
                                      forged(question[:12] + b"\x01y" + question[14:])]  # fmt: skip
    assert [each["ip"] for each in dns.records("x.example", "a", [server.address])] == ["192.0.2.7"]


def test_the_next_server_is_queried_if_one_fails(server: NameServer) -> None:
    refusing = NameServer()
    refusing.answer = answering(flags=0x8182)
    server.answer = answering(record(1, bytes([192, 0, 2, 7])))
    servers = [("no address", 53), refusing.address, server.address]
    assert dns.records("x.example", "a", servers)[0]["ip"] == "192.0.2.7"
    refusing.close()


def test_entries_above_the_limit_are_left_out(server: NameServer) -> None:
    texts = [record(16, b"\x01x")] * (dns.MAX_RECORDS + 1)
    server.answer = answering(*texts)
    assert len(dns.records("x.example", "txt", [server.address])) == dns.MAX_RECORDS


def test_the_root_is_an_empty_name(server: NameServer) -> None:
    server.answer = answering(record(15, b"\0\0\0"))  # "accepts no mail", RFC 7505
    assert dns.records("x.example", "mx", [server.address])[0]["target"] == ""


def test_the_library_waits_until_a_name_is_looked_up() -> None:
    code = "import sys, server.app, server.outbound.dns; sys.exit('dns' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


BROKEN: list[tuple[str, Answer]] = [  # in response to a question for a CNAME
    ("another question", lambda asked: b"\0\0" + answering()(asked)[2:]),
    ("nothing", lambda asked: asked[:2]),
    ("refused", answering(flags=0x8185)),
    ("cut", lambda asked: answering(record(5, MAIL))(asked)[:-3]),
    ("a name that jumps to itself", answering(record(5, b"\xc0\x27"))),
    ("a name that jumps outside", answering(record(5, b"\xff\xff"))),
    ("a name in a circle", answering(record(5, b"\x01a\xc0\x27"))),
]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("answer", [each for _, each in BROKEN], ids=[name for name, _ in BROKEN])
def test_answers_that_are_none(server: NameServer, answer: Answer) -> None:
    server.answer = answer
    with pytest.raises(Unavailable, match="no name server responded"):
        dns.records("x.example", "cname", [server.address])


@pytest.mark.parametrize("name", ["", "a..b", "x" * 64, "a." * 130, "\udcff.example"])
def test_invalid_names_are_refused(name: str) -> None:
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


def test_windows_provides_its_name_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dns, "_ON_WINDOWS", True)
    registry = SimpleNamespace(nameservers=["192.0.2.1", "2001:db8::1", "192.0.2.3"])
    monkeypatch.setattr("dns.resolver.Resolver", lambda: registry)
    assert dns.system_servers() == [("192.0.2.1", 53), ("2001:db8::1", 53)]
