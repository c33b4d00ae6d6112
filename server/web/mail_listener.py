"""Receives mail from a mail server by LMTP or SMTP. Each message is on disk before it is acknowledged.

Off unless a setting names an address or a socket to listen on; it can be switched on and off while the service runs. It
has its own event loop in its own thread: a large message has many lines, which must not delay requests. All recipients
of a message share one outcome, which LMTP reports for each of them. Not meant for mail servers of third parties: it
implements neither greylisting nor logins."""

import asyncio
import re
import socket
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any

from server import clock, log, mailroom
from server.access.service_actor import own_context
from server.context import Service
from server.errors import Full, HelpdeskError, Rejected, TimedOut, TooLarge, Unavailable
from server.mailroom.mail_listening import NAMES, State
from server.settings import Settings
from server.web.sockets import tcp_sockets, unix_socket

MAX_RECIPIENTS = 1000  # recipients of one message; the client sends it again for the rest
MAX_ANSWER_CHARS = 400  # characters of a reply to the client
END_SECONDS = 1  # seconds for connections to close
IDLE_SECONDS = 300  # seconds between two commands
BUSY = b"421 4.3.2 too many connections; try again in a moment\r\n"
_UNSAFE = re.compile(r"[^\x20-\x7e]+")
_log = log.get("lmtp")

# The reply for an error, by the first class that matches. 4xx: the client tries again; 5xx: it notifies the sender.
_ANSWERS: tuple[tuple[type[HelpdeskError], str], ...] = (
    (Full, "452 4.3.1"),
    (Unavailable, "451 4.3.0"),
    (TimedOut, "451 4.3.0"),
    (TooLarge, "552 5.3.4"),
    (Rejected, "550 5.7.1"),
    (HelpdeskError, "554 5.6.0"),
)


class MailListener:
    """The listener of mailroom/mail_listening.py. It exists once; its sockets are replaced when settings change."""

    def __init__(self, service: Service, is_on: bool = True) -> None:
        """Opens its sockets; is_on: whether this process may listen. Raises Unavailable if that fails, unless mail
        reception was switched on in the console: the administrator must be able to return there."""
        self._service = service
        self._is_on = is_on
        self._lock = threading.Lock()
        self._run: _ActiveListener | None = None
        self._by: tuple[object, ...] = ()
        self._state = State()
        self._is_started = False
        try:
            self._open(service.settings)
        except Unavailable as error:
            if any(service.settings.is_given(name) for name in ("lmtp_host", "lmtp_socket", "lmtp_certificate")):
                raise
            self._failed(error)

    @property
    def urls(self) -> list[str]:
        """The URLs it listens on; empty when it is off."""
        return list(self._state.urls)

    def state(self) -> State:
        return self._state

    def holds(self, settings: Settings) -> bool:
        return not self._is_on or self._by == _values(settings)

    def start(self) -> None:
        """Starts to accept mail."""
        with self._lock:
            self._is_started = True
            if self._run is not None:
                self._run.start()

    def renew(self, settings: Settings) -> None:
        """Listens as these settings say. Raises Unavailable and restores the previous state if that fails."""
        with self._lock:
            if not self._is_started:
                return
            before = self._run
            self._end(settings.stop_seconds)
            try:
                self._open(settings)
            except Unavailable as error:
                if settings is self._service.settings:
                    self._failed(error)
                elif before is not None:
                    self._reopen(before.settings)
                raise

    def stop(self, seconds: float) -> None:
        """Stops accepting connections, and waits up to this many seconds for messages that are being stored."""
        with self._lock:
            self._is_started = False
            self._end(seconds)

    def noted(self, response: str) -> None:
        """Counts an outcome of a message."""
        now, state = clock.now(), self._state
        if response.startswith("2"):
            self._state = replace(state, taken=state.taken + 1, taken_at=now)
        else:
            self._state = replace(state, refused=state.refused + 1, refused_at=now, refused_said=response)

    def _open(self, settings: Settings) -> None:
        self._by = _values(settings)
        is_wanted = self._is_on and (settings.lmtp_host or settings.lmtp_socket)
        self._run = _ActiveListener(self._service, settings, self.noted) if is_wanted else None
        urls = tuple(self._run.urls) if self._run is not None else ()
        has_tls = self._run is not None and self._run.tls is not None
        self._state = replace(self._state, urls=urls, offers_tls=has_tls, error="", failing_since=0)
        if self._run is not None and self._is_started:
            self._run.start()

    def _reopen(self, settings: Settings) -> None:
        """Restores the previous state."""
        try:
            self._open(settings)
        except Unavailable as error:
            self._failed(error)

    def _end(self, seconds: float) -> None:
        if self._run is not None:
            self._run.stop(seconds)
            self._run = None
            self._state = replace(self._state, urls=())

    def _failed(self, error: Unavailable) -> None:
        _log.error("lmtp.closed", reason=error.message)
        since = self._state.failing_since or clock.now()
        self._state = replace(self._state, urls=(), error=error.message, failing_since=since)


def _values(settings: Settings) -> tuple[object, ...]:
    return tuple(getattr(settings, name) for name in NAMES)


class _ActiveListener:
    """The open sockets, until it is stopped. tls: the context for STARTTLS, None if it is not offered."""

    def __init__(self, service: Service, settings: Settings, noted: Callable[[str], None]) -> None:
        """Opens the sockets; noted: called with the outcome of each message. Raises Unavailable if that fails."""
        from server.web.mail_protocol import PROTOCOLS  # imported only by services that listen: the library is large

        self._service = service
        self.settings = settings
        self._kind = PROTOCOLS[settings.lmtp_protocol]
        self._noted = noted
        self._limit = settings.lmtp_connections
        self._open = 0
        self._busy = 0  # messages that are being stored
        self._idle = asyncio.Event()
        self._domains = frozenset(domain.lower().lstrip("@") for domain in settings.lmtp_domains)
        self.tls = _tls(settings)
        self._sockets = _sockets(settings)
        self._pool = ThreadPoolExecutor(self._limit, thread_name_prefix="lmtp")
        self._loop = asyncio.new_event_loop()
        self._servers: list[asyncio.Server] = []
        self._sessions: set[asyncio.BaseTransport] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="lmtp", daemon=True)
        self.urls = [_url(settings.lmtp_protocol, each) for each in self._sockets]

    def start(self) -> None:
        """Starts to accept mail."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._serve(), self._loop).result()

    def stop(self, seconds: float) -> None:
        """Stops accepting connections, and waits up to this many seconds for messages that are being stored."""
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._end(seconds), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._pool.shutdown(wait=False, cancel_futures=True)
        for each in self._sockets:
            each.close()
        if self.settings.lmtp_socket:
            Path(self.settings.lmtp_socket).unlink(missing_ok=True)
        self._loop.close()

    async def _serve(self) -> None:
        for each in self._sockets:
            make = self._loop.create_unix_server if _is_unix(each) else self._loop.create_server
            self._servers.append(await make(self._protocol, sock=each))

    async def _end(self, seconds: float) -> None:
        for server in self._servers:
            server.close()
        if self._busy:
            try:
                await asyncio.wait_for(self._idle.wait(), seconds)
            except TimeoutError:
                _log.warning("lmtp.cut", mails=self._busy)
        for transport in list(self._sessions):
            transport.close()
        ending = asyncio.all_tasks() - {asyncio.current_task()}
        if ending:
            await asyncio.wait(ending, timeout=END_SECONDS)

    def _protocol(self) -> asyncio.BaseProtocol:
        if self._open >= self._limit:
            _log.warning("lmtp.busy", connections=self._open)
            return _BusyReply()
        protocol: asyncio.BaseProtocol = self._kind(
            self,
            data_size_limit=self.settings.max_mail_bytes,
            enable_SMTPUTF8=True,
            timeout=IDLE_SECONDS,
            hostname=_host_name(self._service),
            ident="Helpdesk",
            loop=self._loop,
            tls_context=self.tls,
            require_starttls=self.settings.lmtp_requires_tls,
        )
        return protocol

    def opened(self, transport: asyncio.BaseTransport) -> None:
        """Called when a connection begins."""
        self._open += 1
        self._sessions.add(transport)

    def closed(self, transport: asyncio.BaseTransport) -> None:
        """Called when a connection ends."""
        self._open -= 1
        self._sessions.discard(transport)

    # -- callbacks of aiosmtpd, which defines their names ------------------------------------------------------------

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: list[str]) -> str:
        if self._domains and address.rpartition("@")[2].lower() not in self._domains:
            return _said("550 5.1.2", f"email for {address} is not accepted here")
        if len(envelope.rcpt_tos) >= MAX_RECIPIENTS:
            return f"452 4.5.3 at most {MAX_RECIPIENTS} recipients at once"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self._busy += 1
        self._idle.clear()
        try:
            raw = _traced(envelope, session.host_name or "", _host_name(self._service))
            response = await self._loop.run_in_executor(self._pool, self._take, raw)
            self._noted(response)
            return response
        finally:
            self._busy -= 1
            if not self._busy:
                self._idle.set()

    async def handle_exception(self, error: Exception) -> str:
        _log.error("lmtp.failed", error=f"{type(error).__name__}: {error}")
        return "451 4.3.0 an error in this program"

    def _take(self, raw: bytes) -> str:
        """Stores a message and returns the reply to the client. Runs on a thread of the pool."""
        try:
            received = mailroom.receive(own_context(self._service), raw)
        except HelpdeskError as error:
            code = next(code for kind, code in _ANSWERS if isinstance(error, kind))
            if error.details.get("is_temporary"):
                code = "451 4.3.5"
            _log.warning("lmtp.refused", response=code, error=error.message)
            return _said(code, error.message)
        except Exception:
            _log.exception("lmtp.failed")
            return "451 4.3.0 an error in this program; the email was not stored"
        _log.info("lmtp.taken", ticket_id=received.ticket_id, message_id=received.message_id, outcome=received.outcome)
        return f"250 2.0.0 {received.outcome}{f' on ticket {received.mask}' if received.mask else ''}"


class _BusyReply(asyncio.Protocol):
    """Refuses a connection above the limit."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.write(BUSY)
        transport.close()


def _traced(envelope: Any, greeting: str, host: str) -> bytes:
    """Returns the message with trace headers: its origin and its recipients. Follows RFC 5321, section 4.4."""
    sender = "" if envelope.mail_from == "<>" else envelope.mail_from
    when = format_datetime(datetime.fromtimestamp(clock.now(), UTC))
    lines = [f"Return-Path: <{sender}>", *(f"Delivered-To: {each}" for each in envelope.rcpt_tos)]
    lines.append(f"Received: from {greeting or 'unknown'} by {host}; {when}")
    added = "".join(f"{_one_line(line)}\r\n" for line in lines)
    return added.encode("utf-8", "surrogateescape") + bytes(envelope.content)


def _one_line(text: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f]+", " ", text)


def _said(code: str, text: str) -> str:
    return f"{code} {_UNSAFE.sub('?', text)}"[:MAX_ANSWER_CHARS]


def _host_name(service: Service) -> str:
    return service.base_url.partition("://")[2].partition("/")[0].partition(":")[0] or "localhost"


def _is_unix(each: socket.socket) -> bool:
    return each.family == getattr(socket, "AF_UNIX", None)


def _url(protocol: str, each: socket.socket) -> str:
    name = each.getsockname()
    if _is_unix(each):
        return f"{protocol}:{name}"
    return f"{protocol}://[{name[0]}]:{name[1]}" if ":" in name[0] else f"{protocol}://{name[0]}:{name[1]}"


def _sockets(settings: Settings) -> list[socket.socket]:
    sockets: list[socket.socket] = []
    where = f"{settings.lmtp_host}:{settings.lmtp_port}"
    try:
        if settings.lmtp_host:
            sockets += tcp_sockets(settings.lmtp_host, settings.lmtp_port)
        if settings.lmtp_socket:
            where = settings.lmtp_socket
            sockets.append(unix_socket(where))
    except (OSError, ValueError) as error:
        for each in sockets:
            each.close()
        raise Unavailable(
            f"mail cannot be listened for on {where} ({getattr(error, 'strerror', None) or error}); "
            "choose another with lmtp_host, lmtp_port or lmtp_socket"
        ) from error
    return sockets


def _tls(settings: Settings) -> ssl.SSLContext | None:
    if not settings.lmtp_certificate:
        if settings.lmtp_requires_tls:
            raise Unavailable("lmtp_requires_tls needs a certificate; set lmtp_certificate and lmtp_key to its files")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    prompts = []

    def password() -> str:  # otherwise OpenSSL prompts on the terminal and blocks
        prompts.append(True)
        return ""

    try:
        context.load_cert_chain(settings.lmtp_certificate, settings.lmtp_key or None, password)
    except OSError as error:  # includes ssl.SSLError
        reason = "the key is behind a password" if prompts else error.strerror or error
        raise Unavailable(
            f"the certificate in {settings.lmtp_certificate} cannot be used ({reason}); correct "
            "lmtp_certificate and lmtp_key"
        ) from error
    return context
