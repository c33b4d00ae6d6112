"""Schedules runs of behaviors: a job for each, with the variables of the run."""

import hashlib
import json
from typing import Any

from server import log, times
from server.access.service_actor import own_context
from server.automation.behaviors import behavior_service, variables
from server.context import Context, Service
from server.errors import HelpdeskError, Invalid, Unavailable
from server.jobs.job_queue import JOB, JobQueue, job
from server.record_types.shared.behavior_events import API_REQUEST, CALLED
from server.store.statements import slot
from server.store.transaction import Transaction
from server.translation import N_

KIND = "behavior.run"
MAX_WAITING = 1000  # scheduled runs per behavior
MAX_VALUES_CHARS = 65_535  # length of the variables of a run, as JSON
LOG = log.get("behavior")


def add(ctx: Context, behavior_id: int, when: str, values: dict[str, Any]) -> None:
    """Schedules a behavior for a time in words. An identical run at the same time is scheduled once. Raises Invalid."""
    at = times.instant(when, ctx.now, ctx.tz)
    text = json.dumps(values, ensure_ascii=False, sort_keys=True)
    if len(text) > MAX_VALUES_CHARS:
        raise Invalid(f"the variables of a run that waits have at most {MAX_VALUES_CHARS} characters as JSON")
    key = f"{_keys(behavior_id)}{at}:{hashlib.sha256(text.encode()).hexdigest()}"

    def write(tx: Transaction) -> None:
        if _waiting(tx, behavior_id) >= MAX_WAITING:
            raise Invalid(f"at most {MAX_WAITING} runs of a behavior may wait")
        payload = {"behavior_id": behavior_id, "values": values, "zone": ctx.actor.timezone}
        JobQueue.add(tx, KIND, at, payload, key, is_slow=True)
        ctx.service.wake_after(tx)

    ctx.service.store.write(write)


def remove(ctx: Context, behavior_id: int) -> None:
    """Cancels all scheduled runs of a behavior."""
    table: Any = JOB.sql
    ctx.service.store.write(
        lambda tx: tx.run(
            lambda: table.delete().where(
                table.unique_key >= slot(0), table.unique_key < slot(1), table.claimed_by == ""
            ),
            _range(behavior_id),
        )
    )


def _waiting(tx: Transaction, behavior_id: int) -> int:
    table: Any = JOB.sql
    rows = tx.rows(
        lambda: table.select(table.id).where(table.unique_key >= slot(0), table.unique_key < slot(1)).limit(slot(2)),
        (*_range(behavior_id), MAX_WAITING),
    )
    return len(rows)


def _keys(behavior_id: int) -> str:
    """Returns the prefix of the keys of a behavior's jobs."""
    return f"{KIND}:{behavior_id}:"


def _range(behavior_id: int) -> tuple[str, str]:
    """Returns the range of a behavior's job keys, from the first to an exclusive end: ';' follows ':' in ASCII."""
    first = _keys(behavior_id)
    return first, f"{first[:-1]};"


@job(KIND, N_("Runs a scheduled behavior"))
def run_waiting(service_: Service, payload: dict[str, Any], now: int) -> None:
    """Runs a scheduled behavior. One that has been disabled or deleted since is logged and not retried."""
    zone = payload["zone"] or "UTC"
    ctx = own_context(service_, now, zone)
    name = str(payload["behavior_id"])
    try:
        behavior, bot = behavior_service.enabled(ctx, name, (API_REQUEST, CALLED))
        behavior_service.perform(ctx, behavior, bot, variables.of_values(ctx, behavior, payload["values"]))
    except Unavailable:
        raise  # the job is retried later
    except HelpdeskError as error:
        LOG.warning("behavior.not_run", behavior_id=name, reason=error.message[:500])
