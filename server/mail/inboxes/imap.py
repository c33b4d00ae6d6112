"""Mailboxes of IMAP servers, with the uids of the server. Follows RFC 3501, RFC 4315."""

import imaplib
import socket
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from imapclient import DELETED, IMAPClient
from imapclient.exceptions import LoginError

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

SPAN = 10_000  # uids that one question asks about: an answer is one line, and a line has its limit
STEP = 500  # mails in one command

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


def connect(login: Login) -> "ImapInbox":
    """Opens a folder. Raises InboxFailed, whose message contains neither user name nor password."""
    client = begin(login, imaplib.IMAP4.error, lambda: _connected(login))
    try:
        return ask_server(login.host, imaplib.IMAP4.error, lambda: ImapInbox(client, login))
    except BaseException:
        _close(client)
        raise


def _guarded(
    method: Callable[Concatenate["ImapInbox", Arguments], Result],
) -> Callable[Concatenate["ImapInbox", Arguments], Result]:
    @wraps(method)
    def guarded(self: "ImapInbox", *arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        return ask_server(self.host, imaplib.IMAP4.error, lambda: method(self, *arguments, **options))

    return guarded


class ImapInbox:
    """inboxes.Inbox of one folder."""

    is_rising = True

    def __init__(self, client: IMAPClient, login: Login) -> None:
        self._client = client
        self.host = login.host
        selected: dict[bytes, Any] = client.select_folder(login.folder, readonly=login.is_kept)
        self.scope = str(selected.get(b"UIDVALIDITY", 0))
        self.end = int(selected.get(b"UIDNEXT", 0))

    @_guarded
    def waiting(self, after: int, most: int) -> list[WaitingMail]:
        return self._with_sizes(self._uids(after, most))

    @_guarded
    def listed(self, uids: Sequence[str]) -> list[WaitingMail]:
        present: list[int] = []
        for start in range(0, len(uids), STEP):
            present += self._client.search(["UID", ",".join(uids[start : start + STEP])])
        return self._with_sizes(sorted({int(uid) for uid in uids} & set(present)))

    def _with_sizes(self, uids: list[int]) -> list[WaitingMail]:
        """Size 0 where the server does not say it; a mail that is gone is met when it is read."""
        sizes: dict[int, int] = {}
        for start in range(0, len(uids), STEP):
            try:
                response = self._client.fetch(uids[start : start + STEP], ["RFC822.SIZE"])
            except imaplib.IMAP4.abort:
                raise
            except imaplib.IMAP4.error:  # some refuse all because of one damaged mail
                continue
            sizes |= {uid: int(values.get(b"RFC822.SIZE", 0)) for uid, values in response.items()}
        return [WaitingMail(str(uid), sizes.get(uid, 0)) for uid in uids]

    def _uids(self, after: int, most: int) -> list[int]:
        """Rising. Asked for in spans, which grow where there are no mails."""
        if not self.end:  # old servers do not report it
            return sorted(uid for uid in self._client.search(["UID", f"{after + 1}:*"]) if uid > after)[:most]
        uids: list[int] = []
        start, span = after + 1, SPAN
        while start < self.end and len(uids) < most:
            stop = min(start + span, self.end)
            inside = [uid for uid in self._client.search(["UID", f"{start}:{stop - 1}"]) if start <= uid < stop]
            uids += sorted(inside)
            start, span = stop, SPAN if inside else span * 2
        return uids[:most]

    def head(self, uid: str, most: int) -> bytes | None:
        return self._read(uid, "BODY.PEEK[HEADER]", most)

    def whole(self, uid: str, most: int) -> bytes | None:
        return self._read(uid, "BODY.PEEK[]", most)

    def _read(self, uid: str, part: str, most: int) -> bytes | None:
        try:
            content, why = self._part(uid, part, most)
            if content:
                return content
            # A server may respond OK without a mail, also for a deleted one: only the list of mails tells these apart.
            if not self.listed([uid]):
                return None
        except InboxFailed as error:
            raise connection_lost(self.host, uid, error) from error
        raise not_retrieved(self.host, uid, why)

    @_guarded
    def _part(self, uid: str, part: str, most: int) -> tuple[bytes, str]:
        """(the part, why it is empty). Limited in bytes, whatever size the server announced."""
        try:
            response = self._client.fetch([int(uid)], [f"{part}<0.{most}>"])
        except imaplib.IMAP4.abort:
            raise
        except imaplib.IMAP4.error as error:
            return b"", server_text(error)
        parts = [value for key, value in response.get(int(uid), {}).items() if key.startswith(b"BODY[")]
        return next(filter(None, parts), b""), "it sent nothing"

    @_guarded
    def remove(self, uids: Sequence[str]) -> None:
        for start in range(0, len(uids), STEP):
            step = [int(uid) for uid in uids[start : start + STEP]]
            self._client.add_flags(step, [DELETED], silent=True)
            if self._client.has_capability("UIDPLUS"):
                self._client.uid_expunge(step)
            elif set(self._client.search("DELETED")) <= set(step):  # must not delete other clients' mail
                self._client.expunge()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _close(self._client)


def _connected(login: Login) -> IMAPClient:
    client = IMAPClient(
        login.host, login.port, ssl=login.encryption == "tls", ssl_context=login.tls, timeout=login.timeout_seconds
    )
    _record(client)
    try:
        # The library sends a command in pieces; each would wait for the answer to the one before.
        client.socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if login.encryption == "starttls":
            client.starttls(login.tls)
        if login.token:
            client.oauth2_login(login.username, login.token)
        elif login.username.isascii() and login.password.isascii():
            client.login(login.username, login.password)
        else:  # LOGIN takes ASCII alone, and PLAIN is UTF-8 (RFC 4616)
            client.plain_login(login.username, login.password)
    except LoginError as error:
        _close(client)
        raise wrong_login(login, error) from error
    except BaseException:
        _close(client)
        raise
    return client


def _record(client: IMAPClient) -> None:
    """Records each line in both directions, if a dialogue is being recorded."""
    recording = dialogue.current()
    if recording is None:
        return

    def record_line(text: str, *values: object) -> None:
        if text[:2] in ("> ", "< "):
            (recording.sent if text[0] == ">" else recording.heard)(text[3:].strip("'\"").removesuffix("\\r\\n"))

    recording.heard(client.welcome or b"")
    client._imap._mesg = record_line


def _close(client: IMAPClient) -> None:
    client.__exit__(None, None, None)  # says goodbye, and closes where that goes wrong
