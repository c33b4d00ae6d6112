"""Schedules the request for a rating when a ticket is closed, and drops it when the ticket is opened or deleted before.

tickets/ratings/rating_requests.py sends it."""

from server.contexts import WORKER
from server.jobs.job_queue import JOB, JobQueue
from server.record_types.parts import Change, Writing
from server.settings import Settings
from server.tickets.types.ticket_parts.status import CLOSED

KIND = "rating_request"  # kind of the job
OFF, GROUPS, ALL = "off", "groups", "all"  # values of the setting `ratings`
HOUR_SECONDS = 3600


def follow(change: Change, writing: Writing) -> None:
    """Adds the request after a ticket was closed, in place of an earlier one, or drops it. Tickets that are created
    closed get none, since they are imported ones."""
    settings: Settings = writing.ctx.service.settings
    if change.is_create or not change.changes("status_id") or settings.ratings == OFF:
        return
    if CLOSED not in (change.was("status_id"), change.value("status_id")):
        return
    key = f"{KIND}:{change.id}"
    writing.tx.delete(JOB, unique_key=key)
    if change.value("status_id") != CLOSED or writing.ctx.is_quiet or writing.ctx.is_untold:
        return
    group = writing.record("group", change.value("group_id"))
    if not is_asked(settings, group):
        return
    closer = writing.actor.id if writing.actor.context == WORKER else 0
    payload = {
        "ticket_id": change.id,
        "group_id": change.value("group_id"),
        "worker_id": change.value("owner_id") or closer,
    }
    JobQueue.add(writing.tx, KIND, writing.now + settings.rating_delay_hours * HOUR_SECONDS, payload, key)
    writing.wake()


def is_asked(settings: Settings, group: dict[str, object] | None) -> bool:
    """Whether customers of a group are asked for ratings."""
    if group is None or settings.ratings == OFF:
        return False
    return settings.ratings == ALL or bool(group["rating_enabled"])
