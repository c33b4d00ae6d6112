"""A look at the whole database file for damage, as a job: it reads every page. Source: ours."""

import time
from dataclasses import asdict, dataclass
from typing import Any

from server.context import Context, Service
from server.desk.service_settings import get, put
from server.errors import AdminOnly
from server.jobs.queue import JOB, JobQueue, job
from server.store.transaction import Transaction

KIND = "database.check"
FOUND = "database_check"  # the service setting that keeps what the last look found
MAX_PROBLEMS = 20  # kept of one look


@dataclass(frozen=True, slots=True)
class Look:
    """at: when it ended, Unix seconds. seconds: how long it took. problems: in SQLite's words, () for none."""

    at: int
    seconds: float
    problems: tuple[str, ...]


def start(ctx: Context) -> None:
    """Let the scheduler look at the database now. Raises AdminOnly."""
    _require_admin(ctx)

    def write(tx: Transaction) -> None:
        JobQueue.add(tx, KIND, ctx.now, {}, KIND)
        if ctx.service.wake_scheduler is not None:
            tx.after_commit(ctx.service.wake_scheduler)

    ctx.service.store.write(write)


def last(ctx: Context) -> tuple[Look | None, bool]:
    """What the last look found, None when there was none; and whether one is under way. Raises AdminOnly."""
    _require_admin(ctx)

    def read(tx: Transaction) -> tuple[Look | None, bool]:
        found, waiting = get(tx, FOUND), tx.first(JOB, unique_key=KIND)
        is_under_way = waiting is not None and not waiting[JOB.position["failed_at"]]
        return Look(found["at"], found["seconds"], tuple(found["problems"])) if found else None, is_under_way

    return ctx.service.store.read(read)


@job(KIND)
def _look(service: Service, payload: dict[str, Any], now: int) -> None:
    began = time.monotonic()
    problems = service.store.check()[:MAX_PROBLEMS]
    found = Look(now, round(time.monotonic() - began, 1), tuple(problems))
    service.store.write(lambda tx: put(tx, FOUND, asdict(found)))


def _require_admin(ctx: Context) -> None:
    if not ctx.actor.is_admin:
        raise AdminOnly("only administrators may check the database")
