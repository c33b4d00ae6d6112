"""Which notifications are also mailed to a worker: the worker's choice, or the setting of the service for workers
without one.

A notification to be mailed is queued in its own transaction. notifying/mailing.py writes the mail."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from server.context import Context
from server.errors import Invalid
from server.jobs.job_queue import JobQueue
from server.store.tables import Column, Index, Table
from server.store.transaction import Transaction
from server.translation import N_, _

if TYPE_CHECKING:
    from server.records.writing import RecordWriter

JOB = "notification.mail"
MENTIONED, NOTE, DUE, OTHER = "mentioned", "note", "due", "other"
KINDS = ("assigned", MENTIONED, "message", NOTE, "reopened", "failed", DUE, OTHER)
LABELS = (
    ("assigned", N_("A ticket is assigned to me"), ""),
    (MENTIONED, N_("Somebody mentions me in a note"), ""),
    ("message", N_("A customer writes on a ticket I own or watch"), ""),
    (NOTE, N_("Somebody adds a note to something I own or watch"), ""),
    ("reopened", N_("A ticket I own or watch is reopened"), ""),
    ("failed", N_("Email could not be sent or fetched"), N_("Also when a reply I sent by email was not understood.")),
    (DUE, N_("A reminder or a service target is due"), ""),
    (OTHER, N_("Anything else happens to something I own or watch"), ""),
)  # of KINDS: label, note
_OF_POINT = {
    "ticket.owner.assigned": "assigned",
    "ticket.message.inbound": "message",
    "comment.create": NOTE,
    "ticket.status.open": "reopened",
    "transport.delivery.error": "failed",
    "automation.rule.off": "failed",
    "group.acknowledgement.error": "failed",
    "mailbox.check.error": "failed",
    "connected_account.ended": "failed",
    "connected_service.secret.expires": "failed",
    "outgoing_webhook.switched_off": "failed",
    "ticket.message.held": "failed",
    "ticket.answer.refused": "failed",
    "ticket.target.due": DUE,
    "ticket.target.missed": DUE,
}

CHOICE = Table(
    "notification_mail_choice",
    [Column("worker_id", references="worker(id)"), Column("kinds", "TEXT")],
    key=("worker_id",),
)  # kinds: separated by spaces
TO_MAIL = Table(
    "notification_to_mail",
    [Column("notification_id", references="notification(id)"), Column("worker_id"), Column("kind", "TEXT")],
    [Index(("worker_id", "notification_id"), "what a worker has to be mailed, the oldest first")],
    key=("notification_id",),
)


def kind_of(point: str) -> str:
    """The kind, of KINDS, of a notification of this activity event."""
    return _OF_POINT.get(point, OTHER)


def chosen(ctx: Context, tx: Transaction, worker_id: int) -> frozenset[str]:
    """The kinds of notifications that a worker wants by mail."""
    row = tx.first(CHOICE, worker_id=worker_id)
    kinds = str(row[1]).split() if row is not None else ctx.service.settings.notification_mail
    return frozenset(kinds)


def caller_kinds(ctx: Context) -> frozenset[str]:
    """The kinds of notifications that the caller wants by mail."""
    return ctx.service.store.read(lambda tx: chosen(ctx, tx, ctx.actor.worker_id))


def choose(ctx: Context, kinds: Collection[str]) -> None:
    """Stores the kinds of notifications that the caller wants by mail. Raises Invalid for an unknown one."""
    text = kinds_text(kinds, "mailed")
    ctx.service.store.write(lambda tx: tx.put(CHOICE, {"worker_id": ctx.actor.worker_id, "kinds": text}))


def kinds_text(kinds: Collection[str], field: str) -> str:
    """Returns kinds as they are stored: in the order of KINDS, separated by spaces. Raises Invalid for an unknown one.
    field: of the form, for the error."""
    if not set(kinds) <= set(KINDS):
        raise Invalid(_("Choose some of {kinds}.", kinds=", ".join(KINDS)), field=field)
    return " ".join(each for each in KINDS if each in kinds)


def hold(writing: "RecordWriter", notification_id: int, worker_id: int, kind: str) -> None:
    """Queues a notification for mail if its worker wants this kind. It is mailed later, unless read by then."""
    if kind not in chosen(writing.ctx, writing.tx, worker_id):
        return
    writing.tx.insert(TO_MAIL, {"notification_id": notification_id, "worker_id": worker_id, "kind": kind})
    _queue(writing, worker_id, writing.now + writing.ctx.service.settings.notification_mail_seconds)


def remove(writing: "RecordWriter", worker_id: int, notification_ids: Collection[int]) -> None:
    """Removes what a run of the job mails. Queues the next run if more is waiting: notifications over the limit of one
    run, and those that arrived since the run read them."""
    for id in notification_ids:
        writing.tx.delete(TO_MAIL, notification_id=id)
    JobQueue.release_key(writing.tx, _key(worker_id))
    if writing.tx.first(TO_MAIL, worker_id=worker_id) is not None:
        _queue(writing, worker_id, writing.now)


def _queue(writing: "RecordWriter", worker_id: int, due: int) -> None:
    JobQueue.add(writing.tx, JOB, due, {"worker_id": worker_id}, _key(worker_id))
    writing.wake()


def _key(worker_id: int) -> str:
    return f"{JOB}:{worker_id}"
