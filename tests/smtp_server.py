"""A small real SMTP server on 127.0.0.1 for tests. It stores received mails, and can refuse them, require a login and
speak TLS.

    with SmtpServer() as server:
        ...
        sender, recipients, raw = server.take()"""

import asyncio
import base64
import ssl
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword

HOST = "127.0.0.1"

# A key and certificate for localhost and 127.0.0.1 that protect nothing: only these tests use them, and both are
# public.
KEY = """\
-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIP0K8gpS5M3/DT32u7RG3zLZlm0fcK2FZyePcYdur9tEoAoGCCqGSM49
AwEHoUQDQgAEe6MH6WP35B/85yNJrMwD088i9K89GG4SGL6hYay07HVG+wjWXZNs
8Bb7VZGzZpOMI9ONddqDbCvuU9q15BxDWw==
-----END EC PRIVATE KEY-----
"""
CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBdjCCAR2gAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABHujB+lj9+Qf/Ocj
SazMA9PPIvSvPRhuEhi+oWGstOx1RvsI1l2TbPAW+1WRs2aTjCPTjXXag2wr7lPa
teQcQ1ujXjBcMBoGA1UdEQQTMBGCCWxvY2FsaG9zdIcEfwAAATAPBgNVHRMBAf8E
BTADAQH/MA4GA1UdDwEB/wQEAwIChDAdBgNVHQ4EFgQU/VU4S/8Ml5qa9vbC0Mvf
eWjxEwcwCgYIKoZIzj0EAwIDRwAwRAIgTFgCmsCNETWtj6OCQGPZM8VuASWwdzlP
lDJRoOQJHOcCICo4b8LzpDdQPGzLqhGWUnBpX2/G7ZlgI0YPZdlEdabA
-----END CERTIFICATE-----
"""


class Message(NamedTuple):
    """A delivered mail with its envelope."""

    sender: str
    recipients: tuple[str, ...]
    raw: bytes


class SmtpServer:
    """Serves from `start` to `stop`, or inside `with`. All responses may be changed while it runs.

    refused: {address: response} to RCPT; sender_answer, data_answer: to MAIL and DATA; "" accepts. login: (user name,
    password) that is required; token: OAuth2 token, if that is the login. tls: "", "starttls" or "tls". takes_utf8:
    offer SMTPUTF8. most_bytes: limit of a mail. most_recipients: limit of one transaction, 0 for none; limits: its
    announcement in EHLO (RFC 9422). logins: login methods to announce in place of the supported ones, "none" to
    announce no login."""

    host = HOST

    def __init__(
        self,
        refused: Mapping[str, str] | None = None,
        sender_answer: str = "",
        data_answer: str = "",
        login: tuple[str, str] | None = None,
        token: str = "",
        tls: str = "",
        takes_utf8: bool = True,
        most_bytes: int = 2**25,
        most_recipients: int = 0,
        limits: str = "",
        logins: str = "",
    ) -> None:
        self.refused = dict(refused or {})
        self.sender_answer, self.data_answer, self.login = sender_answer, data_answer, login
        self.token = token
        self.most_recipients, self.limits, self.logins = most_recipients, limits, logins
        self.messages: list[Message] = []
        self.options: list[list[str]] = []  # the parameters of MAIL, one list per message
        self._taken = 0
        self._hanging = 0
        self._goes_on = asyncio.Event()
        self._goes_on.set()
        self._arrived = threading.Condition()
        context = tls_context() if tls else None
        self._controller = _Controller(
            _Handler(self),
            hostname=HOST,
            port=0,
            server_hostname="mail.test",
            enable_SMTPUTF8=takes_utf8,
            data_size_limit=most_bytes,
            ssl_context=context if tls == "tls" else None,
            tls_context=context if tls == "starttls" else None,
            authenticator=self._is_known if login else None,
            auth_required=login is not None or bool(token),
            auth_require_tls=False,
        )

    @property
    def port(self) -> int:
        """The port of the server; 0 before `start`."""
        return self._controller.port

    def start(self) -> "SmtpServer":
        self._controller.start()
        return self

    def stop(self) -> None:
        if not self._goes_on.is_set():
            self.go_on()
        self._controller.stop()

    def hang(self) -> None:
        """Accepts connections from now on, but responds to no mail until `go_on`."""
        self._goes_on.clear()

    def go_on(self) -> None:
        """Responds to waiting mails, and to all later ones."""
        self._controller.loop.call_soon_threadsafe(self._goes_on.set)

    def wait_for_hanging(self, count: int) -> bool:
        """Waits a limited time for this many mails to hang at once; whether they did."""
        with self._arrived:
            return self._arrived.wait_for(lambda: self._hanging >= count, 30)

    async def answer(self) -> None:
        """Returns when a mail may be responded to."""
        self._count_hanging(1)
        await self._goes_on.wait()
        self._count_hanging(-1)

    def _count_hanging(self, more: int) -> None:
        with self._arrived:
            self._hanging += more
            self._arrived.notify_all()

    def __enter__(self) -> "SmtpServer":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def take(self, timeout: float = 60) -> Message:
        """Removes and returns the oldest message (envelope sender, recipients, bytes); waits for one. Fails if none
        arrives within `timeout` seconds."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self.messages) > self._taken, timeout):
                raise AssertionError(f"no mail came within {timeout} seconds; {self._taken} came before")
            self._taken += 1
            return self.messages[self._taken - 1]

    def forget(self) -> None:
        """Discards all messages so far."""
        with self._arrived:
            self._taken = len(self.messages)

    def keep(self, message: Message, options: list[str]) -> None:
        with self._arrived:
            self.messages.append(message)
            self.options.append(options)
            self._arrived.notify_all()

    def _is_known(self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        assert self.login is not None and isinstance(data, LoginPassword)
        given = (data.login.decode(), data.password.decode())
        # Not handled here: aiosmtpd responds with its own 535.
        return AuthResult(success=given == self.login, handled=False)


class _Handler:
    """The handler of aiosmtpd, which prescribes the names."""

    def __init__(self, server: SmtpServer) -> None:
        self.server = server

    async def auth_XOAUTH2(self, server: Any, args: list[str]) -> AuthResult:
        """Like the large providers: the reason of a failed login comes as a challenge, and an empty response ends
        it."""
        proof = base64.b64decode(args[1]).decode()
        if self.server.token and proof.endswith(f"\1auth=Bearer {self.server.token}\1\1"):
            return AuthResult(success=True, auth_data=proof)
        await server.challenge_auth(b'{"status":"401"}')
        return AuthResult(success=False, handled=False)

    async def handle_EHLO(
        self, server: Any, session: Any, envelope: Any, hostname: str, responses: list[str]
    ) -> list[str]:
        session.host_name = hostname
        limits = [f"250-LIMITS {self.server.limits}"] if self.server.limits else []
        logins = {"": None, "none": []}.get(self.server.logins, [f"250-AUTH {self.server.logins}"])
        rest = [line for line in responses[1:] if logins is None or not line.startswith("250-AUTH")]
        return [responses[0], *limits, *(logins or []), *rest]

    async def handle_MAIL(self, server: Any, session: Any, envelope: Any, address: str, options: list[str]) -> str:
        await self.server.answer()
        if self.server.sender_answer:
            return self.server.sender_answer
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: list[str]) -> str:
        if address in self.server.refused:
            return self.server.refused[address]
        if self.server.most_recipients and len(envelope.rcpt_tos) >= self.server.most_recipients:
            return "452 4.5.3 Too many recipients"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if self.server.data_answer:
            return self.server.data_answer
        # aiosmtpd accepts an empty sender as written.
        sender = "" if envelope.mail_from == "<>" else envelope.mail_from
        message = Message(sender, tuple(envelope.rcpt_tos), envelope.content)
        self.server.keep(message, envelope.mail_options)
        return "250 Taken"


class _Controller(Controller):
    """Listens on a port chosen by the system."""

    def _trigger_server(self) -> None:
        assert isinstance(self.server, asyncio.Server)
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


def tls_context() -> ssl.SSLContext:
    """The TLS context of a server with this certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        both = Path(folder, "localhost.pem")
        both.write_text(KEY + CERTIFICATE)
        context.load_cert_chain(both)
    return context
