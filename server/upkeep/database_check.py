"""A look at the whole database file for damage, as a job: it reads every page."""

import time
from dataclasses import asdict
from typing import Any

from server.context import Context, Service
from server.dataclass import dataclass
from server.jobs.queue import job
from server.records.service_settings import get, put
from server.upkeep import scheduled_jobs

KIND = "database.check"
FOUND = "database_check"  # the service setting that keeps what the last look found
MAX_PROBLEMS = 20  # kept of one look


@dataclass(frozen=True, slots=True)
class DatabaseCheck:
    """at: when it ended, Unix seconds. seconds: how long it took. problems: in SQLite's words, () for none."""

    at: int
    seconds: float
    problems: tuple[str, ...]


def start(ctx: Context) -> None:
    """Schedules a check of the database for now. Raises AdminOnly."""
    scheduled_jobs.begin(ctx, KIND)


def last(ctx: Context) -> DatabaseCheck | None:
    """The result of the last check, None if there was none. Raises AdminOnly."""
    ctx.require_admin("see what a look at the database found")
    return found(ctx.service)


def found(service: Service) -> DatabaseCheck | None:
    """The same, for the service itself."""
    kept = service.store.read(lambda tx: get(tx, FOUND))
    return DatabaseCheck(kept["at"], kept["seconds"], tuple(kept["problems"])) if kept else None


@job(KIND)
def _look(service: Service, payload: dict[str, Any], now: int) -> None:
    began = time.monotonic()
    problems = service.store.check()[:MAX_PROBLEMS]
    found = DatabaseCheck(now, round(time.monotonic() - began, 1), tuple(problems))
    service.store.write(lambda tx: put(tx, FOUND, asdict(found)))
