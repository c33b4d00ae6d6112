"""What runs from time to time: when it ran last and runs next, and whether it is on."""

from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import row_view
from console.lists.cells import DrawnColumns
from console.lists.rows import RowPage, RowQuery, RowSource, of_all
from console.lists.worklist import PAGE_SIZES, BulkAction, Worklist, declare
from console.pages.automation.jobs import SCANS, TABS
from server.jobs import scheduler
from server.translation import N_, N_ngettext, _, shown
from server.upkeep import scheduled_jobs


def _rows(visit: Visit, query: RowQuery) -> RowPage:
    rows = [
        {
            "id": each.name,
            "_label": shown(each.name),
            "name": shown(each.name),
            "does": each.does,
            "is_on": each.is_on,
            "at": each.last.at if each.last else 0,
            "ms": each.last.ms if each.last else 0,
            "error": each.last.error if each.last else "",
            "next_at": each.next_at,
        }
        for each in scheduled_jobs.scans(visit.ctx)
    ]
    return of_all(rows, query)


_column = DrawnColumns("scans")
LIST = declare(Worklist(
    "maintenance-tasks", SCANS, N_("Maintenance tasks"), ("name", "state", "at", "ms", "next_at", "error", "do"),
    own=(
        _column("name", N_("Task"), "name"),
        _column("state", N_("State"), value=lambda row, more: "on" if row["is_on"] else "off"),
        _column("at", N_("Last run"), "at", is_time=True),
        _column("ms", N_("Duration"), "ms", "number"),
        _column("next_at", N_("Next run"), "next_at", is_time=True),
        _column("error", N_("Error")),
        _column("do", N_("Action")),
    ),
    actions=(
        BulkAction("off", N_("Switch off"), run=lambda visit, key: scheduled_jobs.switch_scan(visit.ctx, key, False),
                   confirm=N_("Switch off the selected tasks? Their work is not done until you switch them on again."),
                   says=N_ngettext("Task switched off.", "{count} tasks switched off.")),
        BulkAction("on", N_("Switch on"), run=lambda visit, key: scheduled_jobs.switch_scan(visit.ctx, key, True),
                   says=N_ngettext("Task switched on.", "{count} tasks switched on.")),
    ),
    sort="name", limit=PAGE_SIZES[-1], heading=N_("Scheduler"), subtitle=N_("Tasks that the service runs by itself"),
    tabs=TABS, tabs_label=N_("Scheduler"), source=RowSource(_rows),
))  # fmt: skip


@page("GET", SCANS, "admin")
def show(visit: Visit) -> PageResponse:
    """All that runs from time to time."""
    return row_view.page(visit, LIST, "scans.html", seconds=scheduler.SCAN_SECONDS, run_all=SCANS)


@page("POST", SCANS, "admin")
def run_all(visit: Visit) -> PageResponse:
    """Runs all periodic tasks at once."""
    scheduled_jobs.run_scans(visit.ctx)
    visit.flash(_("All tasks that are on run now."))
    return see(SCANS)


@page("POST", f"{SCANS}/switch", "admin")
def switch(visit: Visit) -> PageResponse:
    """Switch one of them on or off. Raises NotFound."""
    name, is_off = visit.form.text("name", ""), visit.form.flag("off")
    scheduled_jobs.switch_scan(visit.ctx, name, not is_off)
    off = _("“{name}” switched off. It stays off when the service restarts.", name=name)
    on = _("“{name}” switched on.", name=name)
    visit.flash(off if is_off else on, f"{SCANS}/switch", name=name, off="0" if is_off else "1")
    return see(SCANS)
