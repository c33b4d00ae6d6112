"""Mailboxes of POP3 servers, with the unique ids of the server. Follows RFC 1939, RFC 2595."""

import base64
import contextlib
import poplib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Self

from server.mail import dialogue
from server.mail.inboxes import (
    InboxFailed,
    Login,
    WaitingMail,
    ask_server,
    begin,
    connection_lost,
    not_retrieved,
    server_text,
    wrong_login,
)

HEAD_BYTES = 1024 * 1024  # kept of the header lines of a mail, where the server sends them only with the whole

# Mail has lines that are far longer than the library takes, and one of them would make the whole mailbox unreadable.
poplib._MAXLINE = 1024 * 1024  # type: ignore[attr-defined]


def connect(login: Login) -> "Pop3Inbox":
    """Opens a mailbox. Raises InboxFailed, whose message contains neither user name nor password."""
    server = begin(login, poplib.error_proto, lambda: _connected(login))
    try:
        return ask_server(login.host, poplib.error_proto, lambda: Pop3Inbox(server, login))
    except BaseException:
        _close(server)
        raise


class _RecordedPop3(poplib.POP3):
    """A connection whose dialogue can be recorded."""

    def _putcmd(self, line: str) -> None:
        if (recording := dialogue.current()) is not None:
            recording.sent(line)
        super()._putcmd(line)  # type: ignore[misc]

    def _getresp(self) -> bytes:
        response: bytes = super()._getresp()  # type: ignore[misc]
        if (recording := dialogue.current()) is not None:
            recording.heard(response)
        return response


class _RecordedPop3Tls(_RecordedPop3, poplib.POP3_SSL):
    pass


class Pop3Inbox:
    """inboxes.Inbox. The server deletes removed mails at the end of the session, so removing closes the mailbox."""

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

    def listed(self, uids: Sequence[str]) -> list[WaitingMail]:
        wanted_uids = set(uids)
        return [each for each in self.waiting(0, 0) if each.uid in wanted_uids]

    def head(self, uid: str, most: int) -> bytes | None:
        number = self._numbers[uid]
        content, _ = self._read(uid, partial(self._server.top, number, 0))
        if not content:  # TOP is optional: RFC 1939, section 7
            content, why = self._read(uid, partial(self._head_of_whole, number))
            if not content:
                raise not_retrieved(self._host, uid, why)
        return content[:most]

    def whole(self, uid: str, most: int) -> bytes | None:
        content, why = self._read(uid, partial(self._server.retr, self._numbers[uid]))
        if not content:
            raise not_retrieved(self._host, uid, why)
        return content[:most]

    def _read(self, uid: str, ask: Callable[[], tuple[bytes, list[bytes], int]]) -> tuple[bytes, str]:
        """(lines, why there are none)."""

        def work() -> tuple[bytes, str]:
            try:
                _, lines, _ = ask()
            except poplib.error_proto as error:
                # Bytes come from the server; the library reports a lost connection as text.
                if isinstance(error.args[0], bytes) and error.args[0].startswith(b"-ERR"):
                    return b"", server_text(error)
                raise
            return b"".join(line + b"\r\n" for line in lines), "it sent nothing"

        try:
            return ask_server(self._host, poplib.error_proto, work)
        except InboxFailed as error:
            raise connection_lost(self._host, uid, error) from error

    def _head_of_whole(self, number: int) -> tuple[bytes, list[bytes], int]:
        """The header lines of a mail that is read to its end; the others are not kept."""
        response: bytes = self._server._shortcmd(f"RETR {number}")  # type: ignore[attr-defined]
        lines: list[bytes] = []
        is_head, size = True, 0
        while (line := self._server._getline()[0]) != b".":  # type: ignore[attr-defined]
            line = line[1:] if line.startswith(b"..") else line
            is_head = is_head and bool(line) and size < HEAD_BYTES
            if is_head:
                lines.append(line)
                size += len(line)
        return response, [*lines, b""], size

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
