"""The jobs that wait, run and failed, and how they went."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from markupsafe import Markup

from console.html import ui
from console.html.ui import Option
from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit
from console.lists import row_view
from console.lists.rows import RowFilter, RowPage, RowQuery, RowSource, id_of
from console.lists.worklist import BulkAction, Worklist, declare
from console.lists.worklist_columns import ListColumn
from console.pages.automation.jobs import BADGES, BASE, DOES, RUNS, STATES, TABS
from console.pages.upkeep import upkeep_charts
from server.jobs import job_queue
from server.translation import N_, N_ngettext, _, shown
from server.upkeep import scheduled_jobs


def _kinds(visit: Visit) -> list[Option]:
    return [("", N_("All kinds")), *((each, each) for each in job_queue.kinds())]


KIND = RowFilter("kind", N_("Kind"), _kinds)


def _named(visit: Visit, row: Mapping[str, Any], more: Any) -> str:
    """The purpose of a job, linked to its page, with its arguments."""
    id, kind = row["job_id"], row["kind"]
    label = Markup('{}<br><span class="muted">{} {}</span>').format(
        ui.link(f"{BASE}/{id}", shown(DOES.get(kind, kind))), ui.code(kind), id
    )
    payload = row.get("payload", "{}")
    if payload == "{}":
        return Markup("<div>{}</div>").format(label)
    return Markup("<div>{}<details><summary>{}</summary>{}</details></div>").format(label, _("Input"), ui.code(payload))


def _kind(row: Mapping[str, Any], more: Any) -> str:
    return str(row["kind"])


def _error(visit: Visit, row: Mapping[str, Any], more: Any) -> str:
    return row["error"]


# -- the jobs ----------------------------------------------------------------------------------------------------------


def _jobs(visit: Visit, query: RowQuery) -> RowPage:
    state, kind = query.filters["state"], query.filters["kind"]
    jobs, total = scheduled_jobs.list_jobs(visit.ctx, state, kind, query.limit, query.page, query.sort)
    return RowPage([asdict(each) | {"job_id": each.id, "_label": f"{each.kind} {each.id}"} for each in jobs], total)


def _due(visit: Visit, row: Mapping[str, Any], more: Any) -> str:
    if row["state"] == "failed":
        return Markup("{} {}").format(ui.muted(_("gave up")), ui.when(visit, row["failed_at"]))
    return ui.when(visit, row["due_at"])


def _buttons(visit: Visit, row: Mapping[str, Any], more: Any) -> str:
    """Nothing while it runs."""
    id, kind = row["id"], row["kind"]
    if row["state"] == "running":
        return ""
    again = N_("Run again") if row["state"] == "failed" else N_("Run now")
    question = _("Drop job {id} ({kind})? It will not run. This cannot be undone.", id=id, kind=kind)
    return ui.row(
        ui.button(visit, f"{BASE}/{id}/run", again, "small"),
        ui.button(visit, f"{BASE}/{id}/drop", N_("Drop"), "link danger", question),
    )


JOB_LIST = declare(Worklist(
    "jobs", BASE, N_("Jobs"), ("kind", "state", "due_at", "attempts", "error", "do"),
    own=(
        ListColumn("kind", N_("Job"), _named, "kind", value=_kind),
        ListColumn("state", N_("State"),
                   lambda visit, row, more: ui.badge(BADGES[row["state"]], dict(STATES)[row["state"]])),
        ListColumn("due_at", N_("Due"), _due, "due_at"),
        ListColumn("attempts", N_("Started"),
                   lambda visit, row, more: _("{count} of {most}", count=row["attempts"], most=job_queue.MAX_ATTEMPTS),
                   "attempts", "number"),
        ListColumn("error", N_("Error"), _error),
        ListColumn("do", N_("Action"), _buttons, value=lambda row, more: ""),
    ),
    actions=(
        BulkAction("run", N_("Run now"), run=lambda visit, key: scheduled_jobs.run_now(visit.ctx, id_of(key)),
                   says=N_ngettext("The job runs now.", "{count} jobs run now.")),
        BulkAction("drop", N_("Drop"), deletes=True, run=lambda visit, key: scheduled_jobs.drop(visit.ctx, id_of(key)),
                   confirm=N_("Drop the selected jobs? They will not run. This cannot be undone."),
                   says=N_ngettext("Job dropped.", "{count} jobs dropped.")),
    ),
    heading=N_("Scheduler"), subtitle=N_("Work that runs later, or again until it succeeds"),
    empty=N_("No jobs are waiting."), none=N_("No job matches."), tabs=tuple(TABS),
    tabs_label=N_("Scheduler"),
    source=RowSource(_jobs, (RowFilter("state", N_("State"), lambda visit: STATES), KIND)),
))  # fmt: skip


@page("GET", BASE, "admin")
def show(visit: Visit) -> PageResponse:
    """A page of jobs, failed ones first. Raises Invalid for an unknown state or kind."""
    return row_view.page(
        visit,
        JOB_LIST,
        "jobs.html",
        states=STATES[1:],
        counts=scheduled_jobs.counts(visit.ctx),
        pictures=upkeep_charts.jobs(visit),
    )


# -- how they went -----------------------------------------------------------------------------------------------------


def _runs(visit: Visit, query: RowQuery) -> RowPage:
    runs, total = scheduled_jobs.runs(visit.ctx, query.filters["kind"], query.limit, query.page, sort=query.sort)
    return RowPage([asdict(each) | {"id": each.job_id, "is_late": each.is_late} for each in runs], total)


def _begun(visit: Visit, row: Mapping[str, Any], more: Any) -> str:
    """When, and that it was late."""
    begun = ui.when(visit, row["began_at"])
    if not row["is_late"]:
        return begun
    due = Markup('<span class="muted">{} {}</span>').format(_("due"), ui.when(visit, row["due_at"]))
    return Markup("<div>{}<br>{} {}</div>").format(begun, ui.badge("warn", _("ran late")), due)


RUN_LIST = declare(Worklist(
    "job-history", RUNS, N_("Job history"), ("kind", "result", "began_at", "ms", "attempt", "error"),
    own=(
        ListColumn("kind", N_("Job"), _named, "kind", value=_kind),
        ListColumn("result", N_("Result"), lambda visit, row, more: (
            ui.badge("err", _("failed")) if row["error"] else ui.badge("ok", _("done"))),
            value=lambda row, more: "failed" if row["error"] else "done"),
        ListColumn("began_at", N_("Started"), _begun, "began_at"),
        ListColumn("due_at", N_("Due"), lambda visit, row, more: ui.when(visit, row["due_at"]), "due_at", is_time=True),
        ListColumn("ms", N_("Duration"), lambda visit, row, more: f"{row['ms']} ms", "ms", "number"),
        ListColumn("attempt", N_("Attempt"), lambda visit, row, more: str(row["attempt"]), "attempt",
                   "number"),
        ListColumn("error", N_("Error"), _error),
    ),
    heading=N_("Scheduler"), empty=N_("No job has run yet."),
    none=N_("No job of this kind has run yet."), tabs=tuple(TABS), tabs_label=N_("Scheduler"),
    source=RowSource(_runs, (KIND,)),
))  # fmt: skip


@page("GET", RUNS, "admin")
def show_runs(visit: Visit) -> PageResponse:
    """The past runs of jobs, newest first. Raises Invalid for an unknown kind."""
    subtitle = _("Job history: the last {kept} of each kind", kept=job_queue.MAX_RUNS)
    return row_view.page(visit, replace(RUN_LIST, subtitle=subtitle))
