"""Mail delivered by mail servers over LMTP and SMTP, and mailboxes that a running server polls.

Accepted mail is stored on disk."""

import re
import smtplib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.desk.mailroom import mail
from tests.mail_servers import LOGIN, ImapServer
from tests.service import Api, Server, command

TOGETHER = 16  # concurrent connections


class Desk:
    """A server that accepts mail by LMTP on a port and on a Unix socket; its administrator's client."""

    def __init__(self, data: Path, path: Path, **settings: str) -> None:
        self.socket = str(path)
        env = {
            "HELPDESK_LMTP_HOST": "127.0.0.1", "HELPDESK_LMTP_PORT": "0", "HELPDESK_MAILBOX_POLL_SECONDS": "1",
            **{f"HELPDESK_{name.upper()}": value for name, value in settings.items()},
        }  # fmt: skip
        if path.name:
            env["HELPDESK_LMTP_SOCKET"] = self.socket
        self.server = Server(data, env=env)
        assert self.server.process.stdout is not None
        line = self.server.process.stdout.readline().decode()
        self.port = int(re.match(r"mail +\w+://127\.0\.0\.1:(\d+)", line)[1])  # type: ignore[index]
        self.nora = self.server.set_up()

    def lmtp(self) -> smtplib.LMTP:
        return smtplib.LMTP("127.0.0.1", self.port, timeout=30)

    def subjects(self) -> list[str]:
        return [each["subject"] for each in self.nora.search("ticket", "sort:id", limit=500).ok()["results"]]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("mail")
    started = Desk(folder / "data", folder / "lmtp.sock", max_mail_bytes="100000", lmtp_domains="desk.example")
    yield started
    assert started.server.stop() == 0
    assert not Path(started.socket).exists()


@pytest.fixture
def api(desk: Desk) -> Api:
    return desk.nora


def numbered(number: int, **headers: str) -> bytes:
    return mail(Message_Id=f"<{number}@kite.example>", Subject=f"Mail {number}", **headers)


def answers(
    client: smtplib.LMTP, recipients: list[str], raw: bytes, sender: str = "ann@kite.example"
) -> list[tuple[int, str]]:
    """The responses for each recipient after the data."""
    assert client.docmd("MAIL", f"FROM:<{sender}>")[0] == 250
    for each in recipients:
        assert client.docmd("RCPT", f"TO:<{each}>")[0] == 250
    assert client.docmd("DATA")[0] == 354
    client.send(raw.replace(b"\n", b"\r\n") + b"\r\n.\r\n")
    return [(code, text.decode()) for code, text in (client.getreply() for _ in recipients)]


def test_a_mail_is_taken_and_every_recipient_is_answered(desk: Desk) -> None:
    with desk.lmtp() as client:
        client.ehlo()
        told = answers(client, ["help@desk.example", "sales@desk.example"], numbered(1))
        again = answers(client, ["help@desk.example"], numbered(1))
    assert [code for code, _ in told] == [250, 250] and "stored on ticket" in told[0][1]
    assert again[0][0] == 250 and "duplicate" in again[0][1]
    assert desk.subjects().count("Mail 1") == 1


def test_what_delivery_adds_stands_before_the_mail(desk: Desk, api: Api) -> None:
    with desk.lmtp() as client:
        client.sendmail("bounce@kite.example", ["help@desk.example"], numbered(2))
    [message] = api.search("message", "header.messageId:<2@kite.example>", expand="headers").ok()["results"]
    headers = message["headers"]
    assert headers["return-path"] == "<bounce@kite.example>" and headers["delivered-to"] == "help@desk.example"
    assert " by 127.0.0.1; " in headers["received"]


def test_a_mail_is_routed_by_the_envelope(desk: Desk, api: Api) -> None:
    way = api.create("mail_transport", name="None", extension_id="core.mail.transport.null").ok()["id"]
    address = api.create("address", email="orders@desk.example", mail_transport_id=way).ok()["id"]
    group = api.create("group", name="Orders", reply_address_id=address).ok()["id"]
    with desk.lmtp() as client:
        client.sendmail("ann@kite.example", ["orders@desk.example"], numbered(3, To="undisclosed@desk.example"))
    [ticket] = api.search("ticket", 'subject:"Mail 3"').ok()["results"]
    assert ticket["group_id"] == group


def test_the_unix_socket_takes_mail_too(desk: Desk) -> None:
    with smtplib.LMTP(desk.socket) as client:
        client.sendmail("ann@kite.example", ["help@desk.example"], numbered(4))
    assert "Mail 4" in desk.subjects()
    assert Path(desk.socket).stat().st_mode & 0o777 == 0o660


@pytest.mark.parametrize(
    ("raw", "code", "words"),
    [
        (numbered(10, From="spam@kite.example"), 550, "banned"),
        (numbered(11, From="", Return_Path=""), 250, "stored"),  # the envelope has the sender
        (b"\n\n", 250, "stored"),
        (mail("x" * 98 + "\n" + ("y" * 98 + "\n") * 1100), 552, ""),
    ],
    ids=["banned", "no sender in the headers", "empty", "too large"],
)
def test_what_is_said_of_mails(desk: Desk, api: Api, raw: bytes, code: int, words: str) -> None:
    api.upsert("address", "email:spam@kite.example", email="spam@kite.example", is_banned=1).ok()
    with desk.lmtp() as client:
        client.ehlo()
        [first, second] = answers(client, ["help@desk.example", "sales@desk.example"], raw)
        assert first[0] == second[0] == code, first
        assert words in first[1]
        assert client.noop()[0] == 250, "the connection goes on"


def test_a_mail_from_nobody_is_refused_for_good(desk: Desk) -> None:
    with desk.lmtp() as client:
        client.ehlo()
        [(code, text)] = answers(client, ["help@desk.example"], mail(From=""), sender="nobody")
    assert code == 550 and "no sender" in text


@pytest.mark.parametrize("sender", ["", "MAILER-DAEMON <>", "<>", "MAILER-DAEMON"])
def test_a_report_of_a_mail_server_needs_no_sender(desk: Desk, sender: str) -> None:
    with desk.lmtp() as client:
        client.ehlo()
        [(code, text)] = answers(client, ["help@desk.example"], mail(From=sender), sender="")
    assert code == 250, text


def test_mail_for_other_domains_is_refused_by_recipient(desk: Desk) -> None:
    with desk.lmtp() as client:
        refused = client.sendmail("ann@kite.example", ["help@desk.example", "ann@elsewhere.example"], numbered(20))
    assert list(refused) == ["ann@elsewhere.example"] and refused["ann@elsewhere.example"][0] == 550
    assert "Mail 20" in desk.subjects()


def test_sixteen_connections_at_once_and_no_more(desk: Desk) -> None:
    clients = [desk.lmtp() for _ in range(TOGETHER)]
    for client in clients:
        client.ehlo()
    with socket.create_connection(("127.0.0.1", desk.port), timeout=30) as late:
        assert late.recv(100).startswith(b"421 ")
    told: list[int] = []

    def send(number: int) -> None:
        for step in range(5):
            raw = numbered(1000 + number * 10 + step)
            told.extend(code for code, _ in answers(clients[number], ["help@desk.example"], raw))

    threads = [threading.Thread(target=send, args=(number,)) for number in range(TOGETHER)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for client in clients:
        client.quit()
    assert told == [250] * TOGETHER * 5
    sent = {f"Mail {1000 + number * 10 + step}" for number in range(TOGETHER) for step in range(5)}
    assert sent <= set(desk.subjects())
    with desk.lmtp() as again:
        assert again.ehlo()[0] == 250


def test_what_was_taken_is_there_after_a_kill(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "data", Path(), lmtp_protocol="smtp")
    with smtplib.SMTP("127.0.0.1", desk.port, timeout=30) as client:
        for number in range(1, 6):
            assert client.sendmail("ann@kite.example", ["any@where.example"], numbered(number)) == {}
        desk.server.kill()
        client.close()
    made = command("check", data=tmp_path / "data")
    assert made.returncode == 0, made.stdout
    again = Server(tmp_path / "data")
    nora = Api(again.url, desk.nora.token)
    found = nora.search("ticket", "sort:id").ok()["results"]
    assert [each["subject"] for each in found] == [f"Mail {number}" for number in range(1, 6)]
    again.stop()


@pytest.mark.sqlite("no room for the file")
def test_a_full_database_is_a_reason_to_try_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "data", Path(), max_database_pages="1000")
    with desk.lmtp() as client:
        client.ehlo()
        codes = []
        for number in range(60):
            large = numbered(number, X_Large="1") + (f"{number} " * 60 + "\n").encode() * 500
            codes.append(answers(client, ["help@desk.example"], large)[0][0])
            if codes[-1] != 250:
                break
        assert codes[-1] == 452 and set(codes[:-1]) == {250}
    assert len(desk.subjects()) == len(codes) - 1
    desk.server.stop()


def test_a_port_in_use_is_reported_and_nothing_is_started(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        env = {"HELPDESK_LMTP_HOST": "127.0.0.1", "HELPDESK_LMTP_PORT": port}
        made = command("serve", "--port", "0", "--no-open", data=tmp_path / "data", env=env)
    assert made.returncode == 1 and f"127.0.0.1:{port}" in made.stderr.decode() and b"lmtp_port" in made.stderr


def test_a_running_server_looks_at_its_mailboxes_by_itself(desk: Desk, api: Api) -> None:
    with ImapServer() as imap:
        imap.put(numbered(30), numbered(31))
        id = api.create(
            "mailbox", name="Support", host=imap.host, port=imap.port, protocol="imap", username=LOGIN[0],
            password=LOGIN[1], is_mail_kept=0,
        ).ok()["id"]  # fmt: skip
        assert imap.emptied.wait(30)
        assert {"Mail 30", "Mail 31"} <= set(desk.subjects())
        api.remove("mailbox", id).ok()
