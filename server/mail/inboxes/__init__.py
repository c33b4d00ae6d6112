"""Mailboxes on other servers, and the mails that wait in them.

A protocol is a module with `connect(login)`, which answers an Inbox. Which mailbox is looked at when, what becomes of
its mails, and which of them were taken before, is decided in desk.
"""

import re
import ssl
from collections.abc import Callable, Sequence
from dataclasses import field
from importlib import import_module
from typing import Protocol, Self, TypeVar, cast

from server.dataclass import dataclass
from server.errors import Invalid, Unavailable, nearest
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
from server.translation import N_, lazy_gettext

_MODULES = {"imap": "imap", "pop3": "pop3"}
_ENCRYPTIONS: dict[str, Encryption] = {"": "none", "starttls": "starttls", "ssl": "tls"}
Result = TypeVar("Result")
_BUSY = re.compile(r"\[(?:IN-USE|INUSE|LOGIN-DELAY|SYS/TEMP|UNAVAILABLE|LIMIT|SERVERBUG|OVERQUOTA)\b", re.IGNORECASE)
_NEEDS_ENCRYPTION = re.compile(r"\[PRIVACYREQUIRED\]|LOGINDISABLED|LOGIN (?:is )?disabled", re.IGNORECASE)
# How servers of other protocols greet.
_GREETS_OTHERWISE = {
    "IMAP": re.compile(r"None$|\+OK|[245]\d\d[ -]|HTTP/|.*unexpected response|.*not IMAP4 compliant", re.IGNORECASE),
    "POP3": re.compile(r"\* (?:OK|PREAUTH|BYE)|[245]\d\d[ -]|HTTP/", re.IGNORECASE),
}
PROTOCOLS = tuple(f"{name}{mark and '-'}{mark}" for name in ("pop3", "imap") for mark in _ENCRYPTIONS)


class InboxFailed(Unavailable):
    """A mailbox could not be read, or not further. The message is safe to show."""


class MailNotRetrieved(InboxFailed):
    """The server lists a mail and does not hand it out. is_over: whether the connection was lost with it, so that no
    other mail can be read either. The message is safe to show."""

    is_over = False


class ConnectionLost(MailNotRetrieved):
    """The connection ended while a mail was read."""

    is_over = True


class LoginRefused(InboxFailed):
    """The server lets nobody in with this password or token."""


@dataclass(frozen=True, slots=True)
class Login:
    """How to get to a mailbox. token: of OAuth2, "" where the password is used. folder: of IMAP. is_kept: whether mails
    stay on the server; nothing is changed there then."""

    protocol: str
    host: str
    port: int
    username: str
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    folder: str = "INBOX"
    is_kept: bool = False
    timeout_seconds: int = 30

    @property
    def encryption(self) -> Encryption:
        """How the connection is made safe. Certificates must be valid for the host."""
        return _ENCRYPTIONS[self.protocol.partition("-")[2]]

    @property
    def tls(self) -> ssl.SSLContext:
        return ssl.create_default_context()


@dataclass(frozen=True, slots=True)
class WaitingMail:
    """A mail on the server. uid: what the server calls it. size: in bytes, as the server says."""

    uid: str
    size: int


class Inbox(Protocol):
    """A mailbox that is open. All methods raise InboxFailed.

    scope: uids mean something within it only; another one means that the server has given its mails new uids.
    is_rising: uids are numbers, and a mail that comes later has a higher one. end: the uid that the next mail will
    have, 0 where it is not known."""

    scope: str
    is_rising: bool
    end: int

    def waiting(self, after: int, most: int) -> list[WaitingMail]:
        """The first mails with uids above `after`, at most so many, in order; all mails where uids do not rise."""

    def listed(self, uids: Sequence[str]) -> list[WaitingMail]:
        """Those of these mails that are still on the server."""

    def head(self, uid: str, most: int) -> bytes | None:
        """The header block, at most so many bytes; None when the mail is gone. Raises MailNotRetrieved."""

    def whole(self, uid: str, most: int) -> bytes | None:
        """The mail, at most so many bytes; None when it is gone. Raises MailNotRetrieved."""

    def remove(self, uids: Sequence[str]) -> None:
        """Remove mails from the server. When it returns they are gone, or marked so that nobody sees them. It is the
        last thing that is done with a mailbox."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


def connect(login: Login) -> Inbox:
    """Open a mailbox. Raises InboxFailed, Invalid for a protocol that there is not."""
    module = _MODULES.get(login.protocol.partition("-")[0])
    if module is None or login.protocol not in PROTOCOLS:
        raise Invalid(
            f"'{login.protocol[:32]}' is not a protocol of mailboxes{nearest(login.protocol[:32], PROTOCOLS)}; use one "
            f"of {', '.join(PROTOCOLS)}",
            field="protocol",
        )
    return cast(Inbox, import_module(f"{__name__}.{module}").connect(login))


def not_retrieved(host: str, uid: str, why: str) -> MailNotRetrieved:
    return MailNotRetrieved(f"{host} lists the email {uid} and does not hand it out: {why}")


def connection_lost(host: str, uid: str, error: InboxFailed) -> ConnectionLost:
    return ConnectionLost(f"the connection was lost while the email {uid} was read: {error.message}")


def ask_server(host: str, refused: type[Exception], work: Callable[[], Result]) -> Result:
    """What `work` answers. All that can go wrong with a server becomes InboxFailed; refused: what the library raises
    when the server says no."""
    try:
        return work()
    except ssl.SSLCertVerificationError as error:
        raise InboxFailed(f"{wrong_certificate(host, error)}; correct the host") from error
    except OSError as error:
        raise InboxFailed(f"{host} cannot be reached: {reason(error)}") from error
    except refused as error:
        raise InboxFailed(f"{host} refuses: {server_text(error)}") from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:  # a library meets what is no such protocol
        raise InboxFailed(f"{host} does not answer as a mail server does: {type(error).__name__}") from error


def begin(login: Login, refused: type[Exception], work: Callable[[], Result]) -> Result:
    """What `work` returns, which begins a session. Raises InboxFailed in words that say what to choose instead."""
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
        raise InboxFailed(f"{login.host} does not answer as a mail server does: {type(error).__name__}") from error


def wrong_login(login: Login, error: Exception) -> InboxFailed:
    """The server knows another password, or takes no such token; or it cannot tell just now (RFC 3206, RFC 5530)."""
    text = server_text(error)
    if _BUSY.search(text):
        return InboxFailed(
            lazy_gettext(
                "{host} does not open the mailbox just now, which is tried again: {answer}",
                host=login.host,
                answer=text,
            )
        )
    if login.encryption == "none" and _NEEDS_ENCRYPTION.search(text):
        return InboxFailed(f"{login.host} takes no login without encryption: choose STARTTLS or TLS")
    message = N_("{host} does not let in this user name and password: {answer}")
    if login.token:
        message = N_("{host} does not let in this user name and token: {answer}")
    return LoginRefused(lazy_gettext(message, host=login.host, answer=text))


def server_text(error: Exception) -> str:
    """What the server said, on one line."""
    words = error.args[0] if error.args else b""
    text = words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)
    text = text[2:-1] if re.fullmatch(r"b(['\"]).*\1", text, re.DOTALL) else text  # a library that wrote bytes as text
    return "".join(char if char.isprintable() else " " for char in text)[:MAX_ANSWER_CHARACTERS] or "no reason"
