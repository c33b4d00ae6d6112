"""Errors in the setup of a mail server, for SMTP, IMAP and POP3: the message names the error and the right choice."""

import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from server import resources, translation
from server.errors import HelpdeskError
from server.mail import inboxes
from server.mail.inboxes import Login, LoginRefused
from server.mail.network import wrong_certificate
from server.mail.transports import smtp
from server.mail.transports.smtp import Encryption, SmtpSettings
from tests.mail_servers import ImapServer, Pop3Server
from tests.smtp_server import HOST, SmtpServer

pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH")
TLS = {"smtp": "tls", "imap": "imap-ssl", "pop3": "pop3-ssl"}
STARTTLS = {"smtp": "starttls", "imap": "imap-starttls", "pop3": "pop3-starttls"}
NONE = {"smtp": "none", "imap": "imap", "pop3": "pop3"}
SERVERS: dict[str, Callable[..., Any]] = {"smtp": SmtpServer, "imap": ImapServer, "pop3": Pop3Server}
GREETINGS = {"smtp": b"220 mail ready\r\n", "imap": b"* OK IMAP4rev1 ready\r\n", "pop3": b"+OK POP3 ready\r\n"}
UMLAUTS = ("j\u00fcrgen", "p\u00e4 :\u00df\u20ac")


def begin(kind: str, port: int, how: str, user: str = "", password: str = "x", host: str = HOST) -> None:
    """Begins a session as the service does. Raises its errors."""
    if kind == "smtp":
        smtp.probe(SmtpSettings(host, port, Encryption(how), user, password if user else "", timeout_seconds=5))
    else:
        with inboxes.connect(Login(how, host, port, user or "support", password, timeout_seconds=5)):
            pass


def refusal(kind: str, port: int, how: str, **more: str) -> str:
    with pytest.raises(HelpdeskError) as failed:
        begin(kind, port, how, **more)
    assert not getattr(failed.value, "is_permanent", False)
    return failed.value.message


@contextmanager
def greets(greeting: bytes) -> Iterator[int]:
    """A server that sends one line; its port."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(greeting)
            self.request.recv(1000)

    with socketserver.ThreadingTCPServer((HOST, 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("kind", SERVERS)
def test_tls_where_a_server_begins_without(kind: str) -> None:
    with SERVERS[kind](tls="starttls") as server:
        said = refusal(kind, server.port, TLS[kind])
    assert "does not speak TLS from the start: choose STARTTLS" in said
    with translation.speaking(translation.Languages((resources.path(translation.FOLDER),)).catalog_for("de")):
        assert "spricht nicht von Anfang an TLS: Wählen Sie STARTTLS" in translation.shown(said)


@pytest.mark.parametrize("how", [STARTTLS, NONE], ids=["starttls", "none"])
@pytest.mark.parametrize("kind", SERVERS)
def test_no_tls_where_a_server_begins_with_it(kind: str, how: dict[str, str]) -> None:
    with SERVERS[kind](tls="tls") as server:
        assert refusal(kind, server.port, how[kind]).endswith(
            "expects TLS from the start: choose TLS as the encryption"
        )


@pytest.mark.parametrize("kind", SERVERS)
def test_starttls_where_there_is_none(kind: str) -> None:
    with SERVERS[kind]() as server:
        assert "does not offer STARTTLS: choose TLS, usually on port" in refusal(kind, server.port, STARTTLS[kind])


@pytest.mark.parametrize("other", [*SERVERS, "http"])
@pytest.mark.parametrize("kind", SERVERS)
def test_the_port_of_another_protocol(kind: str, other: str) -> None:
    greeting = GREETINGS.get(other, b"HTTP/1.1 400 Bad Request\r\n\r\n")
    if kind == other:
        return
    with greets(greeting) as port:
        said = refusal(kind, port, NONE[kind])
    assert f"does not speak {kind.upper()}" in said and "usual ports are" in said


@pytest.mark.parametrize("kind", SERVERS)
def test_a_self_signed_certificate(kind: str) -> None:
    with SERVERS[kind](tls="tls") as server:
        assert "is self-signed" in refusal(kind, server.port, TLS[kind])


@pytest.mark.parametrize(("code", "words"), [
    (10, "has expired; its operators must renew it"), (62, "enter the host name that it was issued for"),
    (20, "is signed by an authority that this machine does not trust"), (99, "is not valid: odd"),
])  # fmt: skip
def test_what_is_wrong_with_a_certificate(code: int, words: str) -> None:
    error = ssl.SSLCertVerificationError()
    error.verify_code, error.verify_message = code, "odd"
    assert words in wrong_certificate("mail.example", error)


@pytest.mark.parametrize("kind", SERVERS)
def test_a_port_without_a_listener(kind: str) -> None:
    with greets(b"") as port:
        pass
    said = refusal(kind, port, NONE[kind])
    assert said.startswith(f"no mail server at {HOST} port {port}: nothing responds there") and "usually" in said


@pytest.mark.parametrize("kind", SERVERS)
def test_a_name_of_no_host(kind: str) -> None:
    assert "cannot be resolved" in refusal(kind, 9, NONE[kind], host="no-such-host.invalid")


def test_logins_that_are_not_spoken() -> None:
    with SmtpServer(login=("ida", "s3cret"), logins="NTLM") as server:
        said = refusal("smtp", server.port, "none", user="ida")
    assert "offers the sign-in methods NTLM, but not CRAM-MD5 or PLAIN or LOGIN" in said
    with SmtpServer(logins="none") as server:
        assert "does not offer sign-in" in refusal("smtp", server.port, "none", user="ida")


@pytest.mark.parametrize(("kind", "answer"), [
    ("pop3", "-ERR [IN-USE] locked"), ("pop3", "-ERR [LOGIN-DELAY] wait"), ("pop3", "-ERR [SYS/TEMP] disk"),
    ("imap", "NO [UNAVAILABLE] later"), ("imap", "NO [INUSE] locked"), ("imap", "NO [LIMIT] too many"),
])  # fmt: skip
def test_a_mailbox_that_is_busy_is_no_wrong_password(kind: str, answer: str) -> None:
    with SERVERS[kind]() as server:
        server.refusal = answer
        with pytest.raises(HelpdeskError, match="right now; it will be tried again") as failed:
            begin(kind, server.port, NONE[kind])
        assert not isinstance(failed.value, LoginRefused)
        server.refusal = ""
        with pytest.raises(LoginRefused, match="rejected this user name and password"):
            begin(kind, server.port, NONE[kind])


@pytest.mark.parametrize("kind", SERVERS)
def test_user_names_and_passwords_are_sent_in_utf_8(kind: str) -> None:
    server = SmtpServer(login=UMLAUTS) if kind == "smtp" else SERVERS[kind]()
    server.login = UMLAUTS
    with server:
        begin(kind, server.port, NONE[kind], user=UMLAUTS[0], password=UMLAUTS[1])
        with pytest.raises(HelpdeskError):
            begin(kind, server.port, NONE[kind], user=UMLAUTS[0], password="p\u00e4 :ss\u20ac")
