"""The automation log: what scripts wrote down, searched as the API does. Source: Automation logs."""

from console.rendering import render
from console.routes import page
from console.shown import Shown
from console.ui import PAGE_ROWS
from console.visit import Visit
from server.desk import automation_log, records
from server.errors import BadQuery

LEVELS = [("", "Every level"), ("error", "Errors"), ("warning", "Warnings"), ("debug", "Notes")]
KINDS = {"emergency": "err", "alert": "err", "critical": "err", "error": "err", "warning": "warn", "notice": "info",
         "info": "info", "debug": "muted"}  # fmt: skip


@page("GET", "/automations/log", "admin")
def show(visit: Visit) -> Shown:
    """A page of the log, newest first."""
    q, level = visit.query.text("q", "").strip(), visit.query.text("level", "")
    page_number = visit.query.integer("page", 1, 1, records.MAX_PAGE)
    asked = f"{q} level:{level}".strip() if level in dict(LEVELS) and level else q
    wrong = ""
    try:
        found = automation_log.search(visit.ctx, asked, PAGE_ROWS, page_number - 1)
    except BadQuery as error:
        found, wrong = {"results": [], "total": 0}, error.message
    return render(
        visit, "log.html", 422 if wrong else 200, found=found, wrong=wrong, q=q, level=level, asked=asked,
        page=page_number, levels=LEVELS, kinds=KINDS, days=automation_log.KEPT_DAYS,
    )  # fmt: skip
