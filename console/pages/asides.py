"""Requests that scripts send while somebody types, and the page with all components."""

from collections.abc import Callable, Sequence
from functools import partial

from console.html import diffs, drafts
from console.html.form import Form
from console.html.rendering import render
from console.html.ui import distance, moment
from console.http.page_response import PageResponse, json_response, see
from console.http.routes import Access, page
from console.http.visit import Visit
from server import times
from server.automation import bindings, checker, names
from server.automation.interactions import toolbar_schema
from server.errors import Invalid, NotFound
from server.people import form_drafts, preferences
from server.record_types.shared import callbacks, scope_check
from server.translation import _
from server.web import reach

TEXT_BYTES = 4 * 1024 * 1024  # bytes of a text that is checked or saved while typing
MAX_ZONES = 60  # time zones shown at once


@page("POST", "/-/time")
def understood(visit: Visit) -> PageResponse:
    """The meaning of a time in words: {understood} or {wrong}. ahead: it must be in the future. stored: the saved
    value, which may have passed since."""
    text = visit.form.text("text", "")
    try:
        at = _ahead(visit, text) if visit.form.flag("ahead") else times.instant(text, visit.now, visit.ctx.tz)
    except Invalid as error:
        return json_response({"wrong": error.message})
    return json_response({"understood": f"{moment(visit, at)}, {distance(at - visit.now)}" if at else "never"})


def _ahead(visit: Visit, text: str) -> int:
    try:
        return times.ahead(text, visit.now, visit.ctx.tz)
    except Invalid:
        if not visit.form.flag("stored"):
            raise
        return times.instant(text, visit.now, visit.ctx.tz)


@page("GET", "/-/zones", "anyone")
def zones(visit: Visit) -> PageResponse:
    """The time zones whose names have every word: {results: [{label}]}; the first ones of many."""
    words = visit.query.text("q", "").lower().replace("_", " ").split()
    fitting = [name for name in times.zones() if all(word in name.lower().replace("_", " ") for word in words)]
    return json_response({"results": [{"label": name} for name in fitting[:MAX_ZONES]]})


@page("POST", "/-/hint")
def see_hint(visit: Visit) -> PageResponse:
    """Stores that the worker has seen a hint about keys. Raises Invalid."""
    preferences.see_hint(visit.ctx, visit.form.text("hint", ""))
    return json_response({})


@page("POST", "/-/draft", form_bytes=TEXT_BYTES)
def keep_draft(visit: Visit) -> PageResponse:
    """Keep what was typed into the form `key`; fields: JSON, [[name, text], ...]. Raises Invalid, TooLarge."""
    fields = visit.form.json("fields", [], most=TEXT_BYTES)
    if not isinstance(fields, list) or not all(_is_pair(each) for each in fields):
        raise Invalid(_("`fields` must be a list of pairs of texts"), field="fields")
    form_drafts.save(visit.ctx, visit.form.text("key", ""), [(name, text) for name, text in fields])
    return json_response({"kept_at": visit.now})


@page("POST", "/-/draft/drop")
def drop_draft(visit: Visit) -> PageResponse:
    """Forget what was typed; console/html/drafts.py does it for every form that leads on to another page."""
    if not visit.form.text(drafts.FIELD, ""):
        raise Invalid(_("the form does not name a draft"), field=drafts.FIELD)
    visit.flash(_("Draft discarded."))
    return see(visit.next)


Mistakes = Sequence[tuple[int, str]]  # line, message
# {last part of the path: returns the mistakes in a text}
CHECKS: dict[str, Callable[[Visit, str], Mistakes]] = {
    # Also the names that this service does not have.
    "script": lambda visit, text: [
        (each.line, each.message) for each in names.flagged_in(visit.ctx, text, visit.form.text("trigger", ""))
    ],
    # Also the parts without effect.
    "policy": lambda visit, text: [
        (each.line, each.message) for each in (*checker.check_policy(text), *checker.warn_of_policy(text))
    ],
    "binding": lambda visit, text: bindings.problems(text),
    "toolbar": lambda visit, text: toolbar_schema.problems(text),
    "scopes": lambda visit, text: scope_check.mistakes(text, partial(reach.doubt, visit.service.registry)),
    "callbacks": lambda visit, text: callbacks.mistakes(text),
}


FOR_WORKERS = ("binding", "toolbar")  # texts of boards, which every worker may change; they name nothing stored


def _check(visit: Visit, mistakes: Callable[[Visit, str], Mistakes]) -> PageResponse:
    """The mistakes in a text: {mistakes: [[line, message]]}."""
    return json_response({"mistakes": mistakes(visit, visit.form.text("text", ""))})


for path, mistakes_in in CHECKS.items():
    needed: Access = "worker" if path in FOR_WORKERS else "admin"
    page("POST", f"/-/check/{path}", needed, form_bytes=TEXT_BYTES)(partial(_check, mistakes=mistakes_in))


@page("GET", "/-/ui", "anyone")
def components(visit: Visit) -> PageResponse:
    """Every component in every state. Raises NotFound unless the setting component_page is on."""
    if not visit.service.settings.component_page:
        raise NotFound(_("There is no such page."))
    good = Form.from_values(
        {
            "name": "Nora",
            "time": "mon 9am",
            "text": "Two\nlines",
            "list": "7",
            "worker": "Nora Berg #1",
            "script": "start:\n  log: x",
        }
    )
    wrong = Form.from_values({"name": "<b>x</b>", "time": "mon 25pm", "script": "start:\n  retrun:"})
    for name in ("name", "time", "text", "list", "many", "yes", "script", "worker"):
        wrong.fail(name, _("This value is not valid. Here is how to fix it."))
    differing = diffs.compared("start:\n  log: one\n  return:", "start:\n  log: two\n  log: three\n  return:")
    return render(
        visit,
        "components.html",
        good=good,
        wrong=wrong,
        differing=differing,
        long_list=[(str(number), f"Worker {number}") for number in range(30)],
        scopes=[("a", "tickets:read", "Read tickets"), ("b", "tickets:write", "Write tickets")],
    )


def _is_pair(each: object) -> bool:
    return isinstance(each, list) and len(each) == 2 and all(isinstance(one, str) for one in each)
