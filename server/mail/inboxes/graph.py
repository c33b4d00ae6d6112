"""Folders of mailboxes at Microsoft Graph. Reads the changes of a folder ("delta query"), with ids that stay the same
when an email is moved ("immutable identifiers")."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Self, TypeVar
from urllib.parse import quote

from server.errors import Invalid
from server.mail.graph_client import (
    BUSY,
    FORBIDDEN,
    MISSING,
    READ_WRITE,
    UNAUTHORIZED,
    GraphClient,
    GraphFailed,
    quoted_id,
)
from server.mail.inboxes import ChangesInbox, InboxFailed, Login, LoginRefused, WaitingMail, not_retrieved
from server.outbound.urls import HttpUrl
from server.translation import lazy_gettext

PAGE_MAILS = 200  # mails in one response
MAX_PAGES = 50  # responses in one check; a larger folder is read in several parts
MAX_FOLDERS = 10  # in a path
WELL_KNOWN = frozenset(
    """
    archive clutter deleteditems drafts inbox junkemail msgfolderroot outbox sentitems
""".split()
)
DELETED = "deleteditems"
Result = TypeVar("Result")


def connect(login: Login) -> "GraphInbox":
    """Opens a folder. Raises InboxFailed, whose message contains no token, and Invalid without a connected account."""
    if login.access is None:
        raise Invalid(
            lazy_gettext("choose a connected account: Microsoft Graph accepts no password"),
            field="connected_account_id",
        )
    try:
        client = GraphClient(login.host, login.username, login.access, login.timeout_seconds)
        return GraphInbox(client, login.folder)
    except GraphFailed as error:
        raise _failed(error) from error
    except Invalid as error:
        raise InboxFailed(error.message) from error


class GraphInbox(ChangesInbox):
    """inboxes.Inbox of one folder. scope: the id of the folder."""

    def __init__(self, client: GraphClient, folder: str) -> None:
        super().__init__()
        self._client = client
        self._folder = folder
        self.scope = self._folder_id()

    def waiting(self, after: int, most: int) -> list[WaitingMail]:
        """The mails that arrived or changed since the position, the oldest first."""
        return self._ask(self._read_changes)

    def listed(self, uids: Sequence[str]) -> list[WaitingMail]:
        return [mail for uid in uids if (mail := self._ask(lambda uid=uid: self._find(uid))) is not None]  # type: ignore[misc]

    def head(self, uid: str, most: int) -> bytes | None:
        """The beginning of the mail, without its body as far as that is read."""
        content = self.whole(uid, most)
        if content is None:
            return None
        head, line, _ = content.replace(b"\r\n", b"\n").partition(b"\n\n")
        return (head + line)[:most]

    def whole(self, uid: str, most: int) -> bytes | None:
        try:
            content = self._client.raw(self._message(uid, "/$value"), most, READ_WRITE)
        except GraphFailed as error:
            if error.status == MISSING:
                return None
            if error.status in (UNAUTHORIZED, FORBIDDEN) or error.status in BUSY:
                raise _failed(error) from error
            raise not_retrieved(self._client.host, uid, error.message) from error
        if not content:
            raise not_retrieved(self._client.host, uid, "it sent nothing")
        return content

    def remove(self, uids: Sequence[str]) -> None:
        """Moves mails to Deleted Items."""
        for uid in uids:
            self._ask(lambda uid=uid: self._move(uid))  # type: ignore[misc]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    # -- the folder ----------------------------------------------------------------------------------------------------

    def _folder_id(self) -> str:
        """The id of the folder: a well-known name, or the names on its path, whose first may be well-known."""
        first, *others = [name.strip() for name in self._folder.strip("/").split("/")]
        if len(others) >= MAX_FOLDERS or not all((first, *others)):
            raise self._no_folder()
        if first.lower() in WELL_KNOWN:
            url = self._client.url(f"mailFolders/{first.lower()}", "$select=id")
            id = self._id(self._client.json("GET", url, permission=READ_WRITE))
        else:
            id = self._child("mailFolders", first)
        for name in others:
            id = self._child(f"mailFolders/{quoted_id(id)}/childFolders", name)
        return id

    def _child(self, path: str, name: str) -> str:
        text = quote(name.replace("'", "''"), safe="")
        url = self._client.url(path, f"$filter=displayName%20eq%20'{text}'&$select=id&$top=2")
        folders = self._client.json("GET", url, permission=READ_WRITE).get("value")
        if not isinstance(folders, list):
            raise self._client.not_graph()
        if not folders:
            raise self._no_folder()
        return self._id(folders[0])

    def _no_folder(self) -> InboxFailed:
        message = lazy_gettext("the mailbox {user} has no folder {folder}", user=self._client.user, folder=self._folder)
        return InboxFailed(message)

    def _id(self, entry: Any) -> str:
        try:
            quoted_id(entry["id"])
        except (LookupError, TypeError, ValueError):
            raise self._client.not_graph() from None
        return str(entry["id"])

    # -- changes -------------------------------------------------------------------------------------------------------

    def _read_changes(self) -> list[WaitingMail]:
        try:
            return self._pages(self.position)
        except GraphFailed as error:
            if not self.position or not error.is_out_of_sync:
                raise
            return self._pages("")

    def _pages(self, position: str) -> list[WaitingMail]:
        """Reads the changes since a position, "" for the whole folder, and sets the position behind them."""
        mails: dict[str, WaitingMail] = {}
        gone: dict[str, None] = {}
        link, is_at_end = self._client.link(position) if position else self._first_page(), False
        for _ in range(MAX_PAGES):
            page = self._client.json("GET", link, permission=READ_WRITE, prefer=f", odata.maxpagesize={PAGE_MAILS}")
            entries, following = page.get("value"), page.get("@odata.nextLink")
            if not isinstance(entries, list):
                raise self._client.not_graph()
            for entry in entries:
                uid = self._id(entry)
                mails.pop(uid, None)
                gone.pop(uid, None)
                if "@removed" in entry:
                    gone[uid] = None
                else:
                    mails[uid] = WaitingMail(uid, 0, _seconds(entry.get("receivedDateTime")))
            is_at_end = not following
            link = self._client.link(page.get("@odata.deltaLink") if is_at_end else following)
            if is_at_end:
                break
        self.following, self.is_at_end, self.gone = str(link), is_at_end, list(gone)
        self.is_complete = is_at_end and not position
        return sorted(mails.values(), key=lambda each: each.received_at)

    def _first_page(self) -> HttpUrl:
        return self._client.url(f"mailFolders/{quoted_id(self.scope)}/messages/delta", "$select=id,receivedDateTime")

    # -- mails ---------------------------------------------------------------------------------------------------------

    def _find(self, uid: str) -> WaitingMail | None:
        url = self._message(uid, "", "$select=id,receivedDateTime,parentFolderId")
        try:
            mail = self._client.json("GET", url, permission=READ_WRITE)
        except GraphFailed as error:
            if error.status == MISSING:
                return None
            raise
        if mail.get("parentFolderId") != self.scope:
            return None
        return WaitingMail(uid, 0, _seconds(mail.get("receivedDateTime")))

    def _move(self, uid: str) -> None:
        try:
            self._client.json("POST", self._message(uid, "/move"), {"destinationId": DELETED}, permission=READ_WRITE)
        except GraphFailed as error:
            if error.status != MISSING:  # another program removed it
                raise

    def _message(self, uid: str, path: str, query: str = "") -> HttpUrl:
        return self._client.url(f"messages/{quoted_id(uid)}{path}", query)

    def _ask(self, work: Callable[[], Result]) -> Result:
        try:
            return work()
        except GraphFailed as error:
            raise _failed(error) from error


def _failed(error: GraphFailed) -> InboxFailed:
    kind = LoginRefused if error.status == UNAUTHORIZED else InboxFailed
    failed = kind(error.message)
    failed.wait_seconds = error.wait_seconds
    return failed


def _seconds(text: object) -> int:
    """The Unix seconds of a time such as 2026-11-30T08:15:00Z, 0 if it cannot be read.

    >>> _seconds("2026-11-30T08:15:00Z"), _seconds(None)
    (1796026500, 0)
    """
    try:
        at = datetime.fromisoformat(str(text))
        return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return 0
