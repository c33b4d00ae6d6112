"""Workers who reply from their mail program to mail about a ticket: their text becomes a reply or a note on it.

The signed name in the mail identifies the ticket, and the mail must come from the worker's own address; From alone
never suffices. A reply is a queued draft, sent like any other of its worker, so that nothing slow runs here and
failures are reported to them. An unknown command loses no text: it becomes a draft, or the intended note."""

from typing import Any

from server import times
from server.access import actor as actors
from server.context import Service
from server.contexts import COMMENT, TICKET, WORKER
from server.dataclass import dataclass
from server.errors import Forbidden, HelpdeskError, Invalid, Rejected
from server.jobs.scheduler import periodic
from server.mail import automatic
from server.mail.headers import Head
from server.mailroom import sender as senders
from server.mailroom import storing, threading
from server.mailroom.incoming import IncomingMail
from server.mailroom.sender import Addresses
from server.notifying import reply_commands, reply_ids
from server.notifying.reply_commands import MailedReply
from server.notifying.reply_ids import ReplyId
from server.record_types.record_type import Record
from server.record_types.shared.relation_tables import ATTACHED
from server.record_types.shared.sending_addresses import REPLY
from server.record_types.traits import links
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.tables import Column, Index, Table
from server.tickets import drafts, requesters
from server.tickets.request_values import ReplyRequest
from server.tickets.types.ticket_parts.status import OPEN, WAITING
from server.translation import N_

REFUSED = "ticket.answer.refused"
REMEMBERED_DAYS = 60  # within which a repeated mail has no effect
DAY_SECONDS = 86400

WORKER_ANSWER = Table(
    "worker_answer",
    [Column("digest", "TEXT"), Column("ticket_id"), Column("came_at")],
    [Index(("came_at",), "those that are too old")],
    key=("digest",),
)  # digest of the mail's id, or of its bytes if it had none


@dataclass(frozen=True, slots=True)
class WorkerReply:
    """A reply to our mail to a worker. email: its sender. is_automatic: a program wrote it, such as an absence notice,
    or our mail bounced: it has no effect."""

    id: ReplyId
    email: str
    is_automatic: bool


def find(reading: RecordReader, incoming: IncomingMail, addresses: Addresses) -> WorkerReply | None:
    """Returns None for other mail. Raises Rejected if the signed name is invalid or too old."""
    mail = incoming.mail
    candidates = [*incoming.references, *filter(None, (incoming.bounced,)), *senders.everybody(mail)]
    if not reading.ctx.service.settings.answer_by_mail:
        return None
    signed = reply_ids.find(reading.tx, candidates)
    if signed is None:
        return None
    email = mail.sender or ""
    if signed.is_genuine and (mail.bounce is not None or automatic.is_by_itself(Head(mail.headers, 0))):
        return WorkerReply(signed.id, email, True)
    writer = addresses.get(email)
    worker_id = writer["worker_id"] if writer is not None else 0
    if (
        writer is None
        or actors.worker(reading.tx, worker_id) is None
        or senders.forgery_notes(incoming, writer, addresses)
    ):
        return None
    if not senders.may_answer_as(reading.ctx, worker_id):
        return None
    if not signed.is_genuine:
        raise Rejected("the signature of the email this replies to is wrong; reply in the console", field="message")
    if signed.id.worker_id != worker_id:
        return None
    if signed.id.is_over(reading.now):
        raise Rejected(
            f"the email this replies to is older than {reply_ids.VALID_DAYS} days; reply in the console",
            field="message",
        )
    return WorkerReply(signed.id, email, False)


def take(writing: RecordWriter, incoming: IncomingMail, reply: WorkerReply) -> tuple[Record, bool]:
    """Executes a worker's reply. Returns the ticket, and whether it changed: not for automatic or repeated mail. Raises
    Rejected for a ticket that is deleted or that the worker may not reply to."""
    actor = actors.worker(writing.tx, reply.id.worker_id)
    ticket = threading.survivor(writing, reply.id.ticket_id)
    if ticket is None:
        raise Rejected("the ticket this replies to no longer exists", field="message")
    if reply.is_automatic or not _is_first(writing, incoming, ticket["id"]):
        return ticket, False
    assert actor is not None
    own = RecordWriter(writing.ctx.as_actor(actor, times.zone(actor.timezone or "UTC")), writing.tx)
    try:
        own.require("read" if reply.id.is_note else "update", "ticket", ticket["id"])
        if reply.id.is_note:
            own.rules.require_create(own.registry.type("comment"))
    except HelpdeskError as error:
        raise Rejected(error.message, field="message") from error
    handling = _ReplyHandling(own, incoming, ticket, reply)
    if reply_ids.use(writing.tx, reply.id, writing.now):
        handling.take()
    else:
        handling.keep_repeated()
    return ticket, True


class _ReplyHandling:
    """writing: with the worker as actor."""

    def __init__(self, writing: RecordWriter, incoming: IncomingMail, ticket: Record, reply: WorkerReply) -> None:
        self._writing, self._incoming, self._ticket, self._worker_reply = writing, incoming, ticket, reply

    def take(self) -> None:
        """Executes the reply. Never raises because of the worker's text."""
        file_ids = storing.files(self._writing, self._incoming, self._writing.actor.id)
        try:
            said, reopen_at = self._read(file_ids)
        except Invalid as error:
            self._keep(reply_commands.said(self._incoming.text), file_ids, error.message)
            return
        if said.is_watched is not None:
            me = (WORKER, self._writing.actor.id)
            links.link(self._writing, TICKET, self._ticket["id"], *me, said.is_watched)
        for text in said.comments:
            self._note(text, ())
        self._say(said, reopen_at, file_ids)

    def keep_repeated(self) -> None:
        """Stores the text of a second reply to one mail where the worker finds it. It is not sent: anybody who has seen
        the mail or its headers can write one."""
        text, reason = reply_commands.said(self._incoming.text), "the email it replies to was already answered"
        file_ids = storing.files(self._writing, self._incoming, self._writing.actor.id)
        self._keep(text, file_ids, reason, by_address=True)

    def _read(self, file_ids: list[int]) -> tuple[MailedReply, int]:
        """The text, and when the ticket reopens, Unix seconds, 0 for never. Raises Invalid."""
        said, writing = reply_commands.read(self._incoming.text), self._writing
        if said == MailedReply("") and not file_ids:
            raise Invalid("there is no text above the line or the quoted text")
        if said.comments:
            self._require_notes()
        if said.status is not None or said.reopen:
            self._require_change()
        return said, times.ahead(said.reopen, writing.now, writing.ctx.tz) if said.reopen else 0

    def _require_notes(self) -> None:
        try:
            self._writing.rules.require_create(self._writing.registry.type("comment"))
        except Forbidden as error:
            raise Invalid(error.message) from error

    def _require_change(self) -> None:
        """A worker who may only read the ticket may only add a note."""
        try:
            self._writing.require("update", "ticket", self._ticket["id"])
        except Forbidden as error:
            raise Invalid(error.message) from error

    def _say(self, said: MailedReply, reopen_at: int, file_ids: list[int]) -> None:
        is_said = bool(said.text or file_ids) and not said.is_silent
        if is_said and not self._worker_reply.id.is_note:
            self._reply(said, reopen_at, file_ids)
            return
        if is_said:
            self._note(said.text or self._incoming.subject, file_ids)
        self._set_status(said, reopen_at)

    def _note(self, text: str, file_ids: list[int] | tuple[int, ...], by_address: bool = False) -> None:
        writing = self._writing
        if by_address:
            writing = senders.as_author(writing, requesters.address_of(writing, self._worker_reply.email))
        id = writing.create(
            "comment",
            {
                "target__context": TICKET,
                "target_id": self._ticket["id"],
                "comment": text,
                "author__context": writing.actor.context,
                "author_id": writing.actor.id,
            },
        )
        for file_id in file_ids:
            writing.tx.insert(ATTACHED, {"attachment_id": file_id, "context": COMMENT, "record_id": id})

    def _set_status(self, said: MailedReply, reopen_at: int) -> None:
        """Sets the status that the commands request, unless a reply sets it."""
        values: dict[str, Any] = {} if said.status is None else {"status_id": said.status}
        if reopen_at:
            status = self._ticket["status_id"] if said.status is None else said.status
            values |= {"status_id": WAITING if status == OPEN else status, "reopen_date": reopen_at}
        if values:
            self._writing.update("ticket", self._ticket["id"], values)

    def _reply(self, said: MailedReply, reopen_at: int, file_ids: list[int]) -> None:
        """Queues the reply; the ticket then waits for the customer unless a command sets another status."""
        status = WAITING if said.status is None else said.status
        draft_id = self._draft(said.text or self._incoming.subject, status, reopen_at, file_ids)
        self._writing.update("draft", draft_id, {"is_queued": 1, "queue_delivery_date": self._writing.now})
        self._writing.wake()

    def _draft(self, text: str, status: int, reopen_at: int, file_ids: list[int]) -> int:
        writing, ticket = self._writing, self._ticket
        request = ReplyRequest(
            content=text,
            message_id=ticket["latest_message_id"],
            status=status,
            reopen_at=reopen_at,
            file_ids=tuple(file_ids),
            worker_id=writing.actor.id,
        )
        return writing.create(
            "draft",
            {
                "type": REPLY,
                "name": ticket["subject"],
                "to": "",
                "ticket_id": ticket["id"],
                "worker_id": writing.actor.id,
                "params": drafts.params_of(request, {}, writing.actor.id, ticket),
            },
        )

    def _keep(self, text: str, file_ids: list[int], reason: str, by_address: bool = False) -> None:
        """Stores the text as a draft, or as the intended note, and notifies the worker of the reason. by_address: the
        author of the note is the address, not the worker."""
        if self._worker_reply.id.is_note and (text or file_ids):
            self._note(text or self._incoming.subject, file_ids, by_address)
        elif text or file_ids:
            self._draft(text or self._incoming.subject, WAITING, 0, file_ids)
            reason = f"{reason}; it is a draft on the ticket"
        writing, id = self._writing, self._ticket["id"]
        values = {"target": writing.label("ticket", id), "worker": writing.actor.name, "reason": reason}
        writing.as_service().log(REFUSED, TICKET, id, values, also_notify=(writing.actor.id,))


def _is_first(writing: RecordWriter, incoming: IncomingMail, ticket_id: int) -> bool:
    digest = incoming.bytes_digest or incoming.digest
    return writing.tx.add(WORKER_ANSWER, {"digest": digest, "ticket_id": ticket_id, "came_at": writing.now})


@periodic(N_("email replies of workers"), N_("Forgets email replies that are too old to arrive twice."), deletes=True)
def forget_old(service: Service, now: int) -> None:
    """Deletes digests older than the period in which a repetition is recognized."""
    table, before = WORKER_ANSWER.sql, now - REMEMBERED_DAYS * DAY_SECONDS
    is_any = service.store.read(
        lambda tx: tx.value(
            lambda: table.select(table.came_at).where(table.came_at <= slot(0)).limit(1),
            (before,),
        )
    )
    if is_any is not None:
        service.store.write(lambda tx: tx.run(lambda: table.delete().where(table.came_at <= slot(0)), (before,)))
