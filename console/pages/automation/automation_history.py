"""The versions of an automation, and the records that use it."""

from typing import Any

from console.html import diffs
from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from console.pages.automation.automations import BASE, LABELS, URI
from server.automation import history, uses
from server.automation.versions import MAX_VERSIONS, TEXTS
from server.errors import HelpdeskError, KataSyntax, NotFound
from server.kata import parse
from server.translation import _

# Where the console shows records that may use an automation.
PATHS = {"automation": "/automations/", "webhook_listener": "/automations/webhooks/"}
TIMERS = "/admin/jobs/timers"


@page("GET", f"{BASE}/{{id}}/history", "admin")
def show_history(visit: Visit) -> PageResponse:
    """The versions of an automation. `version` shows one, compared with the one before or with now; `node` marks the
    line of a command in it, as a path such as start:log."""
    return _history(visit, Form())


@page("POST", f"{BASE}/{{id}}/restore", "admin")
def restore(visit: Visit) -> PageResponse:
    """Bring a version back, as one more change."""
    lookup.record(visit, URI, visit.id)
    number = visit.form.id("version", required=True)
    try:
        before = history.restore(visit.ctx, visit.id, number)
    except HelpdeskError as error:
        return _history(visit, Form().refuse(error), number)
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
    return f"{PATHS[use.uri]}{use.id}" if use.uri in PATHS else ""


def _history(visit: Visit, form: Form, number: int = 0) -> PageResponse:
    record = lookup.record(visit, URI, visit.id)
    listed = history.list_versions(visit.ctx, visit.id)
    number = number or visit.query.id("version", 0)
    against = "now" if visit.query.text("against", "before") == "now" else "before"
    shown: dict[str, Any] | None = None
    if number:
        try:
            shown = _compared(visit, record, [each.number for each in listed], number, against)
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
        number=number,
        against=against,
        most=MAX_VERSIONS,
    )


def _compared(visit: Visit, record: dict[str, Any], known: list[int], number: int, against: str) -> dict[str, Any]:
    """A version: its script by lines, and what differs in each field. Raises NotFound."""
    texts = history.texts(visit.ctx, visit.id, number)
    older, node = next((each for each in known if each < number), 0), visit.query.text("node", "")
    # Who comes for a line wants no comparison, and the first version has nothing to be compared with.
    is_compared = not node and bool(older or against == "now")
    if against == "now":
        old, new = texts, record
    else:
        old, new = (history.texts(visit.ctx, visit.id, older) if older else {}), texts
    differing = {
        LABELS[name]: diffs.compared(str(old.get(name, "")), str(new[name]))
        for name in TEXTS
        if is_compared and old.get(name, "") != new[name]
    }
    return {
        "lines": texts["script"].split("\n"),
        "marked": _line(texts["script"], node),
        "differing": differing,
        "is_compared": is_compared,
        "older": older,
    }


def _line(script: str, node: str) -> int:
    """The line of a command, from 1; 0 if it is not found."""
    try:
        return parse(script).lines.get(node, -1) + 1 if node else 0
    except KataSyntax:
        return 0
