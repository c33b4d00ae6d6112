"""Draws the widgets and lists of a tab, each by itself, with the rights of the worker who looks at them. What they hold
was written by others: it is escaped, and their texts are cleaned and shown in a frame."""

from collections.abc import Callable, Mapping
from typing import Any

from markupsafe import Markup

from console.html.form import sentence
from console.html.templates import fragment
from console.http.visit import Visit
from console.pages.workspaces import (
    behavior_widgets,
    board,
    chart_widgets,
    interaction_pages,
    list_widgets,
    map_widgets,
    record_widgets,
    time_widgets,
)
from console.pages.workspaces.drawing import (
    Drawing,
    filled,
    listed_type,
    muted,
    params_of,
    rendered_search,
    wrong,
)
from console.pages.workspaces.widget_kinds import WidgetKind, kind_of
from server.automation import bindings, widget_runs
from server.dataclass import dataclass
from server.errors import HelpdeskError, NotFound, TimedOut, Unavailable
from server.markup import clean_html, markdown_to_html
from server.people.workspace_pages import BASE, SHOWN
from server.translation import _

PAGE_SECONDS = 1.5  # time for the widgets of a page; later ones are loaded one by one
TEXT_KEYS = ("content", "template", "text")  # parameters with a text; packages of several versions name it differently
Drawer = Callable[[Visit, WidgetKind, Mapping[str, Any], Drawing], tuple[Markup, bool]]


@dataclass(frozen=True)
class Drawn:
    """A widget or a list as it is shown. id: of its element. width: in quarters of the row. html: its content.
    is_whole: whether html includes heading and frame. path: of a page with this widget alone, if it is not drawn yet.
    settings: path of its form, for one that shows nothing."""

    id: str
    label: str
    width: int
    html: Markup
    is_whole: bool = False
    path: str = ""
    settings: str = ""


def draw(visit: Visit, widget: Mapping[str, Any], drawing: Drawing) -> Drawn:
    """Draws one widget, or the error in its place."""
    label = str(widget["label"])
    id, width = f"widget{widget['id']}", min(max(int(widget["width_units"] or 4), 1), 4)
    kind = kind_of(str(widget["extension_id"]))
    if kind is None:
        text = _("Widgets of the kind {kind} are not drawn here.", kind=str(widget["extension_id"]))
        return Drawn(id, label, width, muted(text), settings=f"{BASE}/widgets/{widget['id']}")
    path = visit.with_query(f"{SHOWN}/widgets/{widget['id']}")
    if drawing.is_spent:
        return Drawn(id, label, width, Markup(), path=path)
    settings = f"{BASE}/widgets/{widget['id']}"
    try:
        html, is_whole = drawn(visit, kind, widget, drawing)
    except HelpdeskError as error:
        if isinstance(error, TimedOut) and drawing.left is not None:
            return Drawn(id, label, width, Markup(), path=path)
        return Drawn(id, label, width, wrong(error), settings=settings)
    return Drawn(id, label, width, html, is_whole, settings=settings if kind.missing else "")


def drawn(visit: Visit, kind: WidgetKind, widget: Mapping[str, Any], drawing: Drawing) -> tuple[Markup, bool]:
    """The HTML of a widget, and whether it has a heading and a frame of its own. Raises the errors of its query."""
    return _DRAWERS[kind.draws](visit, kind, widget, drawing)


def draw_list(visit: Visit, found: Mapping[str, Any], drawing: Drawing) -> Drawn:
    """One list of a tab of lists."""
    id, label, path = f"list{found['id']}", str(found["name"]), visit.with_query(f"{SHOWN}/lists/{found['id']}")
    if drawing.is_spent:
        return Drawn(id, label, 4, Markup(), path=path)
    try:
        html = list_widgets.tab_list(visit, found, drawing)
    except HelpdeskError as error:
        if isinstance(error, TimedOut) and drawing.left is not None:
            return Drawn(id, label, 4, Markup(), path=path)
        return Drawn(id, label, 4, wrong(error), settings=f"{BASE}/lists/{found['id']}")
    return Drawn(id, label, 4, html)


def source_of(widget: Mapping[str, Any]) -> str:
    """The text of a widget as it was written, "" for none."""
    params = params_of(widget)
    return next((str(params[name]) for name in TEXT_KEYS if params.get(name)), "")


def text_of(visit: Visit, widget: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """The text of a widget as clean HTML, for a frame. values: of the filters of its tab. Raises NotFound for a widget
    without one."""
    kind = kind_of(str(widget["extension_id"]))
    if kind is not None and kind.draws == "automations":
        return _automation_html(visit, widget)
    if kind is None or kind.draws not in ("text", "html"):
        raise NotFound(_("The widget has no text."))
    source = source_of(widget)
    is_html = kind.draws == "html"
    text = filled(visit, source, values, is_html=is_html)
    return clean_html(text) if is_html else markdown_to_html(text)


def _automation_html(visit: Visit, widget: Mapping[str, Any]) -> str:
    """The HTML that the automation of a widget returns, cleaned, or the error in its place."""
    try:
        return clean_html(widget_runs.widget_html(visit.ctx, widget))
    except Unavailable:
        raise
    except HelpdeskError as error:
        return str(Markup("<p>{}</p>").format(sentence(error.message)))


# -- kinds -------------------------------------------------------------------------------------------------------------


def _board(visit: Visit, kind: WidgetKind, widget: Mapping[str, Any], drawing: Drawing) -> tuple[Markup, bool]:
    params = params_of(widget)
    record_type = listed_type(visit, str(params.get("context") or ""))
    query = rendered_search(visit, widget, drawing)
    return board.board(visit, widget, record_type, query, str(params.get("field") or ""), drawing.left), False


def _framed(visit: Visit, kind: WidgetKind, widget: Mapping[str, Any], drawing: Drawing) -> tuple[Markup, bool]:
    if not source_of(widget).strip():
        return muted(_("There is no text yet.")), False
    return _frame(visit, widget), False


def _automations(visit: Visit, kind: WidgetKind, widget: Mapping[str, Any], drawing: Drawing) -> tuple[Markup, bool]:
    """A frame, whose request runs the automation: it takes no time of the page. Raises KataSyntax."""
    if not bindings.entries(str(params_of(widget).get(kind.kata) or "")):
        return muted(_("There is no automation yet.")), False
    return _frame(visit, widget), False


def _frame(visit: Visit, widget: Mapping[str, Any]) -> Markup:
    source = visit.with_query(f"{SHOWN}/texts/{widget['id']}")
    return Markup(fragment("parts/widget_text.html", label=str(widget["label"]), source=source))


_DRAWERS: dict[str, Drawer] = {
    "number": chart_widgets.number,
    "lines": chart_widgets.over_axis,
    "columns": chart_widgets.over_axis,
    "shares": chart_widgets.shares,
    "points": chart_widgets.points,
    "table": chart_widgets.table,
    "kata": chart_widgets.kata,
    "tree": behavior_widgets.tree,
    "map": map_widgets.points_on_map,
    "blocks": chart_widgets.blocks,
    "old": chart_widgets.old,
    "sheet": record_widgets.sheet,
    "record": record_widgets.fields,
    "interactions": interaction_pages.offered,
    "automations": _automations,
    "missing": record_widgets.missing,
    "clock": time_widgets.clock,
    "countdown": time_widgets.countdown,
    "calendar": time_widgets.calendar,
    "list": list_widgets.widget_list,
    "board": _board,
    "text": _framed,
    "html": _framed,
}
