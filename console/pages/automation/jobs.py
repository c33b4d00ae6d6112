"""The scheduler: jobs that wait, run or failed, and their past runs. Maintenance tasks and timers have separate
lists."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from console.html.rendering import render
from console.html.ui import PAGE_ROWS, Option
from console.http.page_response import PageResponse, again, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import row_view
from console.lists.cells import DrawnColumns
from console.lists.rows import RowFilter, RowPage, RowQuery, RowSource, id_of
from console.lists.worklist import BulkAction, Worklist, declare
from console.pages.upkeep import upkeep_charts
from server import log
from server.errors import NotFound
from server.jobs import job_queue
from server.translation import N_, N_ngettext, _
from server.upkeep import scheduled_jobs
from server.upkeep.scheduled_jobs import ScheduledJob

BASE, RUNS, SCANS, TIMERS = "/admin/jobs", "/admin/jobs/runs", "/admin/jobs/scans", "/admin/jobs/timers"
TABS = ((BASE, N_("Jobs")), (RUNS, N_("History")), (SCANS, N_("Maintenance tasks")), (TIMERS, N_("Timers")))
BADGES = {
    "running": ("info", N_("Running")),
    "due": ("warn", N_("Due")),
    "waiting": ("muted", N_("Waiting")),
    "failed": ("err", N_("Failed")),
}
DAY_SECONDS = 86400
REFRESH_SECONDS = 2  # wait before the page of an unfinished job reloads itself
MAX_LINES = 100  # lines of the log about one job


def _states(visit: Visit) -> list[Option]:
    return [("", N_("All states")), *((state, label) for state, (_badge, label) in BADGES.items())]


def _kinds(visit: Visit) -> list[Option]:
    return [("", N_("All kinds")), *((each, each) for each in job_queue.kinds())]


def _jobs(visit: Visit, query: RowQuery) -> RowPage:
    state, kind = query.filters["state"], query.filters["kind"]
    jobs, total = scheduled_jobs.list_jobs(visit.ctx, state, kind, query.limit, query.page, query.sort)
    return RowPage([_job_row(each) for each in jobs], total)


def _job_row(job: ScheduledJob) -> dict[str, Any]:
    more = {"job_id": job.id, "_label": f"{job.kind} {job.id}", "badge": BADGES[job.state]}
    return asdict(job) | more | {"most": job_queue.MAX_ATTEMPTS}


def _runs(visit: Visit, query: RowQuery) -> RowPage:
    runs, total = scheduled_jobs.runs(visit.ctx, query.filters["kind"], query.limit, query.page, sort=query.sort)
    return RowPage([asdict(each) | {"id": each.job_id, "is_late": each.is_late} for each in runs], total)


def _purposes(visit: Visit, rows: list[dict[str, Any]]) -> dict[str, str]:
    return {row["kind"]: job_queue.purpose(row["kind"]) for row in rows}


def _kind(row: Mapping[str, Any], more: Any) -> str:
    return str(row["kind"])


_KIND = RowFilter("kind", N_("Kind"), _kinds)
_column = DrawnColumns("jobs")
JOB_LIST = declare(Worklist(
    "jobs", BASE, N_("Jobs"), ("kind", "state", "due_at", "attempts", "error", "do"),
    own=(
        _column("kind", N_("Job"), "kind", value=_kind),
        _column("state", N_("State")),
        _column("due_at", N_("Due"), "due_at"),
        _column("attempts", N_("Started"), "attempts", "number"),
        _column("error", N_("Error")),
        _column("do", N_("Action")),
    ),
    load=_purposes,
    actions=(
        BulkAction("run", N_("Run now"), run=lambda visit, key: scheduled_jobs.run_now(visit.ctx, id_of(key)),
                   says=N_ngettext("The job runs now.", "{count} jobs run now.")),
        BulkAction("drop", N_("Drop"), deletes=True, run=lambda visit, key: scheduled_jobs.drop(visit.ctx, id_of(key)),
                   confirm=N_("Drop the selected jobs? They will not run. This cannot be undone."),
                   says=N_ngettext("Job dropped.", "{count} jobs dropped.")),
    ),
    heading=N_("Scheduler"), subtitle=N_("Work that runs later, or again until it succeeds"),
    empty=N_("No jobs are waiting."), none=N_("No job matches."), tabs=TABS,
    tabs_label=N_("Scheduler"), source=RowSource(_jobs, (RowFilter("state", N_("State"), _states), _KIND)),
))  # fmt: skip
RUN_LIST = declare(Worklist(
    "job-history", RUNS, N_("Job history"), ("kind", "result", "began_at", "ms", "attempt", "error"),
    own=(
        _column("kind", N_("Job"), "kind", value=_kind),
        _column("result", N_("Result"), value=lambda row, more: "failed" if row["error"] else "done"),
        _column("began_at", N_("Started"), "began_at"),
        _column("due_at", N_("Due"), "due_at", is_time=True),
        _column("ms", N_("Duration"), "ms", "number"),
        _column("attempt", N_("Attempt"), "attempt", "number"),
        _column("error", N_("Error")),
    ),
    load=_purposes, heading=N_("Scheduler"), empty=N_("No job has run yet."),
    none=N_("No job of this kind has run yet."), tabs=TABS, tabs_label=N_("Scheduler"),
    source=RowSource(_runs, (_KIND,)),
))  # fmt: skip


@page("GET", BASE, "admin")
def show(visit: Visit) -> PageResponse:
    """A page of jobs, failed ones first. Raises Invalid for an unknown state or kind."""
    counts, pictures = scheduled_jobs.counts(visit.ctx), upkeep_charts.jobs(visit)
    return row_view.page(visit, JOB_LIST, "jobs.html", badges=BADGES, counts=counts, pictures=pictures)


@page("GET", RUNS, "admin")
def show_runs(visit: Visit) -> PageResponse:
    """The past runs of jobs, newest first. Raises Invalid for an unknown kind."""
    subtitle = _("Job history: the last {kept} of each kind", kept=job_queue.MAX_RUNS)
    return row_view.page(visit, replace(RUN_LIST, subtitle=subtitle))


@page("GET", f"{BASE}/{{id}}", "admin")
def show_one(visit: Visit) -> PageResponse:
    """A job that waits or runs, and its past runs. Raises NotFound if it left no trace."""
    job = scheduled_jobs.find_job(visit.ctx, visit.id)
    runs, total = scheduled_jobs.runs(visit.ctx, limit=PAGE_ROWS, job_id=visit.id)
    if job is None and not runs:
        raise NotFound(_("Job {id} no longer exists: it was dropped, or its history was deleted.", id=visit.id))
    kind = runs[0].kind if job is None else job.kind
    page = render(
        visit,
        "job.html",
        job=job,
        runs=runs,
        total=total,
        kind=kind,
        does=job_queue.purpose(kind),
        badges=BADGES,
        most=job_queue.MAX_ATTEMPTS,
        lines=log.lines_about("job", visit.id, visit.now - DAY_SECONDS)[:MAX_LINES],
        id=visit.id,
        tabs=TABS,
    )
    return again(page, REFRESH_SECONDS) if job is not None and job.state in ("due", "running") else page


@page("POST", f"{BASE}/{{id}}/run", "admin")
def run(visit: Visit) -> PageResponse:
    """Starts a job at once; its page shows the progress."""
    scheduled_jobs.run_now(visit.ctx, visit.id)
    return see(f"{BASE}/{visit.id}")


@page("POST", f"{BASE}/{{id}}/drop", "admin")
def drop(visit: Visit) -> PageResponse:
    """Removes a job without running it."""
    kind = scheduled_jobs.drop(visit.ctx, visit.id)
    visit.flash(_("Job {id} ({kind}) dropped. The audit log has its input.", id=visit.id, kind=kind))
    return see(BASE)
