"""Questions that scripts of ours ask while somebody types, and the page that shows every component."""

import json

from console.forms import Form
from console.rendering import render
from console.routes import page
from console.shown import Shown
from console.ui import distance, moment
from console.visit import Visit
from server import times
from server.automation import bindings, checker
from server.errors import Invalid, NotFound
from server.records.shared import scope_check

TEXT_BYTES = 4 * 1024 * 1024  # of a text that is checked while typing
JSON = "application/json"


def answer(value: object) -> Shown:
    """A value for a script of ours."""
    return Shown(json.dumps(value), content_type=JSON)


@page("POST", "/-/time")
def understood(visit: Visit) -> Shown:
    """What a time in words means to who typed it: {understood} or {wrong}."""
    try:
        at = times.instant(visit.form.text("text", ""), visit.now, visit.ctx.tz)
    except Invalid as error:
        return answer({"wrong": error.message})
    return answer({"understood": f"{moment(visit, at)}, {distance(at - visit.now)}" if at else "never"})


@page("POST", "/-/check/script", "admin", form_bytes=TEXT_BYTES)
def check_script(visit: Visit) -> Shown:
    """What is wrong with a script."""
    return _mistakes([(each.line, each.message) for each in checker.check(visit.form.text("text", ""))])


@page("POST", "/-/check/policy", "admin", form_bytes=TEXT_BYTES)
def check_policy(visit: Visit) -> Shown:
    """What is wrong with a policy."""
    return _mistakes([(each.line, each.message) for each in checker.check_policy(visit.form.text("text", ""))])


@page("POST", "/-/check/binding", "admin", form_bytes=TEXT_BYTES)
def check_binding(visit: Visit) -> Shown:
    """What is wrong with a binding of automations."""
    return _mistakes(bindings.problems(visit.form.text("text", "")))


@page("POST", "/-/check/scopes", "admin", form_bytes=TEXT_BYTES)
def check_scopes(visit: Visit) -> Shown:
    """What is wrong with the scopes of an app."""
    return _mistakes(scope_check.mistakes(visit.form.text("text", "")))


@page("GET", "/-/ui", "anyone")
def components(visit: Visit) -> Shown:
    """Every component in every state. Raises NotFound unless the setting component_page is on."""
    if not visit.service.settings.component_page:
        raise NotFound("There is no such page.")
    good = Form.of({"name": "Nora", "time": "mon 9am", "text": "Two\nlines", "list": "7", "script": "start:\n  log: x"})
    wrong = Form.of({"name": "<b>x</b>", "time": "mon 25pm", "script": "start:\n  retrun:"})
    for name in ("name", "time", "text", "list", "many", "yes", "script"):
        wrong.fail(name, "This is not right, and here is what to do about it.")
    return render(visit, "components.html", good=good, wrong=wrong)


def _mistakes(found: list[tuple[int, str]]) -> Shown:
    return answer({"mistakes": found})
