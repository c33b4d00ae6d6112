"""The job that mails unread notifications to a worker: all at once, so that ten events on a ticket are one mail."""

from collections.abc import Callable, Sequence
from typing import Any

from server.access.service_actor import own_context
from server.context import Context, Service
from server.jobs.job_queue import job
from server.notifying import notification_mails, reply_ids
from server.notifying.notification_mails import Batch, Letter
from server.outbox.sending import send_soon
from server.people import login_changes
from server.record_types.record_type import Record
from server.record_types.shared.sending_addresses import TRANSACTIONAL
from server.records import catalogs, notification_mail
from server.records.writing import RecordWriter
from server.tickets import letter as mails
from server.translation import N_


@job(notification_mail.JOB, N_("Emails a worker their unread notifications"))
def mail_waiting(service: Service, payload: dict[str, Any], now: int) -> None:
    """Sends the waiting notifications of a worker."""
    ctx, worker_id = own_context(service, now), int(payload["worker_id"])
    language, key = catalogs.worker_catalog(service, worker_id), reply_ids.key(service)
    batch = service.store.read(lambda tx: notification_mails.batch_for(ctx, tx, worker_id, language, key))

    def queue(writing: RecordWriter) -> list[tuple[int, str]]:
        return _queue(writing, worker_id, batch)

    send(ctx, queue)


def send(ctx: Context, queue: Callable[[RecordWriter], list[tuple[int, str]]]) -> None:
    """Sends the mails that `queue` adds. It returns the ids of their drafts with the claims to send them by."""
    for draft_id, claim in ctx.service.store.write(lambda tx: queue(RecordWriter(ctx, tx))):
        if claim:
            send_soon(ctx.service, draft_id, claim, ctx.now)


def _queue(writing: RecordWriter, worker_id: int, batch: Batch) -> list[tuple[int, str]]:
    """Queues the mails that are due, and returns the ids of their drafts with the claims to send them by."""
    notification_mail.remove(writing, worker_id, batch.notification_ids)
    return queue_letters(writing, worker_id, batch.letters)


def queue_letters(writing: RecordWriter, worker_id: int, letters: Sequence[Letter]) -> list[tuple[int, str]]:
    """Queues mails to a worker; none if they are disabled or have no address outside of this service."""
    worker = writing.record("worker", worker_id)
    if worker is None or worker["is_disabled"]:
        return []
    email = login_changes.counting(writing, worker)
    return [_put(writing, email, each) for each in letters] if _is_elsewhere(writing, email) else []


def _is_elsewhere(writing: RecordWriter, email: str) -> bool:
    """Whether the address is outside this service: workers most likely read its sender addresses here."""
    address: Record | None = writing.find("address", email=email) if email else None
    return address is not None and not address["mail_transport_id"]


def _put(writing: RecordWriter, email: str, letter: Letter) -> tuple[int, str]:
    mail = letter.mail
    params = {"to": email, "subject": mail.subject, "content": mail.text}
    draft = {"type": TRANSACTIONAL, "name": mail.subject, "to": email, "params": params}
    return mails.queue(writing, mail, letter.way, draft, 0)
