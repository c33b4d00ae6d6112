"""Reads waiting mails from mailboxes on other servers.

A protocol is a module with `connect(login)`, which returns an Inbox. The mailroom decides when to check a mailbox, and
tracks its mails."""

import re
import ssl
from collections.abc import Callable, Sequence
from dataclasses import field
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, Self, TypeVar, cast

from server.dataclass import dataclass
from server.errors import Invalid, Unavailable, nearest
from server.mail import network
from server.mail.network import (
    MAX_ANSWER_CHARACTERS,
    Encryption,
    MailPort,
    connection_failure,
    no_starttls,
    reason,
    wrong_certificate,
    wrong_protocol,
)
from server.printable import printable
from server.translation import N_, lazy_gettext

if TYPE_CHECKING:
    from server.outbound import AccountAccess

GRAPH = "graph"  # Microsoft Graph, which has neither a port nor a choice of encryption
GRAPH_HOST = "graph.microsoft.com"  # unless a mailbox or transport names another
HTTPS_PORT = "443"
_MODULES = {GRAPH: "graph", "imap": "imap", "pop3": "pop3"}
_ENCRYPTIONS: dict[str, Encryption] = {"": "none", "starttls": "starttls", "ssl": "tls"}
Result = TypeVar("Result")
_BUSY = re.compile(r"\[(?:IN-USE|INUSE|LOGIN-DELAY|SYS/TEMP|UNAVAILABLE|LIMIT|SERVERBUG|OVERQUOTA)\b", re.IGNORECASE)
_NEEDS_ENCRYPTION = re.compile(r"\[PRIVACYREQUIRED\]|LOGINDISABLED|LOGIN (?:is )?disabled", re.IGNORECASE)
# Greetings of servers of other protocols.
_GREETS_OTHERWISE = {
    "IMAP": re.compile(r"None$|\+OK|[245]\d\d[ -]|HTTP/|.*unexpected response|.*not IMAP4 compliant", re.IGNORECASE),
    "POP3": re.compile(r"\* (?:OK|PREAUTH|BYE)|[245]\d\d[ -]|HTTP/", re.IGNORECASE),
}
SERVER_PROTOCOLS = tuple(f"{name}{mark and '-'}{mark}" for name in ("pop3", "imap") for mark in _ENCRYPTIONS)
PROTOCOLS = (*SERVER_PROTOCOLS, GRAPH)


def usual_port(protocol: str) -> str:
    """Returns the usual port of one of PROTOCOLS, "" for another protocol.

    >>> usual_port("imap-ssl"), usual_port("pop3-starttls"), usual_port("graph"), usual_port("exchange")
    ('993', '110', '443', '')
    """
    if protocol == GRAPH:
        return HTTPS_PORT
    name, _dash, mark = protocol.partition("-")
    if protocol not in SERVER_PROTOCOLS:
        return ""
    with_tls, without = network.PORTS[cast("network.Protocol", name.upper())]
    return with_tls if _ENCRYPTIONS[mark] == "tls" else without


class InboxFailed(Unavailable):
    """A mailbox could not be read, or not to its end. The message is safe to show. wait_seconds: how long the server
    asks to wait before the next check, 0 if it does not."""

    wait_seconds = 0


class MailNotRetrieved(InboxFailed):
    """The server lists a mail but does not deliver it. is_over: the connection was lost, so that no other mail can be
    read either. The message is safe to show."""

    is_over = False


class ConnectionLost(MailNotRetrieved):
    """The connection ended while a mail was read."""

    is_over = True


class LoginRefused(InboxFailed):
    """The server refuses this password or token."""


@dataclass(frozen=True, slots=True)
class Login:
    """Connection settings of a mailbox. token: of OAuth2, "" for a password. folder: of IMAP and Microsoft Graph.
    is_kept: mails stay on the server, unchanged. access: of Microsoft Graph, in place of password and token."""

    protocol: str
    host: str
    port: int
    username: str
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    folder: str = "INBOX"
    is_kept: bool = False
    timeout_seconds: int = 30
    access: "AccountAccess | None" = field(default=None, repr=False)

    @property
    def encryption(self) -> Encryption:
        """The encryption of the connection. Certificates must be valid for the host."""
        return _ENCRYPTIONS[self.protocol.partition("-")[2]]

    @property
    def tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()


@dataclass(frozen=True, slots=True)
class WaitingMail:
    """A mail on the server. uid: assigned by the server. size: in bytes, as the server reports it, 0 if it does not.
    received_at: Unix seconds, 0 if unknown."""

    uid: str
    size: int
    received_at: int = 0


class Inbox(Protocol):
    """An open mailbox. All methods raise InboxFailed.

    scope: uids are valid only within it; a new scope means that the server has assigned new uids. is_rising: uids are
    numbers that increase with each new mail. end: the next uid to be assigned, 0 if unknown."""

    scope: str
    is_rising: bool
    end: int

    def waiting(self, after: int, most: int) -> list[WaitingMail]:
        """Lists the first mails with uids above `after`, up to a maximum, in order; all mails if uids do not rise."""

    def listed(self, uids: Sequence[str]) -> list[WaitingMail]:
        """The mails among these that are still on the server."""

    def head(self, uid: str, most: int) -> bytes | None:
        """The header block, up to a number of bytes; None if the mail is gone. Raises MailNotRetrieved."""

    def whole(self, uid: str, most: int) -> bytes | None:
        """The mail, up to a number of bytes; None if it is gone. Raises MailNotRetrieved."""

    def remove(self, uids: Sequence[str]) -> None:
        """Removes mails from the server, or marks them as deleted. Must be the last operation on a mailbox."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class ChangesInbox:
    """Part of an inbox that lists only what changed since a position, such as that of the last check.

    position: to be set before `waiting`; "" for the beginning. What `waiting` finds out: following: the position behind
    the listed mails. is_at_end: whether nothing follows there. is_complete: whether the list has all mails of the
    folder. gone: uids of mails that have left the folder."""

    is_rising = False
    end = 0

    def __init__(self) -> None:
        self.position = self.following = ""
        self.is_at_end = self.is_complete = False
        self.gone: list[str] = []


def connect(login: Login) -> Inbox:
    """Opens a mailbox. Raises InboxFailed, Invalid for an unknown protocol."""
    module = _MODULES.get(login.protocol.partition("-")[0])
    if module is None or login.protocol not in PROTOCOLS:
        raise Invalid(
            f"'{login.protocol[:32]}' is not a protocol of mailboxes{nearest(login.protocol[:32], PROTOCOLS)}; use one "
            f"of {', '.join(PROTOCOLS)}",
            field="protocol",
        )
    return cast(Inbox, import_module(f"{__name__}.{module}").connect(login))


def not_retrieved(host: str, uid: str, why: str) -> MailNotRetrieved:
    return MailNotRetrieved(f"{host} lists the email {uid} but does not deliver it: {why}")


def connection_lost(host: str, uid: str, error: InboxFailed) -> ConnectionLost:
    return ConnectionLost(f"the connection was lost while the email {uid} was read: {error.message}")


def ask_server(host: str, refused: type[Exception], work: Callable[[], Result]) -> Result:
    """Runs `work` and returns its result; raises InboxFailed for all server errors. refused: the exception of the
    library for a refusal."""
    try:
        return work()
    except ssl.SSLCertVerificationError as error:
        raise InboxFailed(f"{wrong_certificate(host, error)}; correct the host") from error
    except OSError as error:
        raise InboxFailed(f"{host} cannot be reached: {reason(error)}") from error
    except refused as error:
        raise InboxFailed(f"{host} refuses: {server_text(error)}") from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:  # a library meets what is no such protocol
        raise InboxFailed(f"{host} does not respond like a mail server: {type(error).__name__}") from error


def begin(login: Login, refused: type[Exception], work: Callable[[], Result]) -> Result:
    """Runs `work`, which begins a session. Raises InboxFailed with a hint what to choose instead."""
    at = MailPort(
        "IMAP" if login.protocol.startswith("imap") else "POP3",
        login.host,
        login.port,
        login.encryption,
        login.timeout_seconds,
    )
    try:
        return work()
    except OSError as error:
        raise InboxFailed(connection_failure(at, error)) from error
    except refused as error:
        text = server_text(error)
        if "STLS" in text.upper() or "STARTTLS" in text.upper():
            raise InboxFailed(no_starttls(at)) from error
        if _GREETS_OTHERWISE[at.protocol].match(text):
            # The library of IMAP has lost a greeting that begins with a plus.
            raise InboxFailed(wrong_protocol(at, b"" if text == "None" else text.encode())) from error
        if any(words in text for words in ("EOF", "timed out")) and at.encryption != "tls":
            raise InboxFailed(connection_failure(at, EOFError(text))) from error
        raise InboxFailed(f"{login.host} refuses: {text}") from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:  # a library meets what is no such protocol
        raise InboxFailed(f"{login.host} does not respond like a mail server: {type(error).__name__}") from error


def wrong_login(login: Login, error: Exception) -> InboxFailed:
    """The error for a refused login: a wrong password or token, or a temporary failure (RFC 3206, RFC 5530)."""
    text = server_text(error)
    if _BUSY.search(text):
        return InboxFailed(
            lazy_gettext(
                "{host} cannot open the mailbox right now; it will be tried again: {answer}",
                host=login.host,
                answer=text,
            )
        )
    if login.encryption == "none" and _NEEDS_ENCRYPTION.search(text):
        return InboxFailed(f"{login.host} does not accept sign-in without encryption: choose STARTTLS or TLS")
    message = N_("{host} rejected this user name and password: {answer}")
    if login.token:
        message = N_("{host} rejected this user name and token: {answer}")
    return LoginRefused(lazy_gettext(message, host=login.host, answer=text))


def server_text(error: Exception) -> str:
    """The server's text on one line."""
    words = error.args[0] if error.args else b""
    text = words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)
    text = text[2:-1] if re.fullmatch(r"b(['\"]).*\1", text, re.DOTALL) else text  # a library that wrote bytes as text
    return printable(text)[:MAX_ANSWER_CHARACTERS] or "no reason"
