"""The jobs of the scheduler as administrators see them: what waits, runs and failed; running one now, dropping one.

How jobs are claimed and tried again is in jobs/queue.py."""

import json
from typing import Any, Literal, get_args

import peewee

from server.access.actor import APP
from server.context import Context
from server.dataclass import dataclass
from server.errors import Conflict, NotFound, Unavailable, nearest
from server.jobs.queue import FREE, JOB, OFF, RUN, JobQueue
from server.jobs.scheduler import SCAN_SECONDS, ScanRun, last_scans
from server.jobs.scheduler import scans as scheduler_scans
from server.records.writing import RecordWriter
from server.store.expressions import by_place, one_if
from server.store.statements import ordering, slot
from server.store.transaction import Transaction, equal_to

DOING = "look at the scheduler"  # what administrators alone may

State = Literal["running", "due", "waiting", "failed"]
STATES: tuple[State, ...] = get_args(State)
LATE_SECONDS = 60  # between due time and start
MAX_PAYLOAD_CHARS = 2000  # characters of a job's arguments that are shown
NAMES = ("event", "name")  # arguments that are shown: the event, the backup
MAX_NAME_CHARS, MAX_IDS = 100, 10  # arguments in the entry about a removed job

SORTS = ("kind", "due_at", "attempts")  # columns that jobs are sorted by
RUN_SORTS = ("kind", "began_at", "due_at", "ms", "attempt")  # and how they went


@dataclass(frozen=True, slots=True)
class ScheduledJob:
    """One job. due_at, failed_at: Unix seconds. attempts: how often it was begun. payload: JSON, cut when it is long.
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
    """A page of the jobs, and how many there are in all.

    state: one of State, "" for every; due and waiting are one another's rest at ctx.now. sort: one of SORTS, with "-"
    before it for the other direction; "" for those that failed first, then by when they are due. Raises AdminOnly."""
    ctx.require_admin(DOING)
    table: Any = JOB.sql
    # The instant stands first, where the conditions look for it.
    values = (*([ctx.now] if state else []), *([kind] if kind else []))
    has_kind = bool(kind)

    def read(tx: Transaction) -> tuple[list[ScheduledJob], int]:
        rows = tx.rows(lambda: _page(state, has_kind, sort), (*values, limit, (page - 1) * limit))
        total = tx.value(lambda: _in_state(state, has_kind, peewee.fn.COUNT(table.id)), values)
        return [_listed(dict(zip(JOB.names, row, strict=True)), ctx.now) for row in rows], int(total or 0)

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
    """The arguments of a job; {} if they are too long to list."""
    try:
        found = json.loads(job.payload)
    except ValueError:  # cut
        return {}
    return found if isinstance(found, dict) else {}


def one(ctx: Context, id: int) -> ScheduledJob | None:
    """A job, None for one that is done, or was never there. Raises AdminOnly."""
    ctx.require_admin(DOING)
    row = ctx.service.store.read(lambda tx: tx.get(JOB, id))
    return None if row is None else _listed(dict(zip(JOB.names, row, strict=True)), ctx.now)


def counts(ctx: Context) -> dict[State, int]:
    """How many jobs are in each state. Raises AdminOnly."""
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
    """(kind, number) of jobs that are not done and have not failed, most first. Raises AdminOnly."""
    ctx.require_admin(DOING)
    table: Any = JOB.sql

    def build() -> Any:
        number = peewee.fn.COUNT(table.id)
        query = table.select(table.kind, number).where(table.failed_at == 0).group_by(table.kind)
        return query.order_by(number.desc(), table.kind)

    rows = ctx.service.store.read(lambda tx: tx.rows(build))
    return [(str(kind), int(count)) for kind, count in rows]


def by_hour(ctx: Context, since: int, hours: int) -> tuple[list[int], list[int]]:
    """How many jobs were done, and how many failed, in each hour from an instant on, of those whose runs are kept.
    since: Unix seconds. Raises AdminOnly."""
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
    """How a job went. due_at, began_at: Unix seconds. error: "" for one that was done."""

    kind: str
    job_id: int
    attempt: int
    due_at: int
    began_at: int
    ms: int
    error: str

    @property
    def is_late(self) -> bool:
        """Whether it was begun long after it was due, as when the service was stopped."""
        return self.began_at - self.due_at > LATE_SECONDS


@dataclass(frozen=True, slots=True)
class Scan:
    """What runs from time to time. last: None for one that has not run yet. next_at: Unix seconds, 0 when it is off."""

    name: str
    is_on: bool
    last: ScanRun | None
    next_at: int


def runs(
    ctx: Context, kind: str = "", limit: int = 25, page: int = 1, job_id: int = 0, sort: str = ""
) -> tuple[list[JobRun], int]:
    """How jobs went, and how many of that are kept. kind: "" for every. job_id: of one job, 0 for every. sort: one of
    RUN_SORTS, with "-" before it for the other direction; "" for the last one first. Raises AdminOnly."""
    ctx.require_admin(DOING)
    table: Any = RUN.sql
    wanted = {name: value for name, value in (("kind", kind), ("job_id", job_id)) if value}
    names, values = tuple(wanted), tuple(wanted.values())

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
    """All that runs from time to time, by name. Raises AdminOnly."""
    ctx.require_admin(DOING)
    off = {row[0] for row in ctx.service.store.read(lambda tx: tx.find(OFF))}
    last = last_scans(ctx.service)

    def scan(name: str) -> Scan:
        found = last.get(name)
        asked = [found.next_at] if found is not None and found.next_at > ctx.now else []
        at = min([*asked, (found.at if found is not None else ctx.now) + SCAN_SECONDS])
        return Scan(name, name not in off, found, 0 if name in off else at)

    return [scan(name) for name in scheduler_scans()]


def switch_scan(ctx: Context, name: str, is_on: bool) -> None:
    """Switch one on or off, also for later starts; it is noted in the activity log. Raises AdminOnly, NotFound."""
    ctx.require_admin(DOING)
    if name not in scheduler_scans():
        raise NotFound(f"nothing that runs from time to time is called '{name[:60]}'{nearest(name, scheduler_scans())}")

    def write(tx: Transaction) -> None:
        if is_on:
            tx.delete(OFF, name=name)
        else:
            tx.put(OFF, {"name": name})
        told = {"scan": name, "state": "on" if is_on else "off"}
        RecordWriter(ctx, tx).log("scan.switched", APP, 0, told)

    ctx.service.store.write(write)


def look_now(ctx: Context) -> None:
    """Runs all periodic tasks now; it is in the activity log. Raises AdminOnly, Unavailable if no server runs."""
    ctx.require_admin(DOING)
    if ctx.service.wake_scheduler is None:
        raise Unavailable("no server runs on this database, so nothing can look")

    def write(tx: Transaction) -> None:
        RecordWriter(ctx, tx).log("scan.run", APP, 0, {})
        ctx.service.wake_after(tx)

    ctx.service.store.write(write)


def begin(ctx: Context, kind: str, point: str = "job.run") -> None:
    """Schedules the only job of a kind for now, once however often it is requested. point: the event in the activity
    log. Raises AdminOnly."""
    ctx.require_admin(DOING)

    def write(tx: Transaction) -> None:
        id = JobQueue.add(tx, kind, ctx.now, {}, kind)
        row = tx.get(JOB, id)
        if row is not None and not row[JOB.position["claimed_by"]]:  # one that failed before may have a while to wait
            tx.update(JOB, id, {"due_at": ctx.now})
        RecordWriter(ctx, tx).log(point, APP, 0, {"kind": kind})
        ctx.service.wake_after(tx)

    ctx.service.store.write(write)


def only(ctx: Context, kind: str) -> ScheduledJob | None:
    """The job of a kind that `begin` adds, None if there is none. Raises AdminOnly."""
    ctx.require_admin(DOING)
    row = ctx.service.store.read(lambda tx: tx.first(JOB, unique_key=kind))
    return None if row is None else _listed(dict(zip(JOB.names, row, strict=True)), ctx.now)


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
        told = _in_words(json.loads(row[JOB.position["payload"]]))
        given = f": {told}" if told else ""
        RecordWriter(ctx, tx).log("job.dropped", APP, 0, {"job": str(id), "kind": job.kind, "given": given})
        return job.kind

    return ctx.service.store.write(write)


def _in_words(payload: dict[str, Any]) -> str:
    """The arguments that an entry may show: names and ids, and nothing from the records of an event."""
    values = payload.get("values")
    given = {**(values if isinstance(values, dict) else {}), **payload}
    names = [str(given[name])[:MAX_NAME_CHARS] for name in NAMES if isinstance(given.get(name), str)]
    ids = [f"{name} {value}" for name, value in sorted(given.items()) if name.endswith("_id") and type(value) is int]
    return ", ".join([*names, *ids[:MAX_IDS]])


def _idle(ctx: Context, tx: Transaction, id: int) -> ScheduledJob:
    row = tx.get(JOB, id)
    if row is None:
        raise NotFound(f"there is no job {id} any more: it was done, or dropped")
    job = _listed(dict(zip(JOB.names, row, strict=True)), ctx.now)
    if job.state == "running":
        raise Conflict(f"job {id} runs just now; wait until it has ended")
    return job


def _conditions(table: Any) -> dict[str, Any]:
    """The condition of the jobs in each state; the time is the first value."""
    is_live = table.failed_at == 0
    is_claimed = (table.claimed_by != "") & (table.claimed_until >= slot(0))
    return {
        "running": is_live & is_claimed,
        "due": is_live & ~is_claimed & (table.due_at <= slot(0)),
        "waiting": is_live & ~is_claimed & (table.due_at > slot(0)),
        "failed": table.failed_at > 0,
    }


def _listed(row: dict[str, Any], now: int) -> ScheduledJob:
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
    """The state of one row, as _conditions has it for many."""
    if row["failed_at"]:
        return "failed"
    if row["claimed_by"] and row["claimed_until"] >= now:
        return "running"
    return "due" if row["due_at"] <= now else "waiting"
