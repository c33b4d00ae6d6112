"""The first minute with the demo: tickets of the administrator's own, with a draft and a note that mentions them, and a
customer's mail that arrives while they look at the inbox.

Whoever loads the demo in the console gets the tickets at once; after `helpdesk demo`, the first administrator to see
the inbox does. The mail is a job, which survives a restart and runs in one process."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from server import mailroom, times
from server.access import actor as actors
from server.access.service_actor import own_context
from server.context import Context, Service
from server.contexts import TICKET, WORKER
from server.errors import Unavailable
from server.first_start.demo import desk, plan
from server.first_start.demo.kept import FIRST_MINUTE, enroll, is_there, record_ids
from server.first_start.demo.mails import mail_of, message_id, message_ids
from server.jobs.job_queue import JobQueue, job
from server.outbox.sender import default_sender
from server.people import rosters
from server.record_types.shared.sending_addresses import REPLY
from server.records import changes
from server.records.reading import RecordReader
from server.records.service_settings import get, put
from server.records.writing import RecordWriter
from server.tickets import reply_drafts
from server.tickets.types.ticket_parts.status import OPEN, WAITING
from server.translation import N_

KIND = "demo_mail"
ARRIVES_SECONDS = 25  # after an administrator first opens the inbox


def prepare(writing: RecordWriter, ticket_ids: Sequence[int]) -> None:
    """Stores the tickets for the first administrator, the open ones first."""
    put(writing.tx, FIRST_MINUTE, {"filled_at": writing.now, "ticket_ids": list(ticket_ids)})


def join(writing: RecordWriter, worker_id: int) -> None:
    """Makes a worker a manager of the demo's groups, and hands over the tickets of the first administrator, if there
    is a demo."""
    for id in record_ids(writing.tx).get("group", ()):
        if writing.record("group", id) is not None:
            enroll(writing, id, {worker_id: rosters.MANAGER})
    hand_over(writing, worker_id)


def hand_over(writing: RecordWriter, worker_id: int) -> None:
    """Assigns the tickets of the first administrator to a worker, once. A colleague of the demo does it."""
    tx, first = writing.tx, get(writing.tx, FIRST_MINUTE) or {}
    colleague = next((actors.worker(tx, id) for id in record_ids(tx).get("worker", ())), None)
    ids = [id for id in first.pop("ticket_ids", ()) if _is_undone(writing, id)]
    if colleague is None or not ids:
        return
    put(tx, FIRST_MINUTE, first)
    before = changes.now(tx)
    ctx = replace(writing.ctx, is_quiet=True).as_actor(colleague, times.zone(colleague.timezone))
    for id in ids:
        ticket = writing.record("ticket", id) or {}
        at = min(ticket["updated"] + 300, writing.now)
        RecordWriter(replace(ctx, now=at), tx).update("ticket", id, {"owner_id": worker_id})
    _begin_reply(writing, worker_id, ids[0])
    _mention(RecordWriter(ctx, tx), worker_id, ids[-1 if len(ids) == 1 else 1])
    changes.set_time_after(tx, before, writing.now)


def _is_undone(writing: RecordWriter, ticket_id: int) -> bool:
    ticket = writing.record("ticket", ticket_id)
    return ticket is not None and ticket["status_id"] in (OPEN, WAITING)


def _begin_reply(writing: RecordWriter, worker_id: int, ticket_id: int) -> None:
    """Creates the draft of a reply."""
    ticket = writing.record("ticket", ticket_id) or {}
    params = reply_drafts.params_of({"content": desk.content()["first_minute"]["draft"]}, ticket["latest_message_id"])
    writing.create("draft", {"type": REPLY, "ticket_id": ticket_id, "worker_id": worker_id, "params": params})


def _mention(by: RecordWriter, worker_id: int, ticket_id: int) -> None:
    """Adds a colleague's note that mentions the worker."""
    name = (by.record("worker", worker_id) or {})["at_mention_name"] or by.label("worker", worker_id)
    text = desk.content()["first_minute"]["note"].replace("@you", f"@{name}")
    values = {"comment": text, "author__context": WORKER, "author_id": by.actor.worker_id, "is_markdown": 1}
    by.create("comment", {"target__context": TICKET, "target_id": ticket_id, **values})


# -- the mail ----------------------------------------------------------------------------------------------------------


def welcome(ctx: Context) -> None:
    """Begins the first minute when an administrator sees the inbox; does nothing at other times."""
    store = ctx.service.store
    if not ctx.actor.is_admin or not store.read(lambda tx: get(tx, FIRST_MINUTE)):
        return

    def write(tx: Any) -> None:
        first, writing = get(tx, FIRST_MINUTE), RecordWriter(ctx, tx)
        if not first:
            return
        if "ticket_ids" in first:
            join(writing, ctx.actor.worker_id)
        put(tx, FIRST_MINUTE, None)
        JobQueue.add(tx, KIND, ctx.now + ARRIVES_SECONDS, {"filled_at": first["filled_at"]}, KIND)
        writing.wake()

    with suppress(Unavailable):  # a full disk must not prevent reading the inbox
        store.write(write)


@job(KIND, N_("Receives an email of the demo"))
def receive_mail(service: Service, payload: dict[str, Any], now: int) -> None:
    """Receives the next mail of a customer who waits for the first administrator, as any other mail."""
    filled_at = int(payload["filled_at"])
    tickets = plan.for_first_administrator(plan.conversations(filled_at), filled_at)
    planned = next((each for each in tickets if each.next_mail is not None), None)
    ctx = own_context(service, now)
    sender = service.store.read(
        lambda tx: RecordReader(ctx, tx).record("address", default_sender(tx)) if is_there(tx) else None
    )
    if planned is None or planned.next_mail is None or sender is None:
        return
    place, step = len(planned.steps), replace(planned.next_mail, at=now)
    mail = mail_of(step, sender["email"], planned.subject, message_id(planned, place), message_ids(planned, place))
    mailroom.receive(ctx, mail)
