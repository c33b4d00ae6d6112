"""Runs the automations of due timers, once for each time, including one that passed while the service was down. Several
missed times count as one.

A run that was interrupted when the service stopped is not repeated: it may have done its work."""

from typing import Any

import peewee

from server import contexts, times
from server.access.service_actor import own_context
from server.automation import bindings, continuations, recurrence
from server.automation.automation_service import ServiceHost, find, run_counted
from server.automation.engine import RunResult
from server.automation.host import LogEntry, Script
from server.context import Context, Service
from server.errors import HelpdeskError, Invalid, NotFound
from server.jobs.clock_watch import BACK_SECONDS, after_set_back
from server.jobs.job_queue import JobQueue, job
from server.jobs.scheduler import periodic
from server.record_types.record_type import Record
from server.records import records
from server.records.event_publishing import record_values
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.store.statements import slot
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.template.values import printed, truthy
from server.translation import N_, _

URI, TRIGGER = "automation_timer", "svc.trigger.automation.timer"
KIND = "timer"
BATCH = 100  # timers per scan
_OVER = {"started_for": 0}  # the same time, set again, is a new run


@periodic(N_("automation timers"), N_("Adds a job for each one that is due."))
def find_due(service: Service, now: int) -> int | None:
    """Adds a job for every due timer; returns when the next timer is due."""
    due = service.store.read(lambda tx: _due(tx, now))
    if due:
        service.store.write(
            lambda tx: [
                JobQueue.add(tx, KIND, now, {"timer_id": id, "at": at}, f"{KIND}:{id}", is_slow=True) for id, at in due
            ]
        )
    return now if len(due) == BATCH else service.store.read(lambda tx: _next(tx, now))


@job(KIND, N_("Runs an automation timer"))
def run_timer(service: Service, payload: dict[str, Any], now: int) -> None:
    """Runs the automation of a timer, or resumes a waiting run, and sets when the timer is due next."""
    timer_id, at = int(payload["timer_id"]), int(payload["at"])
    timer = service.store.write(lambda tx: _begin(own_context(service, now, depth=1), tx, timer_id, at))
    if timer is None:
        return
    ctx = own_context(service, now, timer["recurring_timezone"] or "UTC", depth=1)
    host = ServiceHost(ctx)
    if timer["started_for"] == at:
        name = timer["name"]
        service.store.write(lambda tx: _cut_short(ctx, tx, host, timer, name))
        return
    automation, values = _what_runs(ctx, host, timer)
    if automation is None:
        service.store.write(lambda tx: _ended(ctx, tx, timer))
        return
    result = run_counted(ctx, host, automation, values)
    until = _until(ctx, result) if result.state == "await" else None

    def write(tx: Transaction) -> None:
        _ended(ctx, tx, timer, automation, result, until)
        host.log(tx, automation.name, result.log, automation.version)

    service.store.write(write)


def _begin(ctx: Context, tx: Transaction, id: int, at: int) -> Record | None:
    """Marks a run of a timer as started and returns the timer as it was before; None if there is nothing to run."""
    writing = RecordWriter(ctx, tx)
    timer = writing.record(URI, id)
    if timer is None or timer["is_disabled"] or timer["next_run_at"] != at:
        return None
    if timer["started_for"] != at:
        writing.set(URI, id, {"started_for": at, "last_ran_at": ctx.now})
    return timer


def _cut_short(ctx: Context, tx: Transaction, host: ServiceHost, timer: Record, name: str) -> None:
    message = f"timer '{name}': its run was cut short when the service stopped, and is not restarted"
    host.log(tx, "", [LogEntry(4, "", message)])
    _ended(ctx, tx, timer)


def text_of(ctx: Context, id: int) -> str:
    """Returns as KATA which automation a timer runs; the timer's dictionary lacks it. Raises AdminOnly, NotFound."""
    ctx.require_admin("see what a timer runs")
    timer = ctx.service.store.read(lambda tx: RecordReader(ctx, tx).record(URI, id))
    if timer is None:
        raise NotFound(f"there is no timer {id}")
    return str(timer["automations_kata"])


def run_now(ctx: Context, id: int) -> str:
    """Makes a timer due now and returns its name. Raises AdminOnly, NotFound, Invalid for one that is switched off, and
    the errors of changing it."""
    ctx.require_admin("run timers")
    timer = records.stored_one(ctx, URI, id)
    if timer["is_disabled"]:
        raise Invalid(_("{name} is switched off; switch it on first", name=timer["name"]))
    records.update(ctx, URI, id, {"next_run_at": str(ctx.now)})
    return str(timer["name"])


def _what_runs(ctx: Context, host: ServiceHost, timer: Record) -> tuple[Script | None, dict[str, Any]]:
    """Returns the automation and its dictionary; None if none is bound, or for a broken binding, which is logged."""
    store = ctx.service.store
    waiting = store.read(lambda tx: continuations.read(tx, timer["continuation_id"]))
    if waiting is not None:
        name, state = waiting
        automation = store.read(lambda tx: find(ctx, tx, name))
        if automation is not None:
            return automation, state
        gone = (
            f"timer '{timer['name']}': the automation '{name}', whose run was to be resumed, no longer exists; it "
            "starts again"
        )
        store.write(lambda tx: host.log(tx, "", [LogEntry(4, "", gone)]))
    values = record_values("timer", contexts.AUTOMATION_TIMER, timer["id"])
    try:
        handler = next(bindings.handlers(timer["automations_kata"], TRIGGER, values, host), None)
    except HelpdeskError as error:
        message = f"timer '{timer['name']}': its binding fails: {error.message}"
        store.write(lambda tx: host.log(tx, "", [LogEntry(3, "", message)]))
        return None, {}
    if handler is None:
        return None, {}
    return handler.automation, {**values, "inputs": handler.inputs}


def _ended(
    ctx: Context,
    tx: Transaction,
    timer: Record,
    automation: Script | None = None,
    result: RunResult | None = None,
    until: int | None = None,
) -> None:
    """Stores the state of a waiting run, or deletes the timer or sets its next time. until: when a waiting run is
    resumed; None if it does not wait."""
    writing, id = RecordWriter(ctx, tx), timer["id"]
    present = writing.record(URI, id)
    if present is None:
        return
    if result is not None and automation is not None and until is not None:
        continuation_id = continuations.keep(
            tx, timer["continuation_id"], automation.name, result.values, ctx.now, until
        )
        writing.set(URI, id, {"next_run_at": max(until, ctx.now + 1), "continuation_id": continuation_id} | _OVER)
        return
    continuations.drop(tx, timer["continuation_id"])
    returned = result.returned if result is not None and isinstance(result.returned, dict) else {}
    if truthy(returned.get("delete")):
        writing.delete(URI, id)
        return
    if present["next_run_at"] != timer["next_run_at"]:  # someone changed the time during the run
        writing.set(URI, id, _OVER | {"continuation_id": 0})
        return
    patterns = timer["recurring_patterns"] if timer["is_recurring"] else ""
    following = recurrence.next_time(patterns, ctx.now, ctx.tz) if patterns.strip() else 0
    values = _OVER | {"next_run_at": following, "continuation_id": 0}
    writing.set(URI, id, values if following else values | {"is_disabled": 1})


def _until(ctx: Context, result: RunResult) -> int:
    """Returns when a run is resumed, from Unix seconds or a time in words; now if there is no valid time."""
    returned = result.returned if isinstance(result.returned, dict) else {}
    until = returned.get("until")
    try:
        return times.instant(printed(until), ctx.now, ctx.tz) if until not in (None, "") else 0
    except Invalid as error:
        result.log.append(LogEntry(4, "", f"await: until: {error.message}"))
        return 0


def _due(tx: Transaction, now: int) -> list[tuple[int, int]]:
    """Returns [(id, time)] of due timers, longest due first."""
    timer: Any = table_named(URI)
    rows = tx.rows(
        lambda: (
            timer.select(timer.c.id, timer.c.next_run_at)
            .where(timer.c.is_disabled == 0, timer.c.next_run_at > 0, timer.c.next_run_at <= slot(0))
            .order_by(timer.c.next_run_at)
            .limit(BATCH)
        ),
        (now,),
    )
    return [(id, at) for id, at in rows]


def _next(tx: Transaction, now: int) -> int | None:
    timer: Any = table_named(URI)
    at = tx.value(
        lambda: timer.select(peewee.fn.MIN(timer.c.next_run_at)).where(
            timer.c.is_disabled == 0, timer.c.next_run_at > slot(0)
        ),
        (now,),
    )
    return int(at) if at else None


@after_set_back("automation timers")
def _set_again(service: Service, now: int) -> None:
    """Corrects timers whose last run is in the future, because the clock was wrong then. A waiting run is resumed after
    its original delay; a time that someone has set since stays."""
    ctx = own_context(service, now)
    for id in service.store.read(lambda tx: _ran_ahead(tx, now)):
        service.store.write(lambda tx, id=id: _again(ctx, tx, id))  # type: ignore[misc]


def _ran_ahead(tx: Transaction, now: int) -> list[int]:
    timer: Any = table_named(URI)
    rows = tx.rows(
        lambda: timer.select(timer.c.id).where(timer.c.last_ran_at > slot(0)),
        (now + BACK_SECONDS,),
    )
    return [row[0] for row in rows]


def _again(ctx: Context, tx: Transaction, id: int) -> None:
    writing = RecordWriter(ctx, tx)
    timer = writing.record(URI, id)
    if timer is None:
        return
    values, next_at = {"last_ran_at": ctx.now}, timer["next_run_at"]
    if next_at and timer["continuation_id"]:
        values["next_run_at"] = ctx.now + max(next_at - timer["last_ran_at"], 0)
    elif next_at and timer["is_recurring"] and timer["recurring_patterns"].strip():
        zone = times.zone(timer["recurring_timezone"] or "UTC")
        following = recurrence.next_time(timer["recurring_patterns"], ctx.now, zone)
        values["next_run_at"] = min(next_at, following or next_at)
    writing.set(URI, id, values)
