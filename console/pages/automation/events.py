"""Which automations run at each event, in which order."""

from console.html import diffs
from console.html.form import Form
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from server.automation import binding_edits, event_bindings
from server.automation.event_bindings import EventBinding
from server.errors import Conflict, HelpdeskError
from server.record_types.shared.triggers import EVENTS
from server.records import records
from server.records.records import SearchRequest
from server.translation import _

BASE = "/automations/events"
TEXT_BYTES = 256 * 1024
MAX_AUTOMATIONS = 250  # to choose from


@page("GET", BASE, "admin")
def show_all(visit: Visit) -> PageResponse:
    """The events, with what runs at each."""
    events = [each for each in event_bindings.list_bindings(visit.ctx) if not EVENTS[each.name].is_screen or each.text]
    return render(visit, "events.html", events=events)


@page("GET", f"{BASE}/{{id}}", "admin")
def show(visit: Visit) -> PageResponse:
    """One event: what runs at it, and the text of its binding."""
    event = event_bindings.binding(visit.ctx, visit.id)
    return _shown(visit, event, Form.from_values({"text": event.text}))


@page("POST", f"{BASE}/{{id}}/move", "admin")
def move(visit: Visit) -> PageResponse:
    """Move an entry up or down."""
    steps = 1 if visit.form.text("to", "") == "down" else -1
    try:
        event_bindings.move(visit.ctx, visit.id, visit.form.text("name", ""), steps, visit.form.text("version", ""))
    except Conflict as error:
        visit.flash(error.message)
    return see(f"{BASE}/{visit.id}")


@page("POST", f"{BASE}/{{id}}/remove", "admin")
def remove(visit: Visit) -> PageResponse:
    """Remove an entry; its automation stays."""
    name = visit.form.text("name", "")
    try:
        event_bindings.remove(visit.ctx, visit.id, name, visit.form.text("version", ""))
        visit.flash(_("{name} no longer runs on this event.", name=name))
    except Conflict as error:
        visit.flash(error.message)
    return see(f"{BASE}/{visit.id}")


@page("POST", f"{BASE}/{{id}}/add", "admin", creates=True)
def add(visit: Visit) -> PageResponse:
    """Adds an automation after the others."""
    event = event_bindings.binding(visit.ctx, visit.id)
    form = Form.sent(visit.form, ("automation",))
    id = visit.form.id("automation", 0)
    if not id:
        return _shown(visit, event, form.fail("automation", _("Choose an automation.")))
    try:
        binding_edits.bind(visit.ctx, id)
    except HelpdeskError as error:
        return _shown(visit, event, form.refuse(error, names={"name": "automation"}))
    return see(f"{BASE}/{visit.id}")


@page("POST", f"{BASE}/{{id}}", "admin", form_bytes=TEXT_BYTES)
def change(visit: Visit) -> PageResponse:
    """Store the text of the binding."""
    form = Form.sent(visit.form, ("text",))
    form.values["text"] = form.get("text").replace("\r\n", "\n")
    try:
        event_bindings.replace_text(visit.ctx, visit.id, form.get("text"), visit.form.text("version", ""))
    except HelpdeskError as error:
        form.refuse(error, names={"automations_kata": "text"})
        return _shown(visit, event_bindings.binding(visit.ctx, visit.id), form, isinstance(error, Conflict))
    visit.flash(_("Saved."))
    return see(f"{BASE}/{visit.id}")


def _shown(visit: Visit, event: EventBinding, form: Form, is_clash: bool = False) -> PageResponse:
    """The page of an event. is_clash: whether another text was saved since the form was shown."""
    query = SearchRequest(f"trigger:{event.trigger} sort:name", limit=MAX_AUTOMATIONS)
    fitting = records.search(visit.ctx, "automation", query)["results"]
    bound = {each.automation_id for each in event.entries}
    form.values.setdefault("text", event.text)
    return render(
        visit,
        "event.html",
        event=event,
        form=form,
        addable=[(str(each["id"]), each["name"]) for each in fitting if each["id"] not in bound],
        has_automations=bool(fitting),
        differing=diffs.compared(event.text, form.get("text")) if is_clash else None,
    )
