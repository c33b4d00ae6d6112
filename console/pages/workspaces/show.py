"""Shows workspace pages: their tabs, and the widgets and lists on a tab."""

from collections.abc import Mapping, Sequence
from typing import Any

from console.html import ui
from console.html.rendering import render
from console.html.samples import Sample
from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit
from console.lists import worklist
from console.lists.worklist import Worklist, declare
from console.pages.snippets import OWNER
from console.pages.workspaces import widgets
from console.pages.workspaces.drawing import Drawing
from console.pages.workspaces.layouts import LAYOUTS, LISTS_TAB, layout_of, main_zone
from console.pages.workspaces.tab_filters import TabFilters
from console.pages.workspaces.widgets import Drawn
from console.tickets.frames import document_of, framed
from server.dataclass import dataclass
from server.errors import HelpdeskError
from server.people import workspace_pages
from server.people.workspace_pages import BASE, LIST, SHOWN, TAB, URI, WIDGET
from server.records import records
from server.translation import N_

PAGES = declare(
    Worklist(
        URI,
        BASE,
        N_("Pages"),
        ("_label", "owner", "updated_at"),
        own=(OWNER,),
        sort="name",
        changes="worker",
        none=N_("No page matches."),
        empty=N_("No pages yet. A page shows numbers, charts and lists of your choice to you or your team."),
        new=(f"{BASE}/new", N_("New page")),
        row=f"{SHOWN}/{{id}}",
    )
)


@dataclass(frozen=True)
class Zone:
    """A part of a tab. is_side: whether it is a narrow one."""

    name: str
    is_side: bool
    widgets: Sequence[Drawn]


@page("GET", BASE)
def show_list(visit: Visit) -> PageResponse:
    """The pages that the worker may read."""
    return worklist.page(visit, PAGES)


@page("GET", f"{SHOWN}/{{id}}")
def show(visit: Visit) -> PageResponse:
    """A page with the tab that the address names, or its first one. Raises NotFound, Forbidden."""
    found = records.retrieve(visit.ctx, URI, visit.id, "tabs")
    tabs = found["tabs"]
    wanted = visit.query.integer("tab", 0, 0, 2**62)
    tab = next((each for each in tabs if each["id"] == wanted), tabs[0] if tabs else None)
    filters, mistake = _filters(visit, tab["params"] if tab is not None else {})
    drawing = Drawing(widgets.PAGE_SECONDS, filters.values if filters is not None else {})
    return render(
        visit,
        "workspace.html",
        page=found,
        tabs=tabs,
        tab=tab,
        filters=filters if filters is not None and filters.all else None,
        mistake=mistake,
        zones=_zones(visit, tab, drawing) if tab is not None else (),
        layout=layout_of(tab) if tab is not None else "",
        may_edit=records.may(visit.ctx, URI, "update", visit.id),
        sample=Sample("GET", f"/rest/records/{URI}/{visit.id}.json", [("expand", "widgets,worklists")]),
    )


@page("GET", f"{SHOWN}/widgets/{{id}}")
def show_widget(visit: Visit) -> PageResponse:
    """One widget on a page of its own, without the time limit of a whole page. Raises NotFound, Forbidden."""
    widget = records.retrieve(visit.ctx, WIDGET, visit.id, "tab_")
    return _alone(visit, WIDGET, widgets.draw(visit, widget, Drawing(None, _values(visit, widget))), widget)


@page("GET", f"{SHOWN}/lists/{{id}}")
def show_one_list(visit: Visit) -> PageResponse:
    """One list alone. Raises NotFound, Forbidden."""
    found = records.retrieve(visit.ctx, LIST, visit.id, "tab_")
    [stored] = workspace_pages.lists(visit.ctx, f"id:{visit.id}")
    return _alone(visit, LIST, widgets.draw_list(visit, stored, Drawing(None)), found)


@page("GET", f"{SHOWN}/texts/{{id}}")
def show_text(visit: Visit) -> PageResponse:
    """The text of a widget, for its frame. Raises NotFound, Forbidden, TooLarge."""
    widget = records.retrieve(visit.ctx, WIDGET, visit.id, "tab_")
    return framed(document_of(visit, widgets.text_of(visit, widget, _values(visit, widget))))


def _filters(visit: Visit, tab_params: object) -> tuple[TabFilters | None, str]:
    """Returns the filters of a tab, or None and the error in them."""
    try:
        return TabFilters(visit, tab_params), ""
    except HelpdeskError as error:
        return None, ui.sentence(error.message)


def _values(visit: Visit, widget: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values of the filters of the tab of a widget."""
    filters, _mistake = _filters(visit, widget["tab_params"])
    return filters.values if filters is not None else {}


def _alone(visit: Visit, uri: str, drawn: Drawn, record: Mapping[str, Any]) -> PageResponse:
    """A page with a widget or a list. record: with its tab."""
    return render(
        visit,
        "workspace_widget.html",
        widget=drawn,
        tab=record["tab_name"],
        may_edit=records.may(visit.ctx, uri, "update", visit.id),
        back=f"{SHOWN}/{record['tab_page_id']}?tab={record['tab_id']}",
        sample=Sample("GET", f"/rest/records/{uri}/{visit.id}.json"),
    )


def _zones(visit: Visit, tab: Mapping[str, Any], drawing: Drawing) -> list[Zone]:
    """Returns the content of a tab. Widgets of unknown zones are in its main one."""
    if tab["extension_id"] == LISTS_TAB:
        found = workspace_pages.lists(visit.ctx, f"tab.id:{tab['id']}")
        return [Zone("content", False, [widgets.draw_list(visit, each, drawing) for each in found])]
    names, main = LAYOUTS[layout_of(tab)], main_zone(layout_of(tab))
    found = records.retrieve(visit.ctx, TAB, tab["id"], "widgets")["widgets"]
    by_zone: dict[str, list[Drawn]] = {name: [] for name in names}
    for each in found:
        zone = each["zone"] if each["zone"] in by_zone else main
        by_zone[zone].append(widgets.draw(visit, each, drawing))
    return [Zone(name, name == "sidebar", drawn) for name, drawn in by_zone.items()]
