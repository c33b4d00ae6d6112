"""The scheduler: jobs that wait, run and failed, how they went, what runs from time to time, and timers of automations.

Source: ours."""

from console import lists
from console.rendering import render
from console.routes import page
from console.shown import Shown, see
from console.ui import PAGE_ROWS
from console.visit import Visit
from server.desk import records, scheduled
from server.errors import HelpdeskError, Invalid, nearest
from server.jobs import queue, scheduler

BASE, RUNS, SCANS, TIMERS = "/admin/jobs", "/admin/jobs/runs", "/admin/jobs/scans", "/admin/jobs/timers"
TIMER = "automation_timer"
TABS = [(BASE, "Jobs"), (RUNS, "History"), (SCANS, "From time to time"), (TIMERS, "Timers")]
BADGES = {"running": "info", "due": "warn", "waiting": "muted", "failed": "err"}
STATES = [("", "Every state"), ("running", "Running"), ("due", "Due"), ("waiting", "Waiting"), ("failed", "Failed")]
# What jobs of a kind do; another one is shown by its name alone.
DOES = {
    "backup": "Makes a backup of the database", "backup.verify": "Reads all of a backup",
    "behavior.run": "Runs a scheduled behavior",
    "database.check": "Looks at the whole database for damage", "event": "Runs what automations wait for an event",
    "mail.send": "Sends a mail", "mailbox.check": "Looks at a mailbox", "password.link": "Sends a link for a password",
    "timer": "Runs an automation timer",
}  # fmt: skip


@page("GET", BASE, "admin")
def show(visit: Visit) -> Shown:
    """A page of the jobs, those that failed first. Raises Invalid for a state or kind that there is not."""
    kinds = queue.kinds()
    state, kind = _choice(visit, "state", [value for value, _ in STATES if value]), _choice(visit, "kind", kinds)
    number = visit.query.integer("page", 1, 1, records.MAX_PAGE)
    found, total = scheduled.listed(visit.ctx, state, kind, PAGE_ROWS, number)
    return render(
        visit, "jobs.html", found=found, total=total, page=number, state=state, kind=kind, states=STATES, tabs=TABS,
        kinds=[("", "Every kind"), *((each, each) for each in kinds)], counts=scheduled.counts(visit.ctx), does=DOES,
        badges=BADGES, most=queue.MAX_ATTEMPTS,
    )  # fmt: skip


@page("GET", RUNS, "admin")
def show_runs(visit: Visit) -> Shown:
    """How jobs went, the last one first. Raises Invalid for a kind that there is not."""
    kinds = queue.kinds()
    kind, number = _choice(visit, "kind", kinds), visit.query.integer("page", 1, 1, records.MAX_PAGE)
    found, total = scheduled.runs(visit.ctx, kind, PAGE_ROWS, number)
    return render(
        visit, "job_runs.html", found=found, total=total, page=number, kind=kind, tabs=TABS, does=DOES,
        kinds=[("", "Every kind"), *((each, each) for each in kinds)], kept=queue.MAX_RUNS,
    )  # fmt: skip


@page("GET", SCANS, "admin")
def show_scans(visit: Visit) -> Shown:
    """What runs from time to time: when it ran last and runs next."""
    return render(visit, "scans.html", found=scheduled.scans(visit.ctx), tabs=TABS, seconds=scheduler.SCAN_SECONDS)


@page("POST", SCANS, "admin")
def look_now(visit: Visit) -> Shown:
    """Let all of it run at once."""
    scheduled.look_now(visit.ctx)
    visit.tell("All that is on runs now.")
    return see(SCANS)


@page("POST", f"{SCANS}/switch", "admin")
def switch_scan(visit: Visit) -> Shown:
    """Switch one of them on or off."""
    name, is_off = visit.form.text("name", ""), visit.form.flag("off")
    scheduled.switch_scan(visit.ctx, name, not is_off)
    told = "off: it does not run, also after the next start" if is_off else "on"
    visit.tell(f"'{name}' is {told}.", f"{SCANS}/switch", name=name, off="0" if is_off else "1")
    return see(SCANS)


@page("POST", f"{BASE}/{{id}}/run", "admin")
def run(visit: Visit) -> Shown:
    """Let a job be begun at once."""
    kind = scheduled.run_now(visit.ctx, visit.id)
    visit.tell(f"Job {visit.id} ({kind}) is due now.")
    return see(BASE)


@page("POST", f"{BASE}/{{id}}/drop", "admin")
def drop(visit: Visit) -> Shown:
    """Remove a job: what it was to do is not done."""
    kind = scheduled.drop(visit.ctx, visit.id)
    visit.tell(f"Job {visit.id} ({kind}) is dropped; the audit log tells what it was to do.")
    return see(BASE)


@page("GET", TIMERS, "admin")
def show_timers(visit: Visit) -> Shown:
    """Timers of automations, the next one first."""
    found, wrong = lists.found(visit, TIMER, "sort:nextRunAt")
    return render(visit, "timers.html", 422 if wrong else 200, found=found, wrong=wrong, tabs=TABS)


@page("POST", f"{TIMERS}/{{id}}/run", "admin")
def run_timer(visit: Visit) -> Shown:
    """Let a timer run now; its patterns go on from there."""
    timer = lists.record(visit, TIMER, visit.id)
    try:
        if timer["is_disabled"]:
            raise Invalid(f"{timer['name']} is switched off; switch it on first")
        records.update(visit.ctx, TIMER, visit.id, {"next_run_at": str(visit.now)})
        visit.tell(f"{timer['name']} is due now; the log of automations tells how it went.")
    except HelpdeskError as error:
        visit.tell(error.message)
    return see(TIMERS)


@page("POST", f"{TIMERS}/{{id}}/switch", "admin")
def switch_timer(visit: Visit) -> Shown:
    """Switch a timer on or off."""
    timer = lists.record(visit, TIMER, visit.id)
    is_off = visit.form.flag("off")
    records.update(visit.ctx, TIMER, visit.id, {"is_disabled": "1" if is_off else "0"})
    told = "off: it does not run" if is_off else "on"
    visit.tell(f"{timer['name']} is {told}.", f"{TIMERS}/{visit.id}/switch", off="0" if is_off else "1")
    return see(TIMERS)


def _choice(visit: Visit, name: str, known: list[str]) -> str:
    given = visit.query.text(name, "")
    if given and given not in known:
        raise Invalid(f"{name}: '{given[:60]}' is none{nearest(given, known)}; use one of {', '.join(known)}")
    return given
