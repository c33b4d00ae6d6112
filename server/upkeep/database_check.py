"""Checks the whole database file for damage, in a job, since it reads every page."""

import time
from dataclasses import asdict
from typing import Any

from server.context import Context, Service
from server.dataclass import dataclass
from server.jobs.job_queue import job
from server.records.service_settings import get, put
from server.translation import N_
from server.upkeep import scheduled_jobs

KIND = "database.check"
RESULT = "database_check"  # the service setting with the last result
MAX_PROBLEMS = 20  # stored per check


@dataclass(frozen=True, slots=True)
class DatabaseCheck:
    """The result of a check. at: its end, Unix seconds. seconds: its duration. problems: in SQLite's words."""

    at: int
    seconds: float
    problems: tuple[str, ...]


def start(ctx: Context) -> None:
    """Schedules a check of the database for now. Raises AdminOnly."""
    scheduled_jobs.begin(ctx, KIND)


def last(ctx: Context) -> DatabaseCheck | None:
    """Returns the result of the last check, or None. Raises AdminOnly."""
    ctx.require_admin("see what a look at the database found")
    return read_last(ctx.service)


def read_last(service: Service) -> DatabaseCheck | None:
    """Returns the same for the service itself."""
    stored = service.store.read(lambda tx: get(tx, RESULT))
    return DatabaseCheck(stored["at"], stored["seconds"], tuple(stored["problems"])) if stored else None


@job(KIND, N_("Checks the whole database for damage"))
def _look(service: Service, payload: dict[str, Any], now: int) -> None:
    began = time.monotonic()
    problems = service.store.check()[:MAX_PROBLEMS]
    result = DatabaseCheck(now, round(time.monotonic() - began, 1), tuple(problems))
    service.store.write(lambda tx: put(tx, RESULT, asdict(result)))
