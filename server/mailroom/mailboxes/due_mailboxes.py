"""Finds enabled mailboxes that are due, the one with the oldest check first.

After a failure the wait grows with the number of failures in a row."""

from typing import Any

import peewee

from server.context import Service
from server.jobs.job_queue import JobQueue, job
from server.jobs.scheduler import periodic
from server.mailroom.mailboxes.checking import check
from server.mailroom.types.mailbox_parts.fetch_columns import MAILBOX_LOOK, MAILBOX_STATE
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.translation import N_

KIND = "mailbox.check"
WAIT_SECONDS = 120  # wait after one failure; grows by the same amount with every further one
MAX_WAIT_SECONDS = 1800  # longest wait between two checks of a failing mailbox


@periodic(N_("mailboxes to look at"), N_("Adds a job for each one that is due."))
def find_due(service: Service, now: int) -> int | None:
    """Adds a job for every mailbox that is due; returns when the next one will be."""
    due_dates = service.store.read(lambda tx: dates(tx, now, service.settings.mailbox_poll_seconds))
    due = [id for at, id in due_dates if at <= now]
    if due:
        service.store.write(lambda tx: add(tx, due, now))
    return next((at for at, _ in due_dates if at > now), None)


def add(tx: Transaction, ids: list[int], now: int) -> None:
    """Adds a job for each of these mailboxes, except those that are being checked."""
    for id in ids:
        JobQueue.add(tx, KIND, now, {"mailbox_id": id}, f"{KIND}:{id}", is_slow=True)


@job(KIND, N_("Fetches email from a mailbox"))
def _check(service: Service, payload: dict[str, Any], now: int) -> None:
    check(service, int(payload["mailbox_id"]), now)


def dates(tx: Transaction, now: int, poll_seconds: int) -> list[tuple[int, int]]:
    """(due time, id) of every enabled mailbox, the earliest first."""
    mailbox, state, look = table_named("mailbox"), MAILBOX_STATE.sql, MAILBOX_LOOK.sql
    rows = tx.rows(
        lambda: (
            mailbox.select(mailbox.c.id, mailbox.c.checked_at, mailbox.c.num_fails, state.has_more, look.retry_at)
            .join(state, peewee.JOIN.LEFT_OUTER, on=(state.mailbox_id == mailbox.c.id))
            .join(look, peewee.JOIN.LEFT_OUTER, on=(look.mailbox_id == mailbox.c.id))
            .where(mailbox.c.is_enabled == 1)
        ),
    )
    return sorted((_due_at(now, poll_seconds, *row), id) for id, *row in rows)


def _due_at(
    now: int, poll_seconds: int, checked_at: int, fails: int, has_more: int | None, retry_at: int | None
) -> int:
    """The time of the next check. retry_at: the time that the server named with the last failure, 0 for none."""
    if checked_at > now:  # the clock was set back
        return now
    if fails and retry_at:
        return max(checked_at + poll_seconds, retry_at)
    return checked_at + _wait(fails, poll_seconds, bool(has_more))


def _wait(fails: int, poll_seconds: int, has_more: bool) -> int:
    """Seconds between a check and the next one."""
    if fails:
        return min(WAIT_SECONDS * fails, MAX_WAIT_SECONDS)
    return 0 if has_more else poll_seconds
