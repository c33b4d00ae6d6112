"""Mailboxes of POP3 servers, by the unique ids that they give to mails. Source: RFC 1939, RFC 2595."""

import base64
import contextlib
import poplib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Self

from server.mail import dialogue
from server.mail.inboxes import Login, WaitingMail, ask_server, begin, wrong_login

# Mail has lines that are far longer than the library takes, and one of them would make the whole mailbox unreadable.
poplib._MAXLINE = 1024 * 1024  # type: ignore[attr-defined]


def connect(login: Login) -> "Pop3Inbox":
    """Raises InboxFailed, which shows neither user name nor password."""
    server = begin(login, poplib.error_proto, lambda: _connected(login))
    try:
        return ask_server(login.host, poplib.error_proto, lambda: Pop3Inbox(server, login))
    except BaseException:
        _close(server)
        raise


class _RecordedPop3(poplib.POP3):
    """A connection whose words can be recorded."""

    def _putcmd(self, line: str) -> None:
        if (recording := dialogue.current()) is not None:
            recording.sent(line)
        super()._putcmd(line)  # type: ignore[misc]

    def _getresp(self) -> bytes:
        answer: bytes = super()._getresp()  # type: ignore[misc]
        if (recording := dialogue.current()) is not None:
            recording.heard(answer)
        return answer


class _RecordedPop3Tls(_RecordedPop3, poplib.POP3_SSL):
    pass


class Pop3Inbox:
    """inboxes.Inbox. What is removed is gone when the server says goodbye, so that the mailbox is closed then."""

    is_rising = False
    scope = ""
    end = 0

    def __init__(self, server: poplib.POP3, login: Login) -> None:
        self._server = server
        self._host = login.host
        # {uid: number in this connection}
        self._numbers = {uid.decode("ascii", "replace"): number for number, uid in map(_pair, server.uidl()[1])}

    def waiting(self, after: int, most: int) -> list[WaitingMail]:
        _, lines, _ = ask_server(self._host, poplib.error_proto, self._server.list)
        sizes = {number: int(size) for number, size in map(_pair, lines)}
        return [WaitingMail(uid, sizes.get(number, 0)) for uid, number in self._numbers.items()]

    def head(self, uid: str, most: int) -> bytes | None:
        return self._lines(partial(self._server.top, self._numbers[uid], 0), most)

    def whole(self, uid: str, most: int) -> bytes | None:
        return self._lines(partial(self._server.retr, self._numbers[uid]), most)

    def _lines(self, ask: Callable[[], tuple[bytes, list[bytes], int]], most: int) -> bytes:
        _, lines, _ = ask_server(self._host, poplib.error_proto, ask)
        return b"".join(line + b"\r\n" for line in lines)[:most]

    def remove(self, uids: Sequence[str]) -> None:
        def work() -> None:
            for uid in uids:
                self._server.dele(self._numbers[uid])
            self._server.quit()

        ask_server(self._host, poplib.error_proto, work)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._server.quit()
        except (poplib.error_proto, OSError, AttributeError):  # it is closed already
            _close(self._server)


def _connected(login: Login) -> poplib.POP3:
    server: poplib.POP3
    if login.encryption == "tls":
        server = _RecordedPop3Tls(login.host, login.port, timeout=login.timeout_seconds, context=login.tls)
    else:
        server = _RecordedPop3(login.host, login.port, timeout=login.timeout_seconds)
    try:
        if login.encryption == "starttls":
            server.stls(login.tls)
        _log_in(server, login)
    except BaseException:
        _close(server)
        raise
    return server


def _log_in(server: poplib.POP3, login: Login) -> None:
    try:
        if login.token:
            proof = f"user={login.username}\1auth=Bearer {login.token}\1\1".encode()
            server._shortcmd(f"AUTH XOAUTH2 {base64.b64encode(proof).decode()}")  # type: ignore[attr-defined]
        else:
            server.user(login.username)
            server.pass_(login.password)
    except poplib.error_proto as error:
        raise wrong_login(login, error) from error


def _close(server: poplib.POP3) -> None:
    with contextlib.suppress(OSError):  # a socket that was closed under it
        server.close()


def _pair(line: bytes) -> tuple[int, bytes]:
    number, _, rest = line.partition(b" ")
    return int(number), rest.strip()
