"""The outbox of administrators: lists unsent mail with the reason, tries it again, or drops it."""

from collections.abc import Mapping
from typing import Any

import peewee

from server.access.actor import APP
from server.context import Context
from server.dataclass import dataclass
from server.errors import Conflict, NotFound
from server.jobs.job_queue import JobQueue
from server.outbox import queue_rows
from server.outbox.delivery import State, next_attempt, state_of
from server.outbox.due_drafts import KIND
from server.outbox.holds import let_through, next_attempts
from server.outbox.queue_rows import OUTGOING
from server.record_types.record_type import Record
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store.statements import ordering, slot
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.translation import lazy_gettext

DOING = "see unsent email of others"  # allowed to administrators only

FILTERS = ("failed", "parked", "held", "failing", "queued")
SORTS = {"subject": "name", "to": "to", "fails": "queue_fails", "due_at": "queue_delivery_date", "updated": "updated"}
# Columns for the list, which shows no text.
_DRAFT = ("id", "name", "to", "is_queued", "queue_fails", "queue_delivery_date", "ticket_id", "worker_id", "updated")
_OUTGOING = ("claimed_by", "claimed_until", "is_parked", "held_by", "settled", "last_error")


@dataclass(frozen=True, slots=True)
class QueuedMail:
    """One unsent mail. state: `failed` was given up; `parked` waits for a mail transport, `held` for one to be reached;
    `sending` is being sent; `failing` is tried again at due_at; `partly` is missing for some recipients; `later` is
    scheduled; `queued` is due. is_given_up: it is not tried again. reason: why it was not sent, "" before the first
    attempt. due_at, updated: Unix seconds."""

    id: int
    subject: str
    to: str
    state: State
    reason: str
    fails: int
    due_at: int
    ticket_id: int
    worker_id: int
    updated: int
    is_given_up: bool = False


@dataclass(frozen=True, slots=True)
class QueuedMailText:
    """One unsent mail with its sender, recipients and text."""

    listed: QueuedMail
    sender: str
    cc: str
    bcc: str
    text: str


def list_queue(
    ctx: Context, state: str = "", limit: int = 25, page: int = 1, sort: str = ""
) -> tuple[list[QueuedMail], int]:
    """Returns a page of the unsent mails, and their total number. Raises AdminOnly.

    state: one of FILTERS, where queued is every mail that will be tried; "" for all. sort: one of SORTS, with a leading
    "-" for descending order; "" for given-up mail first, then by due date."""
    ctx.require_admin(DOING)

    def read(tx: Transaction) -> tuple[list[QueuedMail], int]:
        page_rows = tx.rows(
            lambda: _page(state, sort),
            (limit, (page - 1) * limit),
        )
        total = tx.value(lambda: _in_state(state, peewee.fn.COUNT(table_named("draft").c.id)))
        names = (*_DRAFT, *_OUTGOING)
        holds = next_attempts(tx)
        return [_listed(dict(zip(names, row, strict=True)), ctx.now, holds) for row in page_rows], int(total or 0)

    return ctx.service.store.read(read)


def _in_state(state: str, *columns: Any) -> Any:
    draft, outgoing = table_named("draft"), OUTGOING.sql
    query = draft.select(*columns).join(outgoing, peewee.JOIN.LEFT_OUTER, on=(outgoing.draft_id == draft.c.id))
    is_given_up = (draft.c.is_queued == 0) & (outgoing.last_error != "")
    conditions = {
        "failed": is_given_up,
        "parked": (draft.c.is_queued == 1) & (outgoing.is_parked == 1),
        "held": (draft.c.is_queued == 1) & (outgoing.held_by > 0),
        "failing": (draft.c.is_queued == 1) & (draft.c.queue_fails > 0),
        "queued": draft.c.is_queued == 1,
    }
    return query.where(conditions.get(state, (draft.c.is_queued == 1) | is_given_up))


def _page(state: str, sort: str) -> Any:
    draft, outgoing = table_named("draft"), OUTGOING.sql
    names = [*(getattr(draft.c, name) for name in _DRAFT), *(getattr(outgoing, name) for name in _OUTGOING)]
    chosen = ordering({name: getattr(draft.c, column) for name, column in SORTS.items()}, sort)
    usual = (draft.c.is_queued, draft.c.queue_delivery_date, draft.c.id)
    query = _in_state(state, *names).order_by(*chosen, *usual)
    return query.limit(slot(0)).offset(slot(1))


def letter(ctx: Context, id: int) -> QueuedMailText:
    """Returns one unsent mail. Raises AdminOnly, NotFound."""
    ctx.require_admin(DOING)

    def read(tx: Transaction) -> QueuedMailText:
        writing = RecordReader(ctx, tx)
        draft, row = _unsent(writing, id)
        params = draft["params"] if isinstance(draft["params"], dict) else {}
        mail = row.get("mail") or {}
        cc, bcc, text = (str(params.get(name) or "") for name in ("cc", "bcc", "content"))
        sender = str(mail.get("from_address") or params.get("from") or "")
        summary = _listed({**row, **draft}, ctx.now, next_attempts(tx))
        return QueuedMailText(summary, sender, cc, bcc, text or str(mail.get("text") or ""))

    return ctx.service.store.read(read)


def send_again(ctx: Context, id: int) -> None:
    """Makes a mail due at once, with all its attempts again. Raises AdminOnly, NotFound, Conflict while it is being
    sent."""
    ctx.require_admin(DOING)

    def write(tx: Transaction) -> None:
        writing = RecordWriter(ctx, tx)
        mail = _idle(writing, id)
        writing.update("draft", id, {"is_queued": 1, "queue_fails": 0, "queue_delivery_date": ctx.now})
        let_through(writing, id)
        queue_rows.change(
            tx, id, {**queue_rows.FREE, "is_parked": 0, "held_by": 0, "last_error": "", "failing_since": 0}
        )
        JobQueue.add(tx, KIND, ctx.now, {"draft_id": id}, f"{KIND}:{id}")
        _log(writing, "mail.retried", mail)
        ctx.service.wake_after(tx)

    ctx.service.store.write(write)


def drop(ctx: Context, id: int) -> str:
    """Deletes a mail, so that it is not sent, and returns its subject. Raises AdminOnly, NotFound, Conflict while it is
    being sent."""
    ctx.require_admin(DOING)

    def write(tx: Transaction) -> str:
        writing = RecordWriter(ctx, tx)
        mail = _idle(writing, id)
        writing.delete_sent(writing.registry.type("draft"), id)
        _log(writing, "mail.dropped", mail)
        return mail.subject

    return ctx.service.store.write(write)


def _log(writing: RecordWriter, point: str, mail: QueuedMail) -> None:
    writing.log(point, APP, 0, {"subject": mail.subject or f"without a subject ({mail.id})"})


def _idle(writing: RecordWriter, id: int) -> QueuedMail:
    draft, row = _unsent(writing, id)
    mail = _listed({**row, **draft}, writing.now, {})
    if mail.state == "sending":
        raise Conflict(lazy_gettext("email {id} is being sent right now; wait a moment", id=id))
    return mail


def _unsent(reading: RecordReader, id: int) -> tuple[Record, Record]:
    """The draft and its row in the queue, {} for none."""
    draft, row = reading.record("draft", id), queue_rows.get(reading.tx, id) or {}
    if draft is None or not (draft["is_queued"] or row.get("last_error")):
        raise NotFound(lazy_gettext("email {id} is no longer in the outbox: it was sent or dropped", id=id))
    return draft, row


def _listed(row: Record, now: int, holds: Mapping[int, int]) -> QueuedMail:
    state = state_of(row, now)
    return QueuedMail(
        row["id"],
        row["name"],
        row["to"],
        state,
        str(row.get("last_error") or ""),
        row["queue_fails"],
        next_attempt(row, state, holds) or row["queue_delivery_date"],
        row["ticket_id"],
        row["worker_id"],
        row["updated"],
        is_given_up=not row["is_queued"],
    )
