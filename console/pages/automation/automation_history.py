"""The versions of an automation, and the records that use it."""

from console.html import diffs
from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from console.pages.automation.automations import BASE, LABELS, URI
from server.automation import history, uses
from server.errors import HelpdeskError, NotFound
from server.people import project_boards
from server.record_types.boards.board_columns import BOARD, COLUMN
from server.record_types.shared.record_versions import MAX_VERSIONS
from server.translation import _

# Where the console shows records that may use an automation.
PATHS = {"automation": "/automations/", "webhook_listener": "/automations/webhooks/"}
TIMERS = "/admin/jobs/timers"


@page("POST", f"{BASE}/{{id}}/restore", "admin")
def restore(visit: Visit) -> PageResponse:
    """Bring a version back, as one more change."""
    lookup.record(visit, URI, visit.id)
    number = visit.form.id("version", required=True)
    try:
        before = history.restore(visit.ctx, visit.id, number)
    except HelpdeskError as error:
        return show_history(visit, Form().refuse(error), number)
    path = f"{BASE}/{visit.id}"
    visit.flash(_("Version {number} restored.", number=number), f"{path}/restore", version=str(before))
    return see(f"{path}/history")


@page("GET", f"{BASE}/{{id}}/uses", "admin")
def show_uses(visit: Visit) -> PageResponse:
    """The records that name an automation."""
    record = lookup.record(visit, URI, visit.id)
    registry = visit.service.registry
    found = [
        {"label": each.label, "type": registry.type(each.uri).label_names[0], "path": _path(each)}
        for each in uses.uses_of(visit.ctx, record["name"])
    ]
    return render(visit, "automation_uses.html", record=record, found=found, most=uses.MAX_USES)


def _path(use: uses.AutomationUse) -> str:
    if use.uri == "automation_timer":
        return TIMERS
    if use.uri in (BOARD, COLUMN):
        return f"{project_boards.BASE if use.uri == BOARD else project_boards.COLUMNS}/{use.id}/edit"
    return f"{PATHS[use.uri]}{use.id}" if use.uri in PATHS else ""


@page("GET", f"{BASE}/{{id}}/history", "admin")
def show_history(visit: Visit, form: Form | None = None, number: int = 0) -> PageResponse:
    """The versions of an automation. `version` shows one, compared with the one before or with now; `node` marks the
    line of a command in it, as a path such as start:log."""
    form = form or Form()
    record = lookup.record(visit, URI, visit.id)
    listed = history.list_versions(visit.ctx, visit.id)
    number = number or visit.query.id("version", 0)
    against = "now" if visit.query.text("against", "before") == "now" else "before"
    shown, differing = None, {}
    if number:
        try:
            node = visit.query.text("node", "")
            shown = history.compare(visit.ctx, record, number, is_with_now=against == "now", node=node)
            differing = {LABELS[name]: diffs.compared(*texts) for name, texts in shown.differing.items()}
        except NotFound as error:
            form.refuse(error)
    return render(
        visit,
        "automation_history.html",
        record=record,
        listed=listed,
        form=form,
        labels=LABELS,
        shown=shown,
        differing=differing,
        number=number,
        against=against,
        most=MAX_VERSIONS,
    )
