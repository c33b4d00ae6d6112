"""The jobs of the scheduler for administrators: lists waiting, running and failed ones; runs or drops one.

jobs/job_queue.py claims and retries jobs."""

import json
from typing import Any, Literal, get_args

import peewee

from server.access.actor import APP
from server.context import Context
from server.dataclass import dataclass
from server.errors import Conflict, NotFound, Unavailable, nearest
from server.jobs import scheduler
from server.jobs.job_queue import FREE, JOB, OFF, RUN, JobQueue
from server.jobs.scheduler import SCAN_SECONDS, ScanRun
from server.records.writing import RecordWriter
from server.store.expressions import by_place, one_if
from server.store.statements import ordering, slot
from server.store.transaction import Transaction, equal_to

DOING = "look at the scheduler"  # act in the refusal for workers who are not administrators

State = Literal["running", "due", "waiting", "failed"]
STATES: tuple[State, ...] = get_args(State)
LATE_SECONDS = 60  # allowed between due time and start
MAX_PAYLOAD_CHARS = 2000  # characters of a job's arguments that are shown
NAMES = ("event", "name")  # arguments in the activity log: the event, the backup
MAX_NAME_CHARS, MAX_IDS = 100, 10  # limits of the arguments in the activity log, for a dropped job

SORTS = ("kind", "due_at", "attempts")  # columns that jobs are sorted by
RUN_SORTS = ("kind", "began_at", "due_at", "ms", "attempt")  # columns that runs are sorted by


@dataclass(frozen=True, slots=True)
class ScheduledJob:
    """A job. due_at, failed_at: Unix seconds. attempts: the number of starts. payload: JSON, truncated if it is long.
    error: of the last attempt, "" for none."""

    id: int
    kind: str
    state: State
    due_at: int
    attempts: int
    error: str
    payload: str
    failed_at: int


def list_jobs(
    ctx: Context, state: str = "", kind: str = "", limit: int = 25, page: int = 1, sort: str = ""
) -> tuple[list[ScheduledJob], int]:
    """Returns a page of the jobs, and their total number.

    state: one of State, "" for all. sort: one of SORTS, with "-" before it to sort descending; "" for failed jobs
    first, then by due time. Raises AdminOnly."""
    ctx.require_admin(DOING)
    table: Any = JOB.sql
    # The instant must be the first value; see _conditions.
    values = (*([ctx.now] if state else []), *([kind] if kind else []))
    has_kind = bool(kind)

    def read(tx: Transaction) -> tuple[list[ScheduledJob], int]:
        rows = tx.rows(lambda: _page(state, has_kind, sort), (*values, limit, (page - 1) * limit))
        total = tx.value(lambda: _in_state(state, has_kind, peewee.fn.COUNT(table.id)), values)
        return [_scheduled_job(dict(zip(JOB.names, row, strict=True)), ctx.now) for row in rows], int(total or 0)

    return ctx.service.store.read(read)


def _in_state(state: str, has_kind: bool, *columns: Any) -> Any:
    table: Any = JOB.sql
    query = table.select(*columns)
    if state:
        query = query.where(_conditions(table)[state])
    return query.where(table.kind == slot(bool(state))) if has_kind else query


def _page(state: str, has_kind: bool, sort: str) -> Any:
    table, at = JOB.sql, bool(state) + has_kind
    chosen = ordering({name: getattr(table, name) for name in SORTS}, sort)
    usual = (table.failed_at.desc(), table.due_at, table.id)
    query = _in_state(state, has_kind, *JOB.all_columns).order_by(*chosen, *usual)
    return query.limit(slot(at)).offset(slot(at + 1))


def payload_of(job: ScheduledJob) -> dict[str, Any]:
    """Returns the arguments of a job; {} if they are too long to list."""
    try:
        payload = json.loads(job.payload)
    except ValueError:  # truncated
        return {}
    return payload if isinstance(payload, dict) else {}


def find_job(ctx: Context, id: int) -> ScheduledJob | None:
    """Returns a job, None if it is done or never existed. Raises AdminOnly."""
    ctx.require_admin(DOING)
    row = ctx.service.store.read(lambda tx: tx.get(JOB, id))
    return None if row is None else _scheduled_job(dict(zip(JOB.names, row, strict=True)), ctx.now)


def counts(ctx: Context) -> dict[State, int]:
    """Returns the number of jobs in each state. Raises AdminOnly."""
    ctx.require_admin(DOING)
    table: Any = JOB.sql

    def read(tx: Transaction) -> dict[State, int]:
        rows = tx.row(
            lambda: table.select(*(peewee.fn.SUM(one_if(_conditions(table)[name])) for name in STATES)),
            (ctx.now,),
        )
        assert rows is not None
        return {name: int(count or 0) for name, count in zip(STATES, rows, strict=True)}

    return ctx.service.store.read(read)


def kinds_waiting(ctx: Context) -> list[tuple[str, int]]:
    """Returns [(kind, number)] of jobs that are neither done nor failed, the most frequent first. Raises AdminOnly."""
    ctx.require_admin(DOING)
    table: Any = JOB.sql

    def build() -> Any:
        number = peewee.fn.COUNT(table.id)
        query = table.select(table.kind, number).where(table.failed_at == 0).group_by(table.kind)
        return query.order_by(number.desc(), table.kind)

    rows = ctx.service.store.read(lambda tx: tx.rows(build))
    return [(str(kind), int(count)) for kind, count in rows]


def by_hour(ctx: Context, since: int, hours: int) -> tuple[list[int], list[int]]:
    """Returns the numbers of done and of failed jobs in each hour from an instant on, as far as their runs are still
    stored. since: Unix seconds. Raises AdminOnly."""
    ctx.require_admin(DOING)
    table: Any = RUN.sql
    done, failed = [0] * hours, [0] * hours

    def build() -> Any:
        hour, is_failed = (table.began_at - slot(0)) / 3600, one_if(table.error != "")
        query = table.select(hour, is_failed, peewee.fn.COUNT(table.id)).where(table.began_at >= slot(0))
        return query.group_by(*by_place(2))

    for hour, is_failed, count in ctx.service.store.read(lambda tx: tx.rows(build, (since,))):
        if hour < hours:
            (failed if is_failed else done)[hour] = int(count)
    return done, failed


@dataclass(frozen=True, slots=True)
class JobRun:
    """One run of a job. due_at, began_at: Unix seconds. error: "" if it succeeded."""

    kind: str
    job_id: int
    attempt: int
    due_at: int
    began_at: int
    ms: int
    error: str

    @property
    def is_late(self) -> bool:
        """Whether it began long after it was due, for example because the service was stopped."""
        return self.began_at - self.due_at > LATE_SECONDS


@dataclass(frozen=True, slots=True)
class Scan:
    """A periodic task. does: its purpose. last: None before its first run. next_at: Unix seconds, 0 if it is off."""

    name: str
    does: str
    is_on: bool
    last: ScanRun | None
    next_at: int


def runs(
    ctx: Context, kind: str = "", limit: int = 25, page: int = 1, job_id: int = 0, sort: str = ""
) -> tuple[list[JobRun], int]:
    """Returns a page of the runs of jobs, and the number of stored runs. kind: "" for all. job_id: 0 for all. sort: one
    of RUN_SORTS, with "-" before it to sort descending; "" for the latest first. Raises AdminOnly."""
    ctx.require_admin(DOING)
    table: Any = RUN.sql
    filters = {name: value for name, value in (("kind", kind), ("job_id", job_id)) if value}
    names, values = tuple(filters), tuple(filters.values())

    def read(tx: Transaction) -> tuple[list[JobRun], int]:
        rows = tx.rows(
            lambda: (
                equal_to(RUN, names)
                .order_by(*ordering({name: getattr(table, name) for name in RUN_SORTS}, sort), table.id.desc())
                .limit(slot(len(names)))
                .offset(slot(len(names) + 1))
            ),
            (*values, limit, (page - 1) * limit),
        )
        total = tx.value(lambda: equal_to(RUN, names, peewee.fn.COUNT(table.id)), values)
        return [JobRun(*row[1:]) for row in rows], int(total or 0)

    return ctx.service.store.read(read)


def scans(ctx: Context) -> list[Scan]:
    """Lists the periodic tasks by name. Raises AdminOnly."""
    ctx.require_admin(DOING)
    off = {row[0] for row in ctx.service.store.read(lambda tx: tx.find(OFF))}
    last = scheduler.last_scans(ctx.service)

    def scan(name: str) -> Scan:
        run = last.get(name)
        requested = [run.next_at] if run is not None and run.next_at > ctx.now else []
        at = min([*requested, (run.at if run is not None else ctx.now) + SCAN_SECONDS])
        return Scan(name, scheduler.purpose(name), name not in off, run, 0 if name in off else at)

    return [scan(name) for name in scheduler.scans()]


def switch_scan(ctx: Context, name: str, is_on: bool) -> None:
    """Switches a periodic task on or off, also for later starts, and records it in the activity log. Raises AdminOnly,
    NotFound."""
    ctx.require_admin(DOING)
    if name not in scheduler.scans():
        raise NotFound(f"there is no maintenance task '{name[:60]}'{nearest(name, scheduler.scans())}")

    def write(tx: Transaction) -> None:
        if is_on:
            tx.delete(OFF, name=name)
        else:
            tx.put(OFF, {"name": name})
        values = {"scan": name, "state": "on" if is_on else "off"}
        RecordWriter(ctx, tx).log("scan.switched", APP, 0, values)

    ctx.service.store.write(write)


def run_scans(ctx: Context) -> None:
    """Runs all periodic tasks now and records it in the activity log. Raises AdminOnly, Unavailable if no server
    runs."""
    ctx.require_admin(DOING)
    if ctx.service.wake_scheduler is None:
        raise Unavailable("no server runs on this database, so no task can run")

    def write(tx: Transaction) -> None:
        RecordWriter(ctx, tx).log("scan.run", APP, 0, {})
        ctx.service.wake_after(tx)

    ctx.service.store.write(write)


def begin(ctx: Context, kind: str, point: str = "job.run") -> None:
    """Schedules the only job of a kind for now; several requests add one job. point: the event in the activity log.
    Raises AdminOnly."""
    ctx.require_admin(DOING)

    def write(tx: Transaction) -> None:
        id = JobQueue.add(tx, kind, ctx.now, {}, kind)
        row = tx.get(JOB, id)
        if row is not None and not row[JOB.position["claimed_by"]]:  # a failed one may be delayed
            tx.update(JOB, id, {"due_at": ctx.now})
        RecordWriter(ctx, tx).log(point, APP, 0, {"kind": kind})
        ctx.service.wake_after(tx)

    ctx.service.store.write(write)


def find_only_job(ctx: Context, kind: str) -> ScheduledJob | None:
    """Returns the job of a kind that `begin` adds, None if there is none. Raises AdminOnly."""
    ctx.require_admin(DOING)
    row = ctx.service.store.read(lambda tx: tx.first(JOB, unique_key=kind))
    return None if row is None else _scheduled_job(dict(zip(JOB.names, row, strict=True)), ctx.now)


def run_now(ctx: Context, id: int) -> str:
    """Runs a job now, with all its attempts again; returns its kind. Raises AdminOnly, NotFound, Conflict for a running
    job."""
    ctx.require_admin(DOING)

    def write(tx: Transaction) -> str:
        job = _idle(ctx, tx, id)
        tx.update(JOB, id, {**FREE, "attempts": 0, "failed_at": 0, "due_at": ctx.now})
        RecordWriter(ctx, tx).log("job.run", APP, 0, {"kind": job.kind})
        ctx.service.wake_after(tx)
        return job.kind

    return ctx.service.store.write(write)


def drop(ctx: Context, id: int) -> str:
    """Removes a job without running it; returns its kind. The activity log records it with the ids in its arguments.
    Raises AdminOnly, NotFound, Conflict for a running job."""
    ctx.require_admin(DOING)

    def write(tx: Transaction) -> str:
        job, row = _idle(ctx, tx, id), tx.get(JOB, id)
        assert row is not None
        tx.delete(JOB, id=id)
        arguments = _describe_arguments(json.loads(row[JOB.position["payload"]]))
        suffix = f": {arguments}" if arguments else ""
        RecordWriter(ctx, tx).log("job.dropped", APP, 0, {"job": str(id), "kind": job.kind, "given": suffix})
        return job.kind

    return ctx.service.store.write(write)


def _describe_arguments(payload: dict[str, Any]) -> str:
    """Returns the arguments for the activity log: names and ids, but nothing from the records of an event."""
    values = payload.get("values")
    arguments = {**(values if isinstance(values, dict) else {}), **payload}
    names = [str(arguments[name])[:MAX_NAME_CHARS] for name in NAMES if isinstance(arguments.get(name), str)]
    ids = [
        f"{name} {value}" for name, value in sorted(arguments.items()) if name.endswith("_id") and type(value) is int
    ]
    return ", ".join([*names, *ids[:MAX_IDS]])


def _idle(ctx: Context, tx: Transaction, id: int) -> ScheduledJob:
    row = tx.get(JOB, id)
    if row is None:
        raise NotFound(f"job {id} no longer exists: it was finished or dropped")
    job = _scheduled_job(dict(zip(JOB.names, row, strict=True)), ctx.now)
    if job.state == "running":
        raise Conflict(f"job {id} is running right now; wait until it finishes")
    return job


def _conditions(table: Any) -> dict[str, Any]:
    """Returns {state: its condition}; the first bound value is the current time."""
    is_live = table.failed_at == 0
    is_claimed = (table.claimed_by != "") & (table.claimed_until >= slot(0))
    return {
        "running": is_live & is_claimed,
        "due": is_live & ~is_claimed & (table.due_at <= slot(0)),
        "waiting": is_live & ~is_claimed & (table.due_at > slot(0)),
        "failed": table.failed_at > 0,
    }


def _scheduled_job(row: dict[str, Any], now: int) -> ScheduledJob:
    payload = str(row["payload"])
    return ScheduledJob(
        row["id"],
        row["kind"],
        _state(row, now),
        row["due_at"],
        row["attempts"],
        row["last_error"],
        payload if len(payload) <= MAX_PAYLOAD_CHARS else payload[:MAX_PAYLOAD_CHARS] + "…",
        row["failed_at"],
    )


def _state(row: dict[str, Any], now: int) -> State:
    """Returns the state of one row; must agree with _conditions."""
    if row["failed_at"]:
        return "failed"
    if row["claimed_by"] and row["claimed_until"] >= now:
        return "running"
    return "due" if row["due_at"] <= now else "waiting"
