"""The head of a record's pages: its label, its actions and its tabs."""

from typing import Any

from console.forms import record_parts
from console.http.visit import Visit
from console.pages.jump import place_of
from server.people import merging, project_boards, workspace_pages
from server.record_types.boards.board_columns import BOARD, COLUMN
from server.record_types.shared import paths
from server.records import records, sheet
from server.records.sheet import Sheet
from server.translation import _, pgettext

TASK, CALENDAR = "task", "calendar"


def read(visit: Visit) -> Sheet:
    """The record that the path names. Raises NotFound, Forbidden, NotOffered."""
    return sheet.sheet(visit.ctx, visit.service.registry.type(visit.arguments["type"]).uri, visit.id)


def head(visit: Visit, sheet: Sheet) -> dict[str, Any]:
    """The values for the templates."""
    page = paths.record(sheet.type.uri, sheet.id)
    tabs = [(page, _("Overview")), (f"{page}/activity", pgettext("log", "Activity")), (f"{page}/raw", _("Raw data"))]
    if sheet.type.uri == CALENDAR:
        tabs.insert(1, (f"{page}/holidays", _("Holidays")))
    return {
        "found": sheet,
        "ways": _ways(visit, sheet),
        "parts": record_parts,
        "tabs": tabs,
        "done": _done(visit, sheet),
    }


def _ways(visit: Visit, sheet: Sheet) -> dict[str, str]:
    """The paths of the acts edit, delete, merge and show; "" or absent if the worker may not, or if there is none."""
    uri, id = sheet.type.uri, sheet.id
    own = place_of(visit, uri, id)
    if own:
        return {"edit": own if records.may(visit.ctx, uri, "update", id) else "", "delete": ""}
    ways = {"edit": "update", "delete": "delete"}
    paths_by_name = {
        way: f"/records/{uri}/{id}/{way}" if records.may(visit.ctx, uri, operation, id) else ""
        for way, operation in ways.items()
    }
    if uri == workspace_pages.URI:
        paths_by_name["show"] = workspace_pages.path_of(id)
    if uri in (BOARD, COLUMN):
        paths_by_name["show"] = project_boards.path_of(id if uri == BOARD else sheet.keys["board_id"])
        form = f"{project_boards.BASE if uri == BOARD else project_boards.COLUMNS}/{id}/edit"
        paths_by_name["edit"] = paths_by_name["edit"] and form
    is_merged = uri in merging.OFFERED and all(paths_by_name.values())
    return paths_by_name | ({"merge": f"/records/{uri}/{id}/merge"} if is_merged else {})


def _done(visit: Visit, sheet: Sheet) -> str:
    """The value of a task's button: `1` to complete it, `0` to open it again; "" if there is no button."""
    if sheet.type.uri != TASK or not records.may(visit.ctx, TASK, "update", sheet.id):
        return ""
    return "0" if sheet.keys["is_completed"] else "1"
