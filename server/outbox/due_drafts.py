"""Finds drafts that are due and sends them: mail that was scheduled, failed before, or was interrupted.

Queued drafts that clients created through the records API are sent as well, on behalf of their worker."""

from typing import Any

from server import times
from server.access import actor
from server.context import Context, Service
from server.errors import Forbidden, HelpdeskError, TimedOut, Unavailable
from server.jobs.clock_watch import after_set_back
from server.jobs.job_queue import JobQueue, furthest, job
from server.jobs.scheduler import at_start, periodic
from server.outbox import draft_kinds, queue_rows
from server.outbox.deliver import sending_context
from server.outbox.holds import hasten, probe_held
from server.outbox.outcome import DeliveryFailure, record_failed_attempt
from server.outbox.queue_rows import CLAIM_SECONDS, OUTGOING
from server.outbox.sender import way_of
from server.outbox.sending import send_soon
from server.record_types.record_type import Record
from server.record_types.shared.sending_addresses import TRANSACTIONAL
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.translation import N_

KIND = "mail.send"
BATCH = 100  # drafts of one scan


@at_start("outbox")
def _release(service: Service, now: int) -> None:
    """Releases the claims of processes that are gone."""
    service.store.write(queue_rows.release_lost)


@periodic(N_("drafts that are due"), N_("Sends drafts that were scheduled, and tries again to send those that failed."))
def find_due(service: Service, now: int) -> int | None:
    """Adds a job for every draft that is due. Returns the time when the next draft will be due."""
    _unpark(service)
    held_until = probe_held(service, now)
    retry = service.settings.mail_retry_seconds
    ids = service.store.read(lambda tx: _due_ids(tx, now, retry))
    if ids:
        service.store.write(lambda tx: [JobQueue.add(tx, KIND, now, {"draft_id": id}, f"{KIND}:{id}") for id in ids])
    if len(ids) == BATCH:
        return now
    dates = (service.store.read(lambda tx: _next_date(tx, now)), held_until)
    return min((date for date in dates if date is not None), default=None)


@after_set_back("drafts that failed")
def _hasten(service: Service, now: int) -> None:
    """Limits the wait of mail that failed while the clock was wrong. Leaves the time of scheduled mail unchanged."""
    settings = service.settings
    latest = now + max(settings.mail_retry_seconds, settings.mail_retry_max_seconds)
    draft: Any = table_named("draft")
    service.store.write(
        lambda tx: tx.run(
            lambda: draft.update({draft.c.queue_delivery_date: slot(0)}).where(
                draft.c.is_queued == 1, draft.c.queue_fails > 0, draft.c.queue_delivery_date > slot(1)
            ),
            (now, latest),
        )
    )
    service.store.write(lambda tx: hasten(tx, now))


@job(KIND, N_("Sends an email"))
def _send(service: Service, payload: dict[str, Any], now: int) -> None:
    send_draft(service, int(payload["draft_id"]), now)


def send_draft(service: Service, draft_id: int, now: int) -> bool | None:
    """Sends a queued draft, unless another thread is sending it or it has to wait. Returns True when it was sent, None
    while it is on its way."""
    ctx = sending_context(service, draft_id, now)
    claim = service.store.write(lambda tx: queue_rows.claim(RecordWriter(ctx, tx), draft_id))
    if claim is None:
        return False
    try:
        if not _realize(ctx, draft_id, claim):
            return False
    except HelpdeskError as error:
        failure = DeliveryFailure(error.message, not isinstance(error, (Unavailable, TimedOut)))
        service.store.write(lambda tx: record_failed_attempt(RecordWriter(ctx, tx), draft_id, claim, failure))
        return False
    return send_soon(service, draft_id, claim, now)


# -- create the message ------------------------------------------------------------------------------------------------


def _realize(ctx: Context, draft_id: int, claim: str) -> bool:
    """Creates ticket and message of a scheduled draft, unless its mail exists already. Returns False if there is
    nothing to send."""
    draft, row = ctx.service.store.read(
        lambda tx: (RecordReader(ctx, tx).record("draft", draft_id), queue_rows.get(tx, draft_id))
    )
    if draft is None or row is None:
        return False
    if row["mail"]:
        return True
    is_checked = row["checked"] == queue_rows.digest(draft["params"])
    by = _context_of_worker(ctx, draft, is_checked)
    save = draft_kinds.prepared(by, draft, is_checked)

    def write(tx: Transaction) -> bool:
        writing = RecordWriter(by, tx)
        present = writing.record("draft", draft_id)
        if present is None or not present["is_queued"] or not queue_rows.holds(tx, draft_id, claim):
            return False
        if save(writing, draft_id):
            return True
        writing.delete("draft", draft_id)  # the message stays on its ticket: no recipient is allowed
        return False

    return ctx.service.store.write(write)


def _context_of_worker(ctx: Context, draft: Record, is_checked: bool) -> Context:
    """The context of the worker who sends. A mail that was checked when it was queued is sent even if the worker is
    gone.

    Raises Forbidden for unchecked drafts of a worker who is gone."""
    if not draft["worker_id"] and (is_checked or draft["type"] == TRANSACTIONAL):
        return ctx
    worker = ctx.service.store.read(lambda tx: actor.worker(tx, draft["worker_id"]))
    if worker is not None:
        return ctx.as_actor(worker, times.zone(worker.timezone))
    if not is_checked:
        raise Forbidden(f"worker {draft['worker_id']} of this draft is disabled, or not there")
    return ctx


# -- queries -----------------------------------------------------------------------------------------------------------


def _due_ids(tx: Transaction, now: int, retry_seconds: int) -> list[int]:
    """Ids of drafts that are due, the oldest first, without drafts that are being sent, wait for a transport, or for an
    earlier mail."""
    draft, outgoing = table_named("draft"), OUTGOING.sql

    def build() -> Any:
        busy: Any = outgoing
        others = busy.select(busy.draft_id).where(
            (busy.is_parked == 1) | (busy.held_by > 0) | ~queue_rows.is_free(busy, 1)
        )
        return (
            draft.select(draft.c.id)
            .where(draft.c.is_queued == 1, draft.c.queue_delivery_date <= slot(0), draft.c.id.not_in(others))
            .where(~queue_rows.has_earlier(draft, 0, 3))
            .order_by(draft.c.queue_delivery_date, draft.c.updated, draft.c.id)
            .limit(BATCH)
        )

    return [row[0] for row in tx.rows(build, (now, now, furthest(tx.store, now, CLAIM_SECONDS), now + retry_seconds))]


def _next_date(tx: Transaction, now: int) -> int | None:
    draft = table_named("draft")
    date = tx.value(
        lambda: (
            draft.select(draft.c.queue_delivery_date)
            .where(draft.c.is_queued == 1, draft.c.queue_delivery_date > slot(0))
            .order_by(draft.c.queue_delivery_date)
            .limit(1)
        ),
        (now,),
    )
    return int(date) if date is not None else None


def _unpark(service: Service) -> None:
    """Makes parked mail due again whose sender has a transport by now."""
    outgoing: Any = OUTGOING.sql

    def waiting(tx: Transaction) -> list[int]:
        rows = tx.rows(
            lambda: outgoing.select(outgoing.from_address_id).where(outgoing.is_parked == 1).distinct(),
        )
        return [id for (id,) in rows if way_of(tx, service.registry, id) is not None]

    for id in service.store.read(waiting):
        service.store.write(
            lambda tx, id=id: tx.run(  # type: ignore[misc]
                lambda: outgoing.update({outgoing.is_parked: 0, outgoing.last_error: ""}).where(
                    outgoing.is_parked == 1, outgoing.from_address_id == slot(0)
                ),
                (id,),
            )
        )
