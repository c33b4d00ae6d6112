"""Checks one mailbox: stores each waiting mail, or sets it aside as a file, in order, then removes it from the server.

A mail that cannot be stored does not stop the others. A failure for other reasons, such as a full disk or a lost
connection, ends the check; the next one continues there."""

import re
from dataclasses import replace

from server import clock, log, mailroom
from server.access.service_actor import own_context
from server.connections import connected_accounts
from server.context import Context, Service
from server.errors import HelpdeskError, TimedOut, Unavailable
from server.mail import inboxes
from server.mail.inboxes import (
    GRAPH,
    GRAPH_HOST,
    ChangesInbox,
    Inbox,
    InboxFailed,
    Login,
    LoginRefused,
    MailNotRetrieved,
    WaitingMail,
)
from server.mailroom.earlier_mail import History
from server.mailroom.mailboxes import dead_letters, problems
from server.mailroom.mailboxes.fetch_state import LAST_FROM, FetchState, MissedMail, is_stored
from server.record_types.record_type import Record
from server.records.reading import RecordReader
from server.settings import KiB
from server.translation import lazy_gettext

MAX_MAILS = 500  # in one check, so that other mailboxes get their turn
MAX_IN_A_ROW = 5  # failed fetches after which the server, not the mail, counts as the cause
MAX_HEAD_BYTES = 256 * KiB  # the head of a mail that is too large to fetch
# Headers, with their continuation lines, that describe an omitted body.
_OF_BODY = re.compile(rb"^(?:content-[a-z-]+|mime-version)[ \t]*:.*\n?(?:[ \t].*\n?)*", re.IGNORECASE | re.MULTILINE)
_log = log.get("mailbox")


def check(service: Service, mailbox_id: int, now: int) -> int:
    """Stores the waiting mails of a mailbox and returns their number. Failures are recorded on the mailbox and not
    raised, unless the database accepts no writes. Does nothing if the mailbox is deleted or disabled."""
    ctx = own_context(service, now)
    box = service.store.read(lambda tx: RecordReader(ctx, tx).record("mailbox", mailbox_id))
    if box is None or not box["is_enabled"]:
        return 0
    look = _MailboxReader(ctx, box)
    try:
        has_more = look.take_all()
    except HelpdeskError as error:
        _log.warning("mailbox.failed", mailbox=mailbox_id, error=error.message)
        wait_seconds = error.wait_seconds if isinstance(error, InboxFailed) else 0
        problems.record_failure(ctx, mailbox_id, error.message, wait_seconds)
    except Exception:
        _log.exception("mailbox.failed", mailbox=mailbox_id)
        problems.record_failure(ctx, mailbox_id, "an internal error; see the log")
    else:
        problems.record_success(ctx, mailbox_id, has_more, look.mails, look.missed)
    problems.kept_apart(ctx, mailbox_id, look.letters)
    if look.mails:
        _log.info("mailbox.read", mailbox=mailbox_id, mails=look.mails, kept_apart=len(look.letters))
    return look.mails


class _MailboxReader:
    """mails: number of stored mails. letters: path and reason of mails that were set aside. missed: mails that the
    server did not deliver, in this check or before."""

    def __init__(self, ctx: Context, box: Record) -> None:
        self._ctx = ctx
        self._box = box
        self._store = ctx.service.store
        self.mails = 0
        self.letters: list[tuple[str, str]] = []
        self.missed: list[MissedMail] = []

    def take_all(self) -> bool:
        """Stores the first MAX_MAILS; returns whether there are more."""
        login, connected = open_mailbox(self._ctx, self._box)
        with connected as inbox:
            state = FetchState(self._ctx.service, self._box, login, inbox, self._ctx.now)
            # One more, to know whether there are more.
            mails = inbox.waiting(state.last_uid, MAX_MAILS + 1)
            state.record_listed(mails)
            again = inbox.listed(state.passed_over()) if state.passed_over() else []
            new = state.in_order([each for each in mails if each.uid not in state.uids], again, self._ctx.now)
            # An interrupted check left these on the server.
            done = state.to_remove({each.uid for each in mails})
            in_a_row, is_over = 0, False
            for waiting in new[:MAX_MAILS]:
                try:
                    done += self._take(state, inbox, waiting)
                except MailNotRetrieved as error:
                    is_over, in_a_row = error.is_over, in_a_row + 1
                    is_mail = self._miss(state, waiting.uid, error)
                    if is_over and is_mail:  # the others were read first
                        break
                    if is_over or in_a_row == MAX_IN_A_ROW:
                        raise
                    continue
                state.missed.pop(waiting.uid, None)
                in_a_row = 0
                self.mails += 1
            self.missed = list(state.missed.values())
            has_more = len(new) > MAX_MAILS
            if not has_more:
                state.record_position()
                has_more = isinstance(inbox, ChangesInbox) and not inbox.is_at_end
            if done and not login.is_kept and not is_over:
                inbox.remove(done)
                state.record_removed(done)
        return has_more

    def _miss(self, state: FetchState, uid: str, error: MailNotRetrieved) -> bool:
        """Records a mail that the server did not deliver; returns whether the mail, not the server, seems to be the
        cause."""
        missed = state.record_missed(uid, error.message, self._ctx.now, is_over=error.is_over)
        _log.warning("mailbox.mail.missed", mailbox=self._box["id"], uid=uid, tries=missed.tries, error=error.message)
        if missed.tries == problems.MISSED_TOLD_AT:
            problems.record_missed(self._ctx, self._box["id"], missed)
        return missed.tries > LAST_FROM

    def _take(self, state: FetchState, inbox: Inbox, waiting: WaitingMail) -> list[str]:
        """Stores one mail; returns its uid if it may be removed from the server."""
        limit = self._limit()
        is_large = waiting.size > limit
        raw = inbox.head(waiting.uid, MAX_HEAD_BYTES) if is_large else inbox.whole(waiting.uid, limit + 1)
        if raw is not None and len(raw) > limit:
            is_large, raw = True, inbox.head(waiting.uid, MAX_HEAD_BYTES)
        if raw is None:  # another client removed it
            self._store.write(lambda tx: state.note(tx, waiting.uid, is_left=True))
            return []
        if is_large:
            raw = _stub(raw, waiting.size, limit)
        self._receive(state, inbox, waiting, raw, is_left=is_large)
        return [] if is_large else [waiting.uid]

    def _receive(self, state: FetchState, inbox: Inbox, waiting: WaitingMail, raw: bytes, is_left: bool) -> None:
        message = self._ctx.service.registry.type("message").table
        if state.may_come_again(waiting.uid) and self._store.read(lambda tx: is_stored(tx, message, raw)):
            self._store.write(lambda tx: state.note(tx, waiting.uid, is_left))
            return
        try:
            self._through_the_mailroom(state, waiting.uid, raw, is_left)
        except Unavailable:
            raise
        except HelpdeskError as error:
            if error.details.get("is_temporary"):
                raise
            if not error.details.get("is_unwanted"):
                self._keep_apart(inbox, waiting.uid, raw, error.message)
        except Exception as error:
            _log.exception("mailbox.mail.failed", mailbox=self._box["id"], uid=waiting.uid)
            self._keep_apart(inbox, waiting.uid, raw, f"an error in this program ({type(error).__name__})")
        else:
            return
        self._store.write(lambda tx: state.note(tx, waiting.uid, is_left))

    def _through_the_mailroom(self, state: FetchState, uid: str, raw: bytes, is_left: bool) -> None:
        """Stores a mail; tries again after a timeout, which another write may have caused."""
        for is_last in (False, True):
            try:
                ctx = replace(self._ctx, now=clock.now())
                past = History() if state.is_history(uid) else None
                mailroom.receive(ctx, raw, lambda tx: state.note(tx, uid, is_left), history=past)
                return
            except TimedOut:
                if is_last:
                    raise

    def _keep_apart(self, inbox: Inbox, uid: str, raw: bytes, why: str) -> None:
        path = dead_letters.keep(self._ctx.service.settings, f"mailbox-{self._box['id']}-{inbox.scope}-{uid}", raw, why)
        _log.warning("mailbox.mail.kept_apart", mailbox=self._box["id"], uid=uid, path=path, error=why)
        self.letters.append((path, why))

    def _limit(self) -> int:
        """The largest mail to fetch, in bytes."""
        most = int(self._ctx.service.settings.max_mail_bytes)
        own = self._box["max_msg_size_kb"] * KiB
        return min(own, most) if own else most


def open_mailbox(ctx: Context, box: Record) -> tuple[Login, Inbox]:
    """Opens a mailbox and returns it with the conversation. A token that its server refuses is renewed once. Raises
    InboxFailed, and the errors of connected_accounts.access_token."""
    login = _login(ctx, box)
    try:
        return login, inboxes.connect(login)
    except LoginRefused as refusal:
        if not login.token:
            raise
        account = str(box["connected_account_id"])
        connected_accounts.token_refused(ctx, account, login.token)
        try:
            renewed = _login(ctx, box)
        except HelpdeskError as error:
            message = lazy_gettext(
                "{problem}; it could not be renewed: {reason}", problem=refusal.message, reason=error.message
            )
            raise InboxFailed(message) from error
        if renewed.token == login.token:  # it cannot be renewed
            raise
        try:
            return renewed, inboxes.connect(renewed)
        except LoginRefused:
            connected_accounts.token_refused(ctx, account, renewed.token)
            raise


def _login(ctx: Context, box: Record) -> Login:
    account, seconds = box["connected_account_id"], box["timeout_secs"] or ctx.service.settings.mail_timeout_seconds
    login = Login(
        protocol=box["protocol"],
        host=box["host"],
        port=box["port"],
        username=box["username"],
        password=box["password"],
        folder=box["folder"],
        is_kept=bool(box["is_mail_kept"]),
        timeout_seconds=seconds,
    )
    if box["protocol"] == GRAPH:
        access = connected_accounts.token_access(ctx, str(account), seconds)
        return replace(login, host=box["host"] or GRAPH_HOST, port=0, password="", access=access)
    return replace(login, token=connected_accounts.access_token(ctx, str(account))) if account else login


def _stub(head: bytes, size: int, limit: int) -> bytes:
    """A replacement for a mail that is too large: its headers, and a text in place of its body."""
    measure = f"{size:,} bytes, more than" if size else "more bytes than"
    text = f"This email has {measure} the limit of its mailbox, {limit:,}. It is still on the server."
    fields = _OF_BODY.sub(b"", head.replace(b"\r\n", b"\n")).strip(b"\n")
    return b"%s\nX-Mailbox-Error: too large\nContent-Type: text/plain; charset=utf-8\n\n%s\n" % (fields, text.encode())
