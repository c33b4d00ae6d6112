"""Runs of behaviors that begin later: a job for each, with the variables that it is given."""

import hashlib
import json
from typing import Any

from server import log, times
from server.access.service_actor import own_context
from server.automation.behaviors import service, variables
from server.context import Context, Service
from server.errors import HelpdeskError, Invalid, Unavailable
from server.jobs.queue import JOB, JobQueue, job
from server.record_types.shared.behavior_events import API_REQUEST, CALLED
from server.store.statements import slot
from server.store.transaction import Transaction

KIND = "behavior.run"
MAX_WAITING = 1000  # runs of one behavior that wait
MAX_VALUES_CHARS = 65_535  # of the variables of one run, as JSON
LOG = log.get("behavior")


def add(ctx: Context, behavior_id: int, when: str, values: dict[str, Any]) -> None:
    """Let a behavior run at a time in words. The same run at the same time waits once. Raises Invalid."""
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
    """Take back all runs of a behavior that wait."""
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
    """How the keys of a behavior's jobs begin."""
    return f"{KIND}:{behavior_id}:"


def _range(behavior_id: int) -> tuple[str, str]:
    """From the first key of a behavior's jobs until before the end: ';' is the character after ':'."""
    first = _keys(behavior_id)
    return first, f"{first[:-1]};"


@job(KIND)
def run_waiting(service_: Service, payload: dict[str, Any], now: int) -> None:
    """Run a behavior whose time has come; what it was before it was disabled or deleted does not matter."""
    zone = payload["zone"] or "UTC"
    ctx = own_context(service_, now, zone)
    name = str(payload["behavior_id"])
    try:
        behavior, bot = service.enabled(ctx, name, (API_REQUEST, CALLED))
        service.perform(ctx, behavior, bot, variables.of_values(ctx, behavior, payload["values"]))
    except Unavailable:
        raise  # it is tried again later
    except HelpdeskError as error:
        LOG.warning("behavior.not_run", behavior_id=name, reason=error.message[:500])
