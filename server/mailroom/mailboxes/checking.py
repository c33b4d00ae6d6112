"""One look at one mailbox: every mail that waits is taken or kept apart, in order, and then removed from the server.

One mail that cannot be taken stops nobody: it is kept as a file. What is no fault of the mail, such as a full disk or a
lost connection, ends the look; the next one goes on there."""

import re
from dataclasses import replace

from server import clock, log, mailroom
from server.access.service_actor import own_context
from server.connections import accounts
from server.context import Context, Service
from server.errors import HelpdeskError, TimedOut, Unavailable
from server.mail import inboxes
from server.mail.inboxes import Inbox, Login, LoginRefused, MailNotRetrieved, WaitingMail
from server.mailroom.history import History
from server.mailroom.mailboxes import dead_letters, problems
from server.mailroom.mailboxes.fetch_state import LAST_FROM, FetchState, MissedMail, is_stored
from server.record_types.base import Record
from server.records.reading import RecordReader
from server.settings import KiB

MAX_MAILS = 500  # of one look; others get their turn in between
MAX_IN_A_ROW = 5  # mails that were not handed out, before the server and not the mails is taken to be at fault
MAX_HEAD_BYTES = 256 * KiB  # of a mail that is too large to be fetched
# Describe a body that is left out; with the lines that go on with them.
_OF_BODY = re.compile(rb"^(?:content-[a-z-]+|mime-version)[ \t]*:.*\n?(?:[ \t].*\n?)*", re.IGNORECASE | re.MULTILINE)
_log = log.get("mailbox")


def check(service: Service, mailbox_id: int, now: int) -> int:
    """Take what waits in a mailbox; answers how many mails. A failure is noted on the record and not raised, unless the
    database takes no writes. Nothing happens to a mailbox that is gone or not enabled."""
    ctx = own_context(service, now)
    box = service.store.read(lambda tx: RecordReader(ctx, tx).record("mailbox", mailbox_id))
    if box is None or not box["is_enabled"]:
        return 0
    look = _MailboxReader(ctx, box)
    try:
        has_more = look.take_all()
    except HelpdeskError as error:
        _log.warning("mailbox.failed", mailbox=mailbox_id, error=error.message)
        problems.note_failure(ctx, mailbox_id, error.message)
    except Exception:
        _log.exception("mailbox.failed", mailbox=mailbox_id)
        problems.note_failure(ctx, mailbox_id, "an internal error; the log tells more")
    else:
        problems.note_success(ctx, mailbox_id, has_more, look.mails, look.missed)
    problems.kept_apart(ctx, mailbox_id, look.letters)
    if look.mails:
        _log.info("mailbox.read", mailbox=mailbox_id, mails=look.mails, kept_apart=len(look.letters))
    return look.mails


class _MailboxReader:
    """mails: how many were taken. letters: path and reason of those that were kept apart. missed: the mails that the
    server did not hand out, in this look or before."""

    def __init__(self, ctx: Context, box: Record) -> None:
        self._ctx = ctx
        self._box = box
        self._store = ctx.service.store
        self.mails = 0
        self.letters: list[tuple[str, str]] = []
        self.missed: list[MissedMail] = []

    def take_all(self) -> bool:
        """Take the first MAX_MAILS; tells whether there are more."""
        login, connected = open_mailbox(self._ctx, self._box)
        with connected as inbox:
            taken = FetchState(self._ctx.service, self._box, login, inbox)
            # One more than are taken, to know whether there are more.
            listed = inbox.waiting(taken.last_uid, MAX_MAILS + 1)
            taken.note_listed(listed)
            again = inbox.listed(taken.passed_over()) if taken.passed_over() else []
            new = taken.in_order([each for each in listed if each.uid not in taken.uids], again, self._ctx.now)
            # A look that was cut short has left these behind.
            done = taken.to_remove({each.uid for each in listed})
            in_a_row, is_over = 0, False
            for waiting in new[:MAX_MAILS]:
                try:
                    done += self._take(taken, inbox, waiting)
                except MailNotRetrieved as error:
                    is_over, in_a_row = error.is_over, in_a_row + 1
                    is_mail = self._miss(taken, waiting.uid, error)
                    if is_over and is_mail:  # the others were read before it
                        break
                    if is_over or in_a_row == MAX_IN_A_ROW:
                        raise
                    continue
                taken.missed.pop(waiting.uid, None)
                in_a_row = 0
                self.mails += 1
            self.missed = list(taken.missed.values())
            if done and not login.is_kept and not is_over:
                inbox.remove(done)
                taken.forget(done)
        return len(new) > MAX_MAILS

    def _miss(self, taken: FetchState, uid: str, error: MailNotRetrieved) -> bool:
        """Note a mail that was not handed out; returns whether the mail, and not the server, seems to be the cause."""
        missed = taken.note_missed(uid, error.message, self._ctx.now, is_over=error.is_over)
        _log.warning("mailbox.mail.missed", mailbox=self._box["id"], uid=uid, tries=missed.tries, error=error.message)
        if missed.tries == problems.MISSED_TOLD_AT:
            problems.note_missed(self._ctx, self._box["id"], missed)
        return missed.tries > LAST_FROM

    def _take(self, taken: FetchState, inbox: Inbox, waiting: WaitingMail) -> list[str]:
        """Take one mail; answers its uid when it may be removed from the server."""
        limit = self._limit()
        is_large = waiting.size > limit
        raw = inbox.head(waiting.uid, MAX_HEAD_BYTES) if is_large else inbox.whole(waiting.uid, limit + 1)
        if raw is not None and len(raw) > limit:
            is_large, raw = True, inbox.head(waiting.uid, MAX_HEAD_BYTES)
        if raw is None:  # somebody removed it meanwhile
            self._store.write(lambda tx: taken.note(tx, waiting.uid, is_left=True))
            return []
        if is_large:
            raw = _stub(raw, waiting.size, limit)
        self._receive(taken, inbox, waiting, raw, is_left=is_large)
        return [] if is_large else [waiting.uid]

    def _receive(self, taken: FetchState, inbox: Inbox, waiting: WaitingMail, raw: bytes, is_left: bool) -> None:
        message = self._ctx.service.registry.type("message").table
        if taken.may_come_again(waiting.uid) and self._store.read(lambda tx: is_stored(tx, message, raw)):
            self._store.write(lambda tx: taken.note(tx, waiting.uid, is_left))
            return
        try:
            self._through_the_mailroom(taken, waiting.uid, raw, is_left)
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
        self._store.write(lambda tx: taken.note(tx, waiting.uid, is_left))

    def _through_the_mailroom(self, taken: FetchState, uid: str, raw: bytes, is_left: bool) -> None:
        """Once more when time ran out, which may have been somebody else's."""
        for is_last in (False, True):
            try:
                ctx = replace(self._ctx, now=clock.now())
                past = History() if taken.is_history(uid) else None
                mailroom.receive(ctx, raw, lambda tx: taken.note(tx, uid, is_left), history=past)
                return
            except TimedOut:
                if is_last:
                    raise

    def _keep_apart(self, inbox: Inbox, uid: str, raw: bytes, why: str) -> None:
        path = dead_letters.keep(self._ctx.service.settings, f"mailbox-{self._box['id']}-{inbox.scope}-{uid}", raw, why)
        _log.warning("mailbox.mail.kept_apart", mailbox=self._box["id"], uid=uid, path=path, error=why)
        self.letters.append((path, why))

    def _limit(self) -> int:
        """The largest mail that is fetched, in bytes."""
        most = int(self._ctx.service.settings.max_mail_bytes)
        own = self._box["max_msg_size_kb"] * KiB
        return min(own, most) if own else most


def open_mailbox(ctx: Context, box: Record) -> tuple[Login, Inbox]:
    """A mailbox, and how it was got to. A token that its server refuses is not used for the next look. Raises
    InboxFailed; what connected_accounts.access_token raises."""
    login = _login(ctx, box)
    try:
        return login, inboxes.connect(login)
    except LoginRefused:
        if login.token:
            accounts.token_refused(ctx, str(box["connected_account_id"]), login.token)
        raise


def _login(ctx: Context, box: Record) -> Login:
    account = box["connected_account_id"]
    return Login(
        protocol=box["protocol"],
        host=box["host"],
        port=box["port"],
        username=box["username"],
        password=box["password"],
        token=accounts.access_token(ctx, str(account)) if account else "",
        folder=box["folder"],
        is_kept=bool(box["is_mail_kept"]),
        timeout_seconds=box["timeout_secs"] or ctx.service.settings.mail_timeout_seconds,
    )


def _stub(head: bytes, size: int, limit: int) -> bytes:
    """A mail that is too large: its headers, and a text in place of what it holds."""
    told = f"This mail has {size:,} bytes, more than the {limit:,} that its mailbox takes. It is still on its server."
    fields = _OF_BODY.sub(b"", head.replace(b"\r\n", b"\n")).strip(b"\n")
    return b"%s\nX-Mailbox-Error: too large\nContent-Type: text/plain; charset=utf-8\n\n%s\n" % (fields, told.encode())
