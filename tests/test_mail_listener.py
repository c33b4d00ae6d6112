"""The mail listener: switched while the service runs, encrypted, and retried after its port could not be opened."""

import smtplib
import socket
import ssl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from server import settings
from server.errors import AdminOnly, Invalid, Unavailable
from server.mailroom import mail_listening
from server.records import live_settings
from server.web.mail_listener import MailListener
from tests.desk.mailroom import mail
from tests.records.desk import NOW, Desk
from tests.smtp_server import CERTIFICATE, HOST, KEY

# The key of these tests, encrypted with the password "secret".
LOCKED_KEY = """\
-----BEGIN EC PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-128-CBC,560B41B7878320B2F1873878404F6CA2

K1WkoyOAo7jaGbQZIUl2WH0+j5saT5Jg6rRmGJFl7VwglXMR/oBbeyiOhCwW3nD0
yjkLTBTBisLex+rxdBtVy1mZVRXp7BkwHVtlU5sbKouttRYMxkXNZ0vBqoQXd2D7
gF5uSzRFqYkQteSs194sapcoYs/X4xTvU+OBTrhaCVA=
-----END EC PRIVATE KEY-----
"""
ON = {"lmtp_host": HOST, "lmtp_port": "0", "lmtp_protocol": "smtp"}
TO = ["help@desk.example"]


class Listening:
    """A desk and its listener, as after a start. given: settings by flags."""

    def __init__(self, folder: Path, **given: str) -> None:
        self.desk = Desk(folder)
        self.desk.create("group", name="Support", is_default=1)
        self.desk.service.settings.__dict__.update(settings.load(given, {}, folder).__dict__)
        live_settings.apply(self.desk.service)
        self.listener = MailListener(self.desk.service)
        mail_listening.watch(self.desk.service, self.listener)
        self.listener.start()

    def change(self, **changes: str) -> None:
        mail_listening.change(self.desk.context(), changes)

    @property
    def state(self) -> mail_listening.State:
        return mail_listening.state(self.desk.service)

    @property
    def port(self) -> int:
        (url,) = self.state.urls
        return int(url.rpartition(":")[2])

    def close(self) -> None:
        self.listener.stop(1)
        self.desk.close()


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Listening]:
    made = Listening(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="module")
def off(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    """A listener that stays off."""
    made = Listening(tmp_path_factory.mktemp("off"))
    yield made
    made.close()


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that another socket listens on."""
    with socket.create_server((HOST, 0)) as other:
        yield other.getsockname()[1]


def send(port: int, subject: str) -> None:
    with smtplib.SMTP(HOST, port, timeout=30) as client:
        client.sendmail("ann@kite.example", TO, mail(Subject=subject, Message_Id=f"<{subject}@kite.example>"))


def test_it_is_switched_on_changed_and_off_while_the_service_runs(listening: Listening) -> None:
    assert listening.state == mail_listening.State()
    listening.change(**ON)
    first = listening.port
    send(first, "one")
    assert (listening.state.taken, listening.state.refused) == (1, 0) and listening.state.taken_at
    listening.change(lmtp_domains="elsewhere.example")
    with pytest.raises(smtplib.SMTPRecipientsRefused):
        send(listening.port, "two")
    with smtplib.LMTP(HOST, listening.port, timeout=30) as client:
        assert client.docmd("LHLO there")[0] >= 500  # it speaks SMTP
    listening.change(lmtp_domains="", lmtp_protocol="lmtp")
    assert listening.state.urls[0].startswith("lmtp://")
    listening.change(lmtp_host="")
    assert listening.state.urls == () and listening.state.taken == 1
    with pytest.raises(ConnectionRefusedError):
        smtplib.SMTP(HOST, first, timeout=30)
    assert listening.desk.service.settings.sources == {"lmtp_port": "console"}  # the others return to their defaults


def test_it_listens_again_after_the_next_start(tmp_path: Path) -> None:
    first = Listening(tmp_path)
    first.change(**ON)
    first.close()
    second = Listening(tmp_path)
    send(second.port, "after the start")
    second.close()


def test_what_cannot_be_opened_changes_nothing(listening: Listening, taken: int) -> None:
    with pytest.raises(Unavailable, match=str(taken)):
        listening.change(**ON | {"lmtp_port": str(taken)})
    assert listening.state == mail_listening.State() and listening.desk.service.settings.lmtp_host == ""
    listening.change(**ON)
    with pytest.raises(Unavailable, match=str(taken)):
        listening.change(lmtp_port=str(taken))
    send(listening.port, "still there")
    assert listening.desk.service.settings.lmtp_port == 0


@pytest.mark.parametrize(("changes", "field"), [
    ({"lmtp_port": "70000"}, "lmtp_port"), ({"lmtp_port": "many"}, "lmtp_port"),
    ({"lmtp_protocol": "uucp"}, "lmtp_protocol"), ({"lmtp_socket": "/x"}, "lmtp_socket"), ({"host": "x"}, "host"),
])  # fmt: skip
def test_wrong_values_are_refused_by_name(changes: dict[str, str], field: str, off: Listening) -> None:
    with pytest.raises(Invalid) as caught:
        off.change(**ON | changes)
    assert caught.value.details["field"] == field and off.state == mail_listening.State()


def test_only_administrators_switch_it(off: Listening) -> None:
    milo = off.desk.worker("Milo")
    with pytest.raises(AdminOnly):
        mail_listening.change(off.desk.context(milo), ON)
    with pytest.raises(AdminOnly):
        live_settings.change(off.desk.context(milo), {"subject_mask": "yes"})


def test_what_is_given_at_the_start_is_not_for_the_console(tmp_path: Path) -> None:
    with_flag = Listening(tmp_path, lmtp_host=HOST, lmtp_port="0")
    with pytest.raises(Invalid, match="set by command line"):
        with_flag.change(lmtp_host="")
    assert with_flag.port
    with_flag.close()


def test_a_port_that_is_taken_at_the_start_is_tried_again(tmp_path: Path, taken: int) -> None:
    with pytest.raises(Unavailable, match="choose another"):
        Listening(tmp_path, lmtp_host=HOST, lmtp_port=str(taken))
    with socket.create_server((HOST, 0)) as other:
        first = Listening(tmp_path)
        first.desk.store.write(
            lambda tx: live_settings.service_settings.put(
                tx, live_settings.KEY, ON | {"lmtp_port": str(other.getsockname()[1])}
            )
        )
        first.close()
        second = Listening(tmp_path)
        assert second.state.failing_since and "cannot be listened for" in second.state.error
        mail_listening.try_again(second.desk.service, NOW)
        assert second.state.error
    mail_listening.try_again(second.desk.service, NOW)
    assert second.state.error == "" and second.state.failing_since == 0
    send(second.port, "at last")
    second.close()


def test_mail_is_taken_encrypted(tmp_path: Path) -> None:
    (tmp_path / "certificate.pem").write_text(CERTIFICATE)
    (tmp_path / "key.pem").write_text(KEY)
    files = {"lmtp_certificate": str(tmp_path / "certificate.pem"), "lmtp_key": str(tmp_path / "key.pem")}
    made = Listening(tmp_path, **ON, **files, lmtp_requires_tls="yes", lmtp_connections="4")
    assert made.state.offers_tls
    trusting = ssl.create_default_context(cadata=CERTIFICATE)
    for number in range(9):  # connections are released, with a delay
        with smtplib.SMTP(HOST, made.port, timeout=30) as client:
            assert client.starttls(context=trusting)[0] == 220
            client.sendmail("ann@kite.example", TO, mail(Subject=f"Secret {number}"))
    with smtplib.SMTP(HOST, made.port, timeout=30) as client, pytest.raises(smtplib.SMTPResponseException) as caught:
        client.sendmail("ann@kite.example", TO, mail(Subject="Plain"))
    assert caught.value.smtp_code == 530 and made.state.taken == 9
    made.close()


def test_a_key_behind_a_password_is_refused_and_nobody_is_asked_for_it(tmp_path: Path, off: Listening) -> None:
    """On a terminal the library would prompt for the password, and block the listener and the caller that switches
    it."""
    (tmp_path / "certificate.pem").write_text(CERTIFICATE)
    (tmp_path / "key.pem").write_text(LOCKED_KEY)
    given = {"lmtp_certificate": str(tmp_path / "certificate.pem"), "lmtp_key": str(tmp_path / "key.pem")}
    service = replace(off.desk.service, settings=settings.load({**ON, **given}, {}))
    with pytest.raises(Unavailable, match="the key is behind a password"):
        MailListener(service)


@pytest.mark.parametrize(("given", "words"), [
    ({"lmtp_certificate": "missing.pem"}, "No such file"), ({"lmtp_requires_tls": "yes"}, "needs a certificate"),
    ({"lmtp_certificate": __file__}, "cannot be used"),
])  # fmt: skip
def test_a_certificate_that_cannot_be_used_stops_the_start(given: dict[str, str], words: str, off: Listening) -> None:
    service = replace(off.desk.service, settings=settings.load({**ON, **given}, {}))
    with pytest.raises(Unavailable, match=words):
        MailListener(service)
