"""The automation log: what scripts wrote down, searched as the API does, by run and by level."""

from collections.abc import Iterable
from typing import Any

from console.html.rendering import render
from console.html.ui import PAGE_ROWS, address
from console.http import live
from console.http.page_response import INVALID, PageResponse
from console.http.routes import page
from console.http.visit import Visit
from console.lists import exports
from console.pages.upkeep.system import SETTINGS
from server.automation import log_search
from server.automation.types.automation_log import CHANNEL
from server.automation.types.automation_log import LEVELS as LEVEL_NAMES
from server.errors import BadQuery
from server.records import records
from server.records.data_exports import log_export
from server.translation import N_

BASE = "/automations/log"
LEVELS = [
    ("", N_("All levels")),
    ("warning,error", N_("Errors and warnings")),
    ("error", N_("Errors")),
    ("warning", N_("Warnings")),
    ("debug", N_("Notes")),
]
KINDS = {
    "emergency": "err",
    "alert": "err",
    "critical": "err",
    "error": "err",
    "warning": "warn",
    "notice": "info",
    "info": "info",
    "debug": "muted",
}
PARTS = 60  # bars of the histogram
MAX_EXPORTED = 10_000  # entries in one file, the newest
FILTERS = (
    ('automation:(name:"shop.echo" node:"start:*")', N_("from an automation, at a place; * matches anything")),
    ("level:[warning,error]", N_("of these levels; level:!debug excludes one")),
    ('created:"-1 day to now"', N_("from a period")),
    ("message:*late*", N_("containing a word")),
    ("id:>100", N_("by ID")),
)


@page("GET", BASE, "admin")
def show(visit: Visit) -> PageResponse:
    """A page of the log, newest first: its entries, or with `group=run` its runs; `run` shows the entries of one."""
    q, level = visit.query.text("q", "").strip(), visit.query.text("level", "")
    run_id, is_grouped = visit.query.id("run", 0), visit.query.text("group", "") == "run"
    number = visit.query.integer("page", 1, 1, records.MAX_PAGE)
    filters = _asked(visit)
    last_id = log_search.newest(visit.ctx)  # read first, so that later entries are announced
    values: dict[str, Any] = {"entries": [], "runs": [], "total": 0}
    wrong = ""
    try:
        if is_grouped and not run_id:
            values["runs"], values["total"] = log_search.runs(visit.ctx, filters, PAGE_ROWS, number - 1)
        else:
            values["entries"], values["total"] = log_search.entries(visit.ctx, filters, PAGE_ROWS, number - 1, run_id)
        if values["total"]:
            values["histogram"] = log_search.histogram(visit.ctx, filters, PARTS, run_id)
    except BadQuery as error:
        wrong = error.message
    names = {each["automation_name"] for each in values["entries"]} | {each.name for each in values["runs"]}
    return render(
        visit,
        "log.html",
        INVALID if wrong else 200,
        wrong=wrong,
        q=q,
        level=level,
        asked=filters,
        page=number,
        levels=LEVELS,
        kinds=KINDS,
        level_names=LEVEL_NAMES,
        days=visit.service.settings.automation_log_days,
        change_days=f"{SETTINGS}/automation_log_days",
        filters=FILTERS,
        most=log_search.MAX_KEPT,
        counted=log_search.MAX_COUNTED,
        run_id=run_id,
        is_grouped=is_grouped,
        ids=_ids(visit, names),
        is_live=visit.query.flag("live"),
        last_id=last_id,
        exports=_exports(q, level, run_id),
        **values,
    )


@page("GET", f"{BASE}/latest", "admin")
def show_latest(visit: Visit) -> PageResponse:
    """For the list that stays live: the newest entry."""
    return live.latest(visit, CHANNEL, log_search.newest)


@page("GET", f"{BASE}/export", "admin")
def export(visit: Visit) -> PageResponse:
    """The entries that a search finds as a file; `format` is one of exports.FORMATS. Raises NotFound, BadQuery."""
    format = visit.query.text("format", "csv")
    if format not in exports.FORMATS:
        raise exports.no_such_format(format)
    if visit.request.method != "HEAD":
        log_export(visit.ctx, "the automation log")
    entries = log_search.entries(visit.ctx, _asked(visit), MAX_EXPORTED, 0, visit.query.id("run", 0))[0]
    names = ("id", "created_at", "level", "automation_name", "automation_node", "message", "run_id")
    rows = [{**each, "level": LEVEL_NAMES[each["level"]]} for each in entries]
    lines = [{name: row[name] for name in names} for row in rows]
    return exports.file(visit, format, "automation-log", names, lines, ["created_at"])


def _exports(q: str, level: str, run_id: int) -> dict[str, str]:
    """The addresses of the export in each format, {format: path}."""
    asked = {"q": q, "level": level, "run": run_id or ""}
    return {each: address(f"{BASE}/export", **asked, format=each) for each in exports.FORMATS}


def _asked(visit: Visit) -> str:
    """The search that the address asks for, with the level that was chosen."""
    q, level = visit.query.text("q", "").strip(), visit.query.text("level", "")
    return f"{q} level:[{level}]".strip() if level and level in dict(LEVELS) else q


def _ids(visit: Visit, names: Iterable[str]) -> dict[str, int]:
    """The automations of these names, by name in small letters: those that there still are."""
    ids = log_search.ids_of(visit.ctx, [name for name in names if name])
    return {name.lower(): id for name, id in ids.items()}
