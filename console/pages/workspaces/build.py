"""Builds workspace pages: forms of pages, tabs, widgets and lists, their order, and what deletes them. They are the
records that packages bring."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from console.html import ui
from console.html.form import Form
from console.html.rendering import render
from console.html.samples import Sample
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists.list_moves import move_entry
from console.lists.lookup import LABEL
from console.pages.workspaces import list_widgets, tab_filters, widgets
from console.pages.workspaces.drawing import Drawing
from console.pages.workspaces.layouts import LAYOUTS, LISTS_TAB, layout_of, main_zone
from console.pages.workspaces.record_widgets import property_names
from console.pages.workspaces.tab_filters import TabFilters
from console.pages.workspaces.widget_kinds import KINDS, PREFIX, WidgetKind, kind_of
from server.errors import HelpdeskError, Invalid, KataSyntax, NotFound, TimedOut
from server.people import workspace_pages
from server.people.owner_choices import own, owner_choices, owner_label
from server.people.workspace_pages import BASE, LIST, SHOWN, TAB, URI, WIDGET, WorkspaceTabLink
from server.record_types.shared import record_owners
from server.records import records
from server.records.records import SearchRequest
from server.translation import N_, _, shown

PAGE_KIND, DASHBOARD = "core.workspace.page.workspace", "core.workspace.tab.dashboard"
TAB_KINDS = ((DASHBOARD, N_("Dashboard: numbers, charts, lists and texts")), (LISTS_TAB, N_("Lists only")))
LAYOUT_LABELS = {
    "": N_("One column"),
    "sidebar_left": N_("Narrow column at the start"),
    "sidebar_right": N_("Narrow column at the end"),
    "thirds": N_("Three columns"),
}
ZONE_LABELS = {
    "content": N_("Main column"),
    "sidebar": N_("Narrow column"),
    "left": N_("First column"),
    "center": N_("Second column"),
    "right": N_("Third column"),
}
WIDTHS = (("4", N_("Whole row")), ("3", N_("Three quarters")), ("2", N_("Half")), ("1", N_("A quarter")))
FIELDS = (
    *("tab", "kind", "label", "data_query", "of", "query", "field", "columns", "rows"),
    *("content", "width", "zone", "chart_as", "timezone", "target", "calendar", "date", "record", "kata"),
)
# The parameters of kinds that have a field for each: {what draws it: {field: parameter}}.
PARAMETERS = {
    "board": {"of": "context", "query": "query_required", "field": "field"},
    "calendar": {"calendar": "calendar_id", "of": "context", "query": "query_required", "date": "date_field"},
    "clock": {"timezone": "timezone"},
    "countdown": {"target": "target_timestamp"},
    "record": {"of": "context", "record": "context_id", "columns": "properties"},
    "tree": {"record": "behavior_id"},
}
FORM_BYTES = 256 * 1024
MAX_CALENDARS = 200  # to choose from
SECONDS = 5  # time limit of a new data query, which is run before it is stored
# The types of the parts of a page: {the part of the path: (type, the column of what it is on)}.
PARTS = {"tabs": (TAB, "page_id"), "widgets": (WIDGET, "tab_id"), "lists": (LIST, "tab_id")}


# -- pages ---------------------------------------------------------------------------------------------------------


@page("GET", f"{BASE}/new")
def show_new(visit: Visit) -> PageResponse:
    """The form of a new page. Raises Forbidden."""
    records.require(visit.ctx, URI, "create")
    return _page_form(visit, Form.from_values({"name": "", "owner": own(visit.ctx)}))


@page("POST", f"{BASE}/new", creates=True)
def create(visit: Visit) -> PageResponse:
    """Creates a page with one dashboard, and opens its form."""
    form = Form.sent(visit.form, ("name", "owner"))
    try:
        made = records.create(visit.ctx, URI, {"extension_id": PAGE_KIND, **_page_fields(visit, form)})
        tab = {"page_id": made["id"], "extension_id": DASHBOARD, "name": shown(N_("Overview"))}
        records.create(visit.ctx, TAB, tab)
    except HelpdeskError as error:
        return _page_form(visit, form.refuse(error, names={"owner__context": "owner", "owner_id": "owner"}))
    visit.flash(_("{name} created.", name=made["name"]))
    return see(f"{SHOWN}/{made['id']}")


@page("GET", f"{BASE}/{{id}}")
def show_page(visit: Visit) -> PageResponse:
    """The form of a page with its tabs. Raises NotFound, Forbidden."""
    found = _editable(visit, URI, visit.id, "tabs,owner_")
    owner = f"{found['owner__context']}:{found['owner_id']}"
    return _page_form(visit, Form.from_values({"name": found["name"], "owner": owner}), found)


@page("POST", f"{BASE}/{{id}}")
def save_page(visit: Visit) -> PageResponse:
    """Saves name and owner of a page."""
    form = Form.sent(visit.form, ("name", "owner"))
    found = _editable(visit, URI, visit.id, "tabs,owner_")
    try:
        records.update(visit.ctx, URI, visit.id, _page_fields(visit, form))
    except HelpdeskError as error:
        return _page_form(visit, form.refuse(error, names={"owner__context": "owner", "owner_id": "owner"}), found)
    visit.flash(_("{name} saved.", name=form.text("name")))
    return see(f"{BASE}/{visit.id}")


@page("POST", f"{BASE}/{{id}}/delete")
def delete_page(visit: Visit) -> PageResponse:
    """Deletes a page with its tabs. Raises NotFound, Forbidden."""
    name = records.retrieve(visit.ctx, URI, visit.id)["name"]
    records.delete(visit.ctx, URI, visit.id)
    visit.flash(_("{name} deleted.", name=name))
    return see(BASE)


def _page_fields(visit: Visit, form: Form) -> dict[str, Any]:
    context, id = record_owners.typed_owner(visit.service.registry, form.get("owner"), "owner")
    return {"name": form.text("name"), "owner__context": context, "owner_id": id}


def _page_form(visit: Visit, form: Form, found: Mapping[str, Any] | None = None) -> PageResponse:
    owners = list(owner_choices(visit.ctx))
    if found is not None:
        present = f"{found['owner__context']}:{found['owner_id']}"
        if present not in dict(owners):
            label = str(found.get("owner__label") or "")
            owners.append((present, owner_label(visit.ctx, found["owner__context"], found["owner_id"], label)))
    path = f"/rest/records/{URI}/{found['id']}.json" if found else f"/rest/records/{URI}/create.json"
    return render(
        visit,
        "workspace_page.html",
        form=form,
        page=found,
        owners=owners,
        kinds=[(value, shown(label)) for value, label in TAB_KINDS],
        new_tab=ui.filled(name="", extension_id=DASHBOARD),
        sample=Sample("PUT" if found else "POST", path, [("fields[name]", form.get("name") or "Support")]),
    )


# -- tabs ----------------------------------------------------------------------------------------------------------


@page("POST", f"{BASE}/{{id}}/tabs", creates=True)
def create_tab(visit: Visit) -> PageResponse:
    """Adds a tab to a page. Raises NotFound, Forbidden, Invalid, Conflict."""
    found = _editable(visit, URI, visit.id, "tabs")
    fields = {
        "page_id": visit.id,
        "name": visit.form.text("name", "").strip(),
        "extension_id": visit.form.text("extension_id", DASHBOARD),
        "pos": max((each["pos"] for each in found["tabs"]), default=-1) + 1,
    }
    tab = records.create(visit.ctx, TAB, fields)
    visit.flash(_("{name} created.", name=tab["name"]))
    return see(f"{BASE}/tabs/{tab['id']}")


@page("GET", f"{BASE}/tabs/{{id}}")
def show_tab(visit: Visit) -> PageResponse:
    """The form of a tab with what is on it. Raises NotFound, Forbidden."""
    tab = _editable(visit, TAB, visit.id)
    params = tab["params"] if isinstance(tab["params"], dict) else {}
    values = {"name": tab["name"], "layout": layout_of(tab), tab_filters.KATA: params.get(tab_filters.KATA)}
    return _tab_form(visit, tab, Form.from_values(values))


@page("POST", f"{BASE}/tabs/{{id}}", form_bytes=FORM_BYTES)
def save_tab(visit: Visit) -> PageResponse:
    """Saves name, layout and filters of a tab."""
    form, tab = Form.sent(visit.form, ("name", "layout", tab_filters.KATA)), _editable(visit, TAB, visit.id)
    params = {
        **(tab["params"] or {}),
        "layout": form.get("layout") if form.get("layout") in LAYOUTS else "",
        tab_filters.KATA: form.get(tab_filters.KATA).replace("\r\n", "\n"),
    }
    try:
        _require_filters(params)
        records.update(visit.ctx, TAB, visit.id, {"name": form.text("name"), "params": params})
    except HelpdeskError as error:
        return _tab_form(visit, tab, form.refuse(error))
    visit.flash(_("{name} saved.", name=form.text("name")))
    return see(f"{BASE}/tabs/{visit.id}")


def _require_filters(params: Mapping[str, Any]) -> None:
    """Raises the mistake in the filters of a tab, at their field."""
    try:
        tab_filters.read(params)
    except HelpdeskError as error:
        raise Invalid(error.message, field=tab_filters.KATA) from error


def _tab_form(visit: Visit, tab: Mapping[str, Any], form: Form) -> PageResponse:
    is_lists = tab["extension_id"] == LISTS_TAB
    if is_lists:
        rows = [(each, each["name"], _("List"), "") for each in workspace_pages.lists(visit.ctx, f"tab.id:{tab['id']}")]
    else:
        found = records.retrieve(visit.ctx, TAB, tab["id"], "widgets")["widgets"]
        rows = [(each, each["label"], _kind_label(each), _zone_label(tab, each)) for each in found]
    return render(
        visit,
        "workspace_tab.html",
        form=form,
        tab=tab,
        part="lists" if is_lists else "widgets",
        groups=[list(group) for _zone, group in groupby(rows, lambda row: row[0].get("zone"))],
        has_zones=len(LAYOUTS[layout_of(tab)]) > 1 and not is_lists,
        layouts=[] if is_lists else [(value, shown(label)) for value, label in LAYOUT_LABELS.items()],
        sample=Sample("PUT", f"/rest/records/{TAB}/{tab['id']}.json", [("fields[name]", form.get("name"))]),
    )


def _kind_label(widget: Mapping[str, Any]) -> str:
    kind = kind_of(str(widget["extension_id"]))
    return shown(kind.label) if kind is not None else str(widget["extension_id"])


def _zone_label(tab: Mapping[str, Any], widget: Mapping[str, Any]) -> str:
    layout = layout_of(tab)
    return shown(ZONE_LABELS[widget["zone"] if widget["zone"] in LAYOUTS[layout] else main_zone(layout)])


# -- widgets and lists ---------------------------------------------------------------------------------------------


@page("GET", f"{BASE}/add")
def choose_kind(visit: Visit) -> PageResponse:
    """The kinds of widgets to choose from, or the form of a new widget of a kind. tab: where it goes; kind: its kind.
    Other values fill in the form, as links from data queries and searches do. Raises NotFound, Forbidden."""
    tabs = workspace_pages.own_tabs(visit.ctx)
    form = Form.from_values({name: visit.query.text(name, "") for name in FIELDS})
    if not tabs:
        return render(visit, "workspace_add.html", tabs=(), kinds=(), values={})
    known = {str(each.id): each for each in tabs}
    if form.get("tab") not in known:
        form.values["tab"] = str(tabs[0].id)
    if known[form.get("tab")].kind == LISTS_TAB:
        form.values["kind"] = "worklist"
    kind = KINDS.get(form.get("kind"))
    if kind is None:
        values = {name: text for name, text in form.values.items() if text and name != "kind"}
        offered = [each for each in KINDS.values() if each.about and (each.has_query or not form.get("data_query"))]
        kinds = [(each, ui.address(f"{BASE}/add", **values, kind=each.name)) for each in offered]
        return render(visit, "workspace_add.html", tabs=tabs, kinds=kinds, values=values)
    defaults = {
        "data_query": kind.example,
        "of": "task" if kind.draws == "calendar" else "ticket",
        "rows": "10",
        "field": "status",
        "date": "due",
        "width": "4" if kind.is_wide else "2",
    }
    for name, text in defaults.items():
        form.values[name] = form.get(name) or text
    return _widget_form(visit, form, kind, tabs=tabs)


@page("POST", f"{BASE}/add", form_bytes=FORM_BYTES, creates=True)
def add(visit: Visit) -> PageResponse:
    """Creates a widget, or a list on a tab of lists, and shows its tab. Raises NotFound, Forbidden."""
    form = Form.sent(visit.form, FIELDS)
    kind = KINDS.get(form.get("kind"))
    if kind is None:
        raise NotFound(_("There is no such kind of widget."))
    tab = _editable(visit, TAB, visit.form.id("tab", required=True))
    try:
        _store(visit, form, kind, tab, None)
    except HelpdeskError as error:
        return _widget_form(visit, _refused(form, error), kind, tabs=workspace_pages.own_tabs(visit.ctx))
    visit.flash(_("{name} created.", name=form.text("label")))
    return see(f"{SHOWN}/{tab['page_id']}?tab={tab['id']}")


@page("GET", f"{BASE}/widgets/{{id}}")
def show_widget(visit: Visit) -> PageResponse:
    """The form of a widget. Raises NotFound, Forbidden."""
    widget = _editable(visit, WIDGET, visit.id)
    params, kind = widget["params"] or {}, kind_of(str(widget["extension_id"]))
    columns = params.get("columns")
    query = " ".join(filter(None, (str(params.get(name) or "") for name in ("query_required", "query"))))
    form = Form.from_values(
        {
            "tab": widget["tab_id"],
            "kind": kind.name if kind else "",
            "label": widget["label"],
            "query": query,
            "data_query": params.get("data_query"),
            "of": _uri(visit, params.get("context")),
            "zone": widget["zone"],
            "columns": ", ".join(property_names(params.get("properties") or columns)),
            "width": widget["width_units"],
            "rows": params.get("render_limit") or "10",
            "field": params.get("field"),
            "content": widgets.source_of(widget),
            "kata": params.get(kind.kata) if kind and kind.kata else "",
            "chart_as": params.get("chart_as"),
        }
    )
    for name, parameter in PARAMETERS.get(kind.draws if kind else "", {}).items():
        if name not in ("of", "query", "columns"):
            form.values[name] = str(params.get(parameter) or "")
    return _widget_form(visit, form, kind, widget=widget)


@page("POST", f"{BASE}/widgets/{{id}}", form_bytes=FORM_BYTES)
def save_widget(visit: Visit) -> PageResponse:
    """Saves a widget, and shows its tab."""
    widget = _editable(visit, WIDGET, visit.id)
    return _save(visit, kind_of(str(widget["extension_id"])), widget)


@page("GET", f"{BASE}/lists/{{id}}")
def show_list(visit: Visit) -> PageResponse:
    """The form of a list. Raises NotFound, Forbidden."""
    _editable(visit, LIST, visit.id)
    [found] = workspace_pages.lists(visit.ctx, f"id:{visit.id}")
    columns = found["columns"]
    form = Form.from_values(
        {
            "tab": found["tab_id"],
            "kind": "worklist",
            "label": found["name"],
            "of": _uri(visit, found["context"]),
            "query": list_widgets.list_query(visit, found),
            "rows": found["render_limit"],
            "columns": ", ".join(map(str, columns)) if isinstance(columns, list) else "",
        }
    )
    return _widget_form(visit, form, KINDS["worklist"], widget=found)


@page("POST", f"{BASE}/lists/{{id}}", form_bytes=FORM_BYTES)
def save_list(visit: Visit) -> PageResponse:
    """Saves a list, and shows its tab."""
    return _save(visit, KINDS["worklist"], _editable(visit, LIST, visit.id))


def _save(visit: Visit, kind: WidgetKind | None, found: Mapping[str, Any]) -> PageResponse:
    form = Form.sent(visit.form, FIELDS)
    form.values["tab"] = str(found["tab_id"])
    tab = records.retrieve(visit.ctx, TAB, found["tab_id"])
    try:
        _store(visit, form, kind, tab, found)
    except HelpdeskError as error:
        return _widget_form(visit, _refused(form, error), kind, widget=found)
    visit.flash(_("{name} saved.", name=form.text("label")))
    return see(f"{SHOWN}/{tab['page_id']}?tab={tab['id']}")


def _store(
    visit: Visit, form: Form, kind: WidgetKind | None, tab: Mapping[str, Any], found: Mapping[str, Any] | None
) -> None:
    """Creates or changes a widget or a list, if what it shows can be drawn. Raises the mistake."""
    if tab["extension_id"] == LISTS_TAB:
        fields = {
            "name": form.text("label"),
            "context": form.text("of"),
            "columns": _names(form.get("columns")),
            "params_required_query": form.text("query"),
            "render_limit": form.text("rows") or "10",
            "render_sort": {},
        }
        _try(visit, KINDS["worklist"], {"context": form.text("of"), "query": form.text("query")}, tab)
        return _write(visit, LIST, fields, tab, found)
    before = found["params"] if found is not None and isinstance(found["params"], dict) else {}
    params = dict(before)
    if kind is not None and kind.has_query:
        params["data_query"] = form.text("data_query")
        if form.get("chart_as") in dict(kind.looks):
            params["chart_as"] = form.get("chart_as")
    elif kind is not None and kind.draws == "list":
        params |= {
            "context": form.text("of"),
            "query_required": form.text("query"),
            "query": "",
            "columns": _names(form.get("columns")),
            "render_limit": form.text("rows") or "10",
        }
    elif kind is not None and kind.draws in PARAMETERS:
        own = PARAMETERS[kind.draws]
        params |= {parameter: form.text(name) for name, parameter in own.items()}
        if "query" in own:
            params["query"] = ""
    elif kind is not None and kind.draws in ("text", "html"):
        params = {name: text for name, text in params.items() if name not in widgets.TEXT_KEYS}
        params["content"] = form.get("content")
    if kind is not None and kind.kata:
        params[kind.kata] = form.get("kata").replace("\r\n", "\n")
    _try(visit, kind, params, tab)
    fields = {"label": form.text("label"), "params": params, "width_units": form.text("width") or "4"}
    if form.text("zone"):
        fields["zone"] = form.text("zone")
    if found is None:
        assert kind is not None
        fields["extension_id"] = PREFIX + kind.name
    return _write(visit, WIDGET, fields, tab, found)


def _write(
    visit: Visit, uri: str, fields: dict[str, Any], tab: Mapping[str, Any], found: Mapping[str, Any] | None
) -> None:
    if found is not None:
        records.update(visit.ctx, uri, found["id"], fields)
        return
    last = workspace_pages.last_place(visit.ctx, uri, tab["id"])
    records.create(visit.ctx, uri, {**fields, "tab_id": tab["id"], "pos": last})


def _try(visit: Visit, kind: WidgetKind | None, params: Mapping[str, Any], tab: Mapping[str, Any]) -> None:
    """Raises the mistake in what a widget shows, at its field. One that is only slow has none. tab: where it goes,
    whose filters have their usual values."""
    if kind is None or kind.draws in ("text", "html"):
        return
    widget = {"id": 0, "label": "", "params": params}
    try:
        widgets.drawn(visit, kind, widget, Drawing(SECONDS, TabFilters(visit, tab["params"]).values))
    except TimedOut:
        return
    except HelpdeskError as error:
        is_kata = kind.draws == "kata" or (bool(kind.kata) and isinstance(error, KataSyntax))
        named = "kata" if is_kata else "data_query" if kind.has_query else "query"
        if error.details.get("field") in PARAMETERS.get(kind.draws, {}):
            named = str(error.details["field"])
        raise Invalid(error.message, field=named) from error


def _names(text: str) -> list[str]:
    return [name for name in (each.strip() for each in text.split(",")) if name]


def _uri(visit: Visit, context: object) -> str:
    """The uri of a type that a widget names, or its name as it is."""
    record_type = visit.service.registry.find(str(context or ""))
    return record_type.uri if record_type is not None else str(context or "")


def _refused(form: Form, error: HelpdeskError) -> Form:
    names = {
        "name": "label",
        "params_required_query": "query",
        "context": "of",
        "render_limit": "rows",
        "width_units": "width",
    }
    return form.refuse(error, names=names)


def _widget_form(
    visit: Visit,
    form: Form,
    kind: WidgetKind | None,
    *,
    tabs: Sequence[WorkspaceTabLink] = (),
    widget: Mapping[str, Any] | None = None,
) -> PageResponse:
    """The form of a widget or list. tabs: where a new one may go. widget: one that exists."""
    tab = records.retrieve(visit.ctx, TAB, int(form.get("tab")))
    is_list = tab["extension_id"] == LISTS_TAB
    types = [(each.uri, shown(each.label_names[0])) for each in visit.service.registry if each.offers("search")]
    zones = [(each, shown(ZONE_LABELS[each])) for each in LAYOUTS[layout_of(tab)]]
    if form.get("zone") not in dict(zones):
        form.values["zone"] = main_zone(layout_of(tab))
    uri = LIST if is_list else WIDGET
    path = f"/rest/records/{uri}/{widget['id']}.json" if widget else f"/rest/records/{uri}/create.json"
    name = "name" if is_list else "label"
    return render(
        visit,
        "workspace_widget_form.html",
        form=form,
        kind=kind,
        widget=widget,
        part="lists" if is_list else "widgets",
        is_list=is_list,
        tab=tab,
        tabs=[(str(each.id), each.label) for each in tabs],
        types=sorted(types, key=lambda each: each[1]),
        zones=zones if len(zones) > 1 else [],
        calendars=_calendars(visit) if kind is not None and kind.draws == "calendar" else [],
        looks=[(value, shown(label)) for value, label in kind.looks] if kind is not None else [],
        widths=[(value, shown(label)) for value, label in WIDTHS],
        sample=Sample("PUT" if widget else "POST", path, [(f"fields[{name}]", form.get("label") or "Open tickets")]),
    )


def _calendars(visit: Visit) -> list[tuple[str, str]]:
    found = records.search(visit.ctx, "calendar", SearchRequest("sort:name", MAX_CALENDARS, 1, LABEL))["results"]
    return [("", shown(N_("No calendar, but these records"))), *((str(each["id"]), str(each[LABEL])) for each in found)]


# -- order and deletion --------------------------------------------------------------------------------------------


def _declare(part: str, uri: str, column: str) -> None:
    """Declares what moves and deletes tabs, widgets or lists."""

    def back(record: Mapping[str, Any]) -> str:
        return f"{BASE}/{record[column]}" if uri == TAB else f"{BASE}/tabs/{record[column]}"

    @page("POST", f"{BASE}/{part}/{{id}}/move")
    def move(visit: Visit) -> PageResponse:
        """Moves a part up or down: by one, or by as many as it was dragged. Raises NotFound, Forbidden."""
        record = records.retrieve(visit.ctx, uri, visit.id, LABEL)
        move_entry(visit, str(record[LABEL]), lambda by: workspace_pages.move(visit.ctx, uri, visit.id, by))
        return see(back(record))

    @page("POST", f"{BASE}/{part}/{{id}}/delete")
    def delete(visit: Visit) -> PageResponse:
        """Deletes a part. Raises NotFound, Forbidden."""
        record = records.retrieve(visit.ctx, uri, visit.id, LABEL)
        records.delete(visit.ctx, uri, visit.id)
        visit.flash(_("{name} deleted.", name=record[LABEL]))
        return see(back(record))


for _part, (_of, _column) in PARTS.items():
    _declare(_part, _of, _column)


def _editable(visit: Visit, uri: str, id: int, expand: str = "") -> dict[str, Any]:
    """A record that the worker may change. Raises NotFound, Forbidden."""
    records.require(visit.ctx, uri, "update", id)
    return records.retrieve(visit.ctx, uri, id, expand)
