"""Interactions that widgets and columns of boards offer: a page to start one, and the page of a run with its form or
its result."""

import json
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from console.html.form import Form, sentence
from console.html.rendering import render
from console.html.templates import fragment
from console.html.ui import Option, Sample
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit, own_path
from console.lists import lookup
from console.pages.workspaces import record_widgets
from console.pages.workspaces.drawing import Drawing, muted
from console.pages.workspaces.widget_kinds import WidgetKind
from server.automation.interactions import interaction_form, interaction_offers, interaction_runs
from server.automation.interactions.interaction_form import AREAS, CHECKBOX, CHOOSER, SAY, SHEET, FormElement
from server.automation.interactions.interaction_offers import InteractionPlace
from server.automation.interactions.interaction_runs import InteractionRun
from server.dataclass import dataclass
from server.errors import Conflict, HelpdeskError
from server.people import project_boards
from server.people.workspace_pages import BASE, SHOWN, WIDGET
from server.record_types.boards.board_columns import COLUMN
from server.records import records
from server.template import Budget
from server.tickets.note_html import note_html
from server.translation import _

STARTS = {WIDGET: f"{SHOWN}/forms/{{id}}", COLUMN: f"{SHOWN}/forms/columns/{{id}}"}
RUNS = f"{SHOWN}/forms/runs/{{code}}"
FORM_BYTES, LARGEST_STEP = 512 * 1024, 10**6
VALUE = "value_"  # the prefix of fields
LINKS, TEXTS, ALERT = ("open_link", "open_url", "explore_page"), ("snippet", "clipboard"), "alert"
SHOWN_CHARS = 64_000  # longer texts of a result are cut


@dataclass(frozen=True)
class ElementField:
    """An element of a form as it is shown. control: which field it is. html: of a text. options: of choices. found: of
    a chooser. columns, rows: of a sheet; each row with its key. attributes: of the field."""

    element: FormElement
    control: str
    html: Markup = Markup()
    options: tuple[Option, ...] = ()
    found: lookup.ChooserOptions | None = None
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, tuple[str, ...]], ...] = ()
    attributes: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        return VALUE + self.element.name

    @property
    def hint(self) -> str:
        return str(self.element.options.get("hint") or self.element.options.get("description") or "")

    @property
    def ticks(self) -> list[tuple[str, str, str]]:
        return [(value, label, "") for value, label in self.options]


def offered(visit: Visit, kind: WidgetKind, widget: Mapping[str, Any], drawing: Drawing) -> tuple[Markup, bool]:
    """The interactions of a widget, each with the way to its page. Raises KataSyntax and the errors of templates."""
    html = offers_html(visit, interaction_offers.widget_place(widget), "parts/widget_interactions.html")
    return html or muted(_("There is nothing that you can start here.")), False


def offers_html(visit: Visit, place: InteractionPlace, template: str, budget: Budget | None = None) -> Markup:
    """The interactions of a place, blank if the worker can start none. budget: as for offers(). Raises KataSyntax and
    the errors of templates."""
    offers = interaction_offers.offers(visit.ctx, place, budget)
    shown = [each for each in offers if each.automation is not None or visit.actor.is_admin]
    return Markup(fragment(template, base=_start_path(place.uri, place.id), offers=shown)) if shown else Markup()


def _start_path(uri: str, id: int) -> str:
    return STARTS[uri].replace("{id}", str(id))


def _declare(uri: str) -> None:
    """Declares the pages that start the interactions of widgets, or of columns."""

    @page("GET", STARTS[uri])
    def show_start(visit: Visit) -> PageResponse:
        """Describes an interaction and the inputs that the page passes to it. Raises NotFound, Forbidden, Invalid."""
        return _start_page(visit, uri, visit.query.text("form", ""))

    @page("POST", STARTS[uri], creates=True)
    def start(visit: Visit) -> PageResponse:
        """Starts an interaction with the rights of the worker. Raises NotFound, Forbidden, Invalid."""
        place = interaction_offers.place_of(visit.ctx, uri, visit.id)
        return see(RUNS.replace("{code}", interaction_runs.start(visit.ctx, place, visit.form.text("form", ""))))


for _uri in STARTS:
    _declare(_uri)


def _start_page(visit: Visit, uri: str, name: str) -> PageResponse:
    form = Form()
    offer = interaction_runs.offered(visit.ctx, interaction_offers.place_of(visit.ctx, uri, visit.id), name)
    assert offer.automation is not None
    return render(
        visit,
        "interaction_start.html",
        form.status,
        form=form,
        offer=offer,
        about=interaction_offers.about(visit.ctx, offer.automation),
        inputs=[(key, _text(value)) for key, value in offer.inputs.items()],
        back=_page_of(visit, uri, visit.id),
        sample=Sample("GET", f"/rest/records/{uri}/{visit.id}.json"),
    )


@page("GET", RUNS)
def show_run(visit: Visit) -> PageResponse:
    """The form that a run awaits, or its result. Raises NotFound."""
    run = interaction_runs.show(visit.ctx, visit.arguments["code"])
    return _run_page(visit, run, _begun(run))


@page("POST", RUNS, form_bytes=FORM_BYTES, creates=True)
def go_on(visit: Visit) -> PageResponse:
    """Continues a run with the submitted form. Raises NotFound."""
    code = visit.arguments["code"]
    run = interaction_runs.show(visit.ctx, code)
    form = _sent(visit, run)
    try:
        texts = _texts(visit, run, form)
        step = visit.form.integer("step", 0, 0, LARGEST_STEP)
        interaction_runs.go_on(visit.ctx, code, step, texts, visit.form.text("button", "0"))
    except Conflict as error:
        visit.flash(sentence(error.message))
    except HelpdeskError as error:
        names = {each.name: VALUE + each.name for each in _asking(run)}
        return _run_page(visit, run, form.refuse(error, names=names))
    return see(RUNS.replace("{code}", code))


def _asking(run: InteractionRun) -> list[FormElement]:
    return [each for each in run.form.elements if each.asks] if run.form is not None else []


def _begun(run: InteractionRun) -> Form:
    """The form with the values that it begins with."""
    form = Form()
    for each in _asking(run):
        form.several[VALUE + each.name] = each.initial
        form.values[VALUE + each.name] = each.initial[0] if each.initial else ""
    return form


def _sent(visit: Visit, run: InteractionRun) -> Form:
    """The submitted values."""
    form = Form()
    for each in _asking(run):
        name = VALUE + each.name
        several = visit.form.text_list(name) if each.is_several else [visit.form.text(name, "")]
        form.several[name] = [text.replace("\r\n", "\n") for text in several]
        form.values[name] = form.several[name][0] if form.several[name] else ""
    return form


def _texts(visit: Visit, run: InteractionRun, form: Form) -> dict[str, list[str]]:
    """The submitted texts by the names of elements; a record that was named is its id. Raises Invalid."""
    texts = {}
    for each in _asking(run):
        texts[each.name] = form.several[VALUE + each.name]
        record_type = visit.service.registry.find(str(each.options.get("context") or ""))
        if each.kind == CHOOSER and record_type is not None:
            ids = (lookup.chosen_id(visit, record_type.uri, text, each.name) for text in texts[each.name])
            texts[each.name] = [str(id) for id in ids if id]
    return texts


def _run_page(visit: Visit, run: InteractionRun, form: Form) -> PageResponse:
    elements = run.form.elements if run.form is not None else ()
    return render(
        visit,
        "interaction_run.html",
        form.status,
        run=run,
        form=form,
        fields=[_field(visit, each, form) for each in elements],
        result=_result(run.result),
        again=f"{_start_path(run.place, run.place_id)}?form={run.offer}",
        back=_page_of(visit, run.place, run.place_id),
        sample=Sample("GET", f"/rest/records/{run.place}/{run.place_id}.json"),
    )


def _field(visit: Visit, element: FormElement, form: Form) -> ElementField:
    options = element.options
    if element.kind == SAY:
        content = str(options.get("content") or "")
        html = note_html(content) or muted((content or str(options.get("message") or ""))[:SHOWN_CHARS])
        return ElementField(element, SAY, Markup(html))
    if element.kind == SHEET:
        return _sheet(visit, element)
    if not element.asks:
        return ElementField(element, "unknown")
    if element.kind == CHOOSER:
        return _chooser(visit, element, form)
    if element.kind == CHECKBOX:
        return ElementField(element, "tick")
    if element.kind == interaction_form.PICKLIST:
        blank = () if element.is_several or element.is_required else (("", "—"),)
        return ElementField(element, "ticks" if element.is_several else "choice", options=(*blank, *element.choices))
    texts = {"placeholder": str(options.get("placeholder") or "")[:200]}
    attributes = {name: text for name, text in texts.items() if text}
    return ElementField(element, "area" if element.kind in AREAS else "field", attributes=attributes)


def _chooser(visit: Visit, element: FormElement, form: Form) -> ElementField:
    record_type = visit.service.registry.find(str(element.options.get("context") or ""))
    if record_type is None or not record_type.offers("search"):
        return ElementField(element, "unknown")
    query, name = str(element.options.get("query") or ""), VALUE + element.name
    try:
        found = lookup.choosable(visit, record_type.uri, query, form.get(name))
    except HelpdeskError:
        found = lookup.ChooserOptions(record_type.uri, (), "")
    if element.is_several:
        return ElementField(element, "ticks", options=tuple(found.options or ()))
    return ElementField(element, "chooser", found=found)


def _sheet(visit: Visit, element: FormElement) -> ElementField:
    columns = record_widgets.sheet_columns(interaction_form.columns_of(element.options))
    rows = tuple(
        (key, tuple(record_widgets.sheet_text(visit, each, row) for each in columns))
        for key, row in (element.rows or {}).items()
    )
    return ElementField(element, SHEET, columns=tuple(each.label for each in columns), rows=rows)


def _page_of(visit: Visit, uri: str, id: int) -> str:
    """The page with the widget, or the board with the column; the list of these if the worker may not read it any
    more."""
    try:
        place = records.retrieve(visit.ctx, uri, id, "tab_" if uri == WIDGET else "")
    except HelpdeskError:
        return BASE if uri == WIDGET else project_boards.BASE
    if uri == WIDGET:
        return f"{SHOWN}/{place['tab_page_id']}?tab={place['tab_id']}"
    return project_boards.path_of(place["board_id"])


# -- results -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ShownResult:
    """The result of an automation. alert: a sentence. links: addresses. texts: each with a button that copies it.
    facts: names and texts of all other values."""

    alert: str
    links: list[str]
    texts: list[str]
    facts: list[tuple[str, str]]


def _result(returned: object) -> ShownResult:
    values = returned if isinstance(returned, dict) else {"result": returned} if returned not in (None, "", []) else {}
    links = [_address(_text(values[name])) for name in LINKS if values.get(name)]
    texts = [_text(values[name]) for name in TEXTS if values.get(name)]
    others = [(str(key), _text(value)) for key, value in values.items() if key not in (ALERT, *LINKS, *TEXTS)]
    facts = [each for each in others if each[1].strip()]
    return ShownResult(_text(values.get(ALERT) or ""), [each for each in links if each], texts, facts)


def _address(text: str) -> str:
    """A web address or a path of the console, "" for anything else."""
    is_web = text.startswith(("https://", "http://"))
    return text if is_web or own_path(text) == text else ""


def _text(value: object) -> str:
    """A value for a page: a text as it is, others as JSON."""
    if isinstance(value, dict) and len(value) == 1 and isinstance(next(iter(value.values())), str):
        value = next(iter(value.values()))
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, default=str)
    return text[:SHOWN_CHARS]
