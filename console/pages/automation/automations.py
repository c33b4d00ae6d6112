"""Automations: a list, and an editor that shows mistakes at their lines, simulates and runs."""

import json
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field, replace
from typing import Any

from markupsafe import Markup

from console.html import drafts, ui
from console.html.form import Form, sentence
from console.html.rendering import render
from console.http.page_response import INVALID, PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup, worklist
from console.lists.worklist import Worklist, declare
from console.lists.worklist_columns import ListColumn
from server.automation import (
    automation_service,
    checker,
    examples,
    history,
    inputs,
    names,
    overview,
    policy,
    simulating,
    stopping,
    uses,
)
from server.automation.editor_words import words
from server.automation.engine import RunResult
from server.automation.examples import Example
from server.automation.host import FUNCTION, Script
from server.automation.inputs import InputDeclaration
from server.automation.macros import listing as macros
from server.automation.run_dictionary import plain
from server.automation.trace import TraceStep
from server.automation.versions import TEXTS
from server.dataclass import dataclass
from server.errors import HelpdeskError, Invalid, KataSyntax, NotFound, TooLarge
from server.people import form_drafts
from server.record_types.record_type import RecordType
from server.record_types.shared.triggers import EVENTS, MACRO, OTHERS, PREFIX, TRIGGERS
from server.records import records
from server.tickets import masks
from server.translation import N_, _, ngettext
from server.web import trial_values
from server.web.json_text import loads

URI = "automation"
BASE = "/automations"
BASED_ON = "version"  # the field with the version that the form began with
FIELDS = (*TEXTS, "values", "example_name", BASED_ON)
TICKET_FIELD = "ticket"  # the ticket to try the automation with
TRIALS = ("ticket", "last")  # buttons that simulate it with the values of a ticket, or of the last run
INPUT = "input:"  # the prefix of a field with an input
TEXT_BYTES = 8 * 1024 * 1024
MAX_SHOWN_CHARS = 20_000  # characters of a result or of a value
MAX_SHOWN_STEPS = 200  # commands of a trace
MAX_CONTINUED_CHARS = 200_000  # characters of a waiting run's state, as JSON in the page
LABELS = {
    "name": N_("Name"),
    "extension_id": N_("Started by"),
    "script": N_("Script"),
    "policy_kata": N_("Policy"),
    "values": N_("Values"),
    "description": N_("What it does"),
    "example_name": N_("Example"),
    TICKET_FIELD: N_("Ticket"),
}
FIRST_SCRIPT = "start:\n  return:\n    hello: world\n"
# Of automations that are begun for a trigger: an example to be changed.
FIRST_SCRIPTS = {
    MACRO: "start:\n  return:\n    reply: We look into {{ticket_subject}} and write again by friday.\n    changes:\n"
    "      status: waiting\n      reopen_at: friday 9am\n      owner_id: me\n"
}
STATES = {"return": "ok", "exit": "ok", "await": "info", "error": "err", "failure": "err"}
ENDINGS = {
    "return": "returned",
    "exit": N_("completed"),
    "await": "waits",
    "error": N_("timed out"),
    "failure": "failed",
}
LOG_KINDS = {1: ("err", "alert"), 3: ("err", "error"), 4: ("warn", "warning"), 7: ("muted", "debug")}
RUNS = ("simulate", "run", "resume", "keep")  # buttons that run it
RUN_CODE, CODE_CHARS = "run_code", 40
REFUSED = "the policy does not let "  # how the error of a step begins that the policy refused
BLANK = [("", N_("not set")), ("yes", "yes"), ("no", "no")]


@dataclass
class _RunView:
    """A run that is shown. given: the dictionary that it began with. example: that it was of, None for none."""

    result: RunResult
    given: dict[str, Any]
    is_dry: bool = True
    example: Example | None = None
    at: int = 0


@dataclass
class _EditorView:
    """The state of the editor. id: 0 for a new automation. asked: the inputs with a field."""

    id: int
    form: Form
    asked: list[InputDeclaration] = field(default_factory=list)
    run: _RunView | None = None
    note: str = ""


class _Doing:
    """How the automations of a page are doing, and who uses them; for administrators alone."""

    def __init__(self, visit: Visit, rows: list[dict[str, Any]]) -> None:
        self.of = overview.overviews(visit.ctx, [each["id"] for each in rows])
        self.used = uses.counts(visit.ctx)


def _name(visit: Visit, row: Mapping[str, Any], more: Any) -> str:
    """The name with the description."""
    name = ui.breakable(row["_label"])
    shown_name = ui.link(f"{BASE}/{row['id']}", html=name) if visit.actor.is_admin else name
    return (
        Markup("<div>{}<br>{}</div>").format(shown_name, ui.muted(row["description"][:160]))
        if row["description"]
        else shown_name
    )


def _last_run(visit: Visit, row: Mapping[str, Any], more: _Doing) -> str:
    """When it ran last, and how that ended where it went wrong."""
    now = more.of[row["id"]]
    state = now.last_run_state
    told = ui.when(visit, now.last_run_at)
    is_well = not now.last_run_at or STATES.get(state) == "ok"
    return (
        told
        if is_well
        else Markup("{} {}").format(told, ui.badge(STATES.get(state, "muted"), ENDINGS.get(state, state)))
    )


def _failed(visit: Visit, row: Mapping[str, Any], more: _Doing) -> str:
    """How many of its runs failed in a day."""
    now = more.of[row["id"]]
    if not now.runs:
        return ui.muted(N_("no runs"))
    share = _(
        "{failed} of {runs} ({percent} %)", failed=now.failed, runs=now.runs, percent=round(100 * now.failed / now.runs)
    )
    return ui.badge("err", share) if now.failed else share


def _used(visit: Visit, row: Mapping[str, Any], more: _Doing) -> str:
    """How often it is used, with the way there."""
    count = more.used[row["name"].lower()]
    said = _("Used by {count}: {name}", count=count, name=row["name"])
    return ui.link(f"{BASE}/{row['id']}/uses", str(count), said=said)


_OWN = (
    ListColumn("_label", N_("Name"), _name, "name", "main word"),
    ListColumn(
        "trigger",
        N_("Started by"),
        lambda visit, row, more: ui.code_parts(row["extension_id"].removeprefix("svc.trigger.")),
        "trigger",
        "word",
        value=lambda row, more: row["extension_id"],
    ),
)
LIST = declare(
    Worklist(
        URI,
        BASE,
        N_("Automations"),
        ("_label", "trigger", "last_run", "failed", "used", "updated_at"),
        own=(
            *_OWN,
            ListColumn(
                "last_run",
                N_("Last run"),
                _last_run,
                value=lambda row, more: more.of[row["id"]].last_run_at,
                is_time=True,
            ),
            ListColumn("failed", N_("Failed in 24 hours"), _failed, value=lambda row, more: more.of[row["id"]].failed),
            ListColumn(
                "used", N_("Used by"), _used, kind="number", value=lambda row, more: more.used[row["name"].lower()]
            ),
        ),
        load=_Doing,
        sort="name",
        placeholder=N_("name, or trigger:svc.trigger.webhook.respond"),
        empty=N_(
            "There are no automations yet. An automation is a script that runs when something happens: a "
            "webhook is called, an email arrives, a time comes."
        ),
        none=N_("No automation matches."),
        new=(f"{BASE}/new", N_("New automation")),
        quick=(
            (N_("Webhooks"), "trigger:svc.trigger.webhook.respond"),
            (N_("Timers"), "trigger:svc.trigger.automation.timer"),
            (N_("Macros"), f"trigger:{MACRO}"),
        ),
    )
)
OTHERS_LIST = replace(
    LIST,
    columns=("_label", "trigger", "updated_at"),
    own=_OWN,
    load=None,
    new=None,
    empty=N_("There are no automations yet."),
)


@page("GET", BASE)
def show_list(visit: Visit) -> PageResponse:
    """All automations that the worker may read; for administrators also how they are doing."""
    return worklist.page(visit, LIST if visit.actor.is_admin else OTHERS_LIST)


@page("GET", f"{BASE}/new", "admin")
def show_new(visit: Visit) -> PageResponse:
    """The editor, with a first script. `trigger` in the address says what starts it."""
    trigger = visit.query.text("trigger", FUNCTION)
    form = Form.from_values(
        {
            "extension_id": trigger if trigger in TRIGGERS else FUNCTION,
            "script": FIRST_SCRIPTS.get(trigger, FIRST_SCRIPT),
            "values": _sample(visit, trigger),
        }
    )
    return _editor(visit, _EditorView(0, form))


@page("POST", f"{BASE}/new", "admin", form_bytes=TEXT_BYTES, creates=True)
def create(visit: Visit) -> PageResponse:
    """Create an automation, or simulate what is not made yet."""
    return _do(visit, 0)


@page("GET", f"{BASE}/{{id}}", "admin")
def show(visit: Visit) -> PageResponse:
    """The editor. `delivery` in the address fills in the values of a webhook's request."""
    record = lookup.record(visit, URI, visit.id)
    delivery = visit.query.id("delivery", 0)
    values = (
        _indented(trial_values.of_delivery(visit.ctx, delivery)) if delivery else _sample(visit, record["extension_id"])
    )
    shown = {name: record[name] for name in (*TEXTS, BASED_ON)} | {"values": values}
    return _editor(visit, _EditorView(visit.id, Form.from_values(shown)))


@page("POST", f"{BASE}/{{id}}", "admin", form_bytes=TEXT_BYTES)
def change(visit: Visit) -> PageResponse:
    """Save, check, simulate or run, by the button that was pressed."""
    lookup.record(visit, URI, visit.id)
    return _do(visit, visit.id)


@page("POST", f"{BASE}/{{id}}/delete", "admin")
def delete(visit: Visit) -> PageResponse:
    """Remove an automation."""
    record = lookup.remove(visit, URI)
    form_drafts.drop(visit.ctx, draft_key(visit.id))
    visit.flash(_("{name} removed.", name=record["name"]))
    return see(BASE)


@page("POST", f"{BASE}/{{id}}/examples", "admin")
def remove_example(visit: Visit) -> PageResponse:
    """Forget an example."""
    removed = examples.remove(visit.ctx, visit.id, visit.form.id("example", required=True))
    visit.flash(_("Example '{name}' removed.", name=removed.name))
    return see(f"{BASE}/{visit.id}#examples")


@page("POST", f"{BASE}/stop", "admin")
def stop(visit: Visit) -> PageResponse:
    """Stop the run that a page of one's own waits for, if it still runs."""
    is_stopped = stopping.stop(visit.ctx, _code(visit))
    stops, ended = _("The run stops after its current command."), _("Nothing is running from this page.")
    told = stops if is_stopped else ended
    return render(visit, "automation_stopped.html", 200 if is_stopped else 404, told=told)


@page("GET", "/-/words", "admin")
def show_words(visit: Visit) -> PageResponse:
    """The names that the editor completes, as JSON."""
    found = words(visit.service.registry) | {"names": [each["name"] for each in lookup.search(visit, URI, "sort:name")]}
    return PageResponse(json.dumps(found), content_type="application/json")


def _new_code() -> str:
    """By which a page stops the run that it began."""
    return secrets.token_urlsafe(12)


def _code(visit: Visit) -> str:
    return visit.form.text(RUN_CODE, "")[:CODE_CHARS]


def draft_key(id: int) -> str:
    """The key of the draft of an automation; 0 for a new one."""
    return f"automation:{id or 'new'}"


# -- what a button does ------------------------------------------------------------------------------------------------


def _do(visit: Visit, id: int) -> PageResponse:
    editing = _sent(visit, id)
    form, pressed = editing.form, visit.form.text("do", "save")
    if visit.form.id("example", 0) and id:
        editing.run = _of_example(visit, editing, examples.find(visit.ctx, id, visit.form.id("example", 0)))
    elif visit.form.id("at", 0):
        editing.run = _run(visit, editing, "simulate")
    elif pressed in TRIALS:
        editing.run = _trial(visit, editing, pressed)
    elif pressed == "save":
        return _save(visit, editing)
    elif pressed == "run" and not visit.form.flag("sure"):
        return render(visit, "automation_run.html", form=form, id=id, seconds=_seconds(form), code=_new_code())
    elif pressed in RUNS:
        editing.run = _run(visit, editing, pressed)
        if pressed == "keep" and editing.run is not None:
            _keep(visit, editing)
    return _editor(visit, editing)


def _sent(visit: Visit, id: int) -> _EditorView:
    form = Form.sent(visit.form, FIELDS)
    for name in FIELDS:
        form.values[name] = form.get(name).replace("\r\n", "\n")
    form.values[TICKET_FIELD] = visit.form.text(TICKET_FIELD, "")
    asked = _asked(form.get("script"))
    for each in asked:
        form.values[INPUT + each.name] = visit.form.text(INPUT + each.name, "").replace("\r\n", "\n")
    return _EditorView(id, form, asked)


def _save(visit: Visit, editing: _EditorView) -> PageResponse:
    form, id, key = editing.form, editing.id, draft_key(editing.id)
    fields = {name: form.get(name) for name in TEXTS if name != "name" or form.text("name")}
    kept = examples.list_examples(visit.ctx, id) if id else []
    before = history.number(visit.ctx, id)
    try:
        if id:
            history.save(visit.ctx, id, form.get(BASED_ON), fields)
        else:
            id = records.create(visit.ctx, URI, fields)["id"]
    except HelpdeskError as error:
        form.refuse(error)
        form.values[BASED_ON] = str(error.details.get("version", form.get(BASED_ON)))
        stays = _("The running version is unchanged.") if id else ""
        editing.note = f"{_kept(visit, key, form)} {stays}".strip()
        return _editor(visit, editing)
    form_drafts.drop(visit.ctx, key)
    saved = automation_service.of_record(lookup.record(visit, URI, id))
    checked = examples.check(visit.ctx, saved, kept)
    told = " ".join([_("Saved."), *_check_results(checked)])
    if saved.version > max(before, 1):
        visit.flash(told, f"{BASE}/{id}/restore", version=str(saved.version - 1))
    else:
        visit.flash(told)
    return see(f"{BASE}/{id}#examples" if any(each.is_changed for each in checked) else f"{BASE}/{id}")


def _kept(visit: Visit, key: str, form: Form) -> str:
    """Stores a form that could not be saved as a draft, and returns the message about it."""
    try:
        form_drafts.save(visit.ctx, key, list(form.values.items()))
    except TooLarge:
        return _("Your text is too long to be stored as a draft. It exists only on this page.")
    return _("Your text is stored as a draft.")


def _check_results(checked: list[examples.ExampleCheck]) -> list[str]:
    """The results of the examples after a change; blank if there are none."""
    if not checked:
        return []
    changed, missed = sum(each.is_changed for each in checked), sum(not each.outcome for each in checked)
    told = [_("All examples have the same result as before.")]
    if changed:
        told = [
            ngettext(
                "{changed} of {count} example has a different result.",
                "{changed} of {count} examples have a different result.",
                len(checked),
                changed=changed,
            )
        ]
    if missed:
        late = ngettext(
            "{count} was not run because time ran out.", "{count} were not run because time ran out.", missed
        )
        told = [*(told if changed else []), late]
    return told


def _run(visit: Visit, editing: _EditorView, pressed: str) -> _RunView | None:
    """A run with the texts of the form, saved or not; None when its values cannot be read."""
    visit.ctx.require_admin("run automations")
    form = editing.form
    try:
        given = _continued(visit) if pressed == "resume" else _given(visit, form, editing.asked)
    except HelpdeskError as error:
        form.refuse(error)
        return None
    at, automation, code = visit.form.id("at", 0), _automation(visit, editing), _code(visit)
    if pressed == "run":
        automation_service.log_run(visit.ctx, automation)
        result = automation_service.perform(visit.ctx, automation, given, traced=MAX_SHOWN_STEPS, stop_code=code)
    else:
        result = examples.simulate(visit.ctx, automation, given, traced=MAX_SHOWN_STEPS, state_at=at, stop_code=code)
    for each in editing.asked:
        told = f"inputs: '{each.name}' "
        if result.state == "failure" and result.message.startswith(told):
            form.fail(INPUT + each.name, sentence(result.message.removeprefix(told)))
    return _RunView(result, given, pressed != "run", at=at)


def _trial(visit: Visit, editing: _EditorView, pressed: str) -> _RunView | None:
    """Simulates with the values of the chosen ticket or of the last run; None if neither is requested."""
    form = editing.form
    try:
        values = _ticket_values(visit, form) if pressed == "ticket" else trial_values.of_last_run(visit.ctx, editing.id)
    except HelpdeskError as error:
        form.fail(TICKET_FIELD if pressed == "ticket" else "", sentence(error.message))
        return None
    _fill_values(editing, values)
    return _run(visit, editing, "simulate")


def _ticket_values(visit: Visit, form: Form) -> dict[str, Any]:
    """The typed values with those of the ticket. Raises NotFound, Forbidden."""
    mask = form.text(TICKET_FIELD).strip().strip("#[]")
    id = masks.ticket_id(visit.ctx, mask) if mask else None
    if id is None:
        raise NotFound(_("There is no ticket '{mask}'.", mask=mask[:80]) if mask else _("Enter a ticket."))
    if form.get("extension_id") == MACRO:
        return macros.values_of(visit.ctx, id)
    with suppress(HelpdeskError):
        values = loads(form.get("values") or "{}", "'values'", field="values")
        if isinstance(values, dict):
            return values | simulating.ticket_values(visit.ctx, id)
    return simulating.ticket_values(visit.ctx, id)


def _fill_values(editing: _EditorView, values: Mapping[str, Any]) -> None:
    """Put the dictionary of a run into the form: inputs into their fields, all else into the box."""
    found = dict(values)
    given = dict(found.get("inputs") or {}) if isinstance(found.get("inputs"), dict) else {}
    for each in editing.asked:
        if each.name in given:
            editing.form.values[INPUT + each.name] = _text(given.pop(each.name))
    editing.form.values["values"] = _json(found | {"inputs": given}, cut=False)


def _of_example(visit: Visit, editing: _EditorView, example: Example) -> _RunView:
    automation, code = _automation(visit, editing), _code(visit)
    result = examples.simulate(visit.ctx, automation, example.given, traced=MAX_SHOWN_STEPS, stop_code=code)
    for each in editing.asked:
        editing.form.values[INPUT + each.name] = ""
    _fill_values(editing, example.given)
    editing.form.values["example_name"] = example.name
    return _RunView(result, example.given, example=example)


def _keep(visit: Visit, editing: _EditorView) -> None:
    """Keep what a run was given, and how it ended, as an example."""
    assert editing.run is not None
    if not editing.id:
        editing.form.fail("example_name", _("Save the automation first. Examples belong to a saved automation."))
        return
    name = editing.form.text("example_name")
    try:
        examples.keep(visit.ctx, editing.id, name, editing.run.given, editing.run.result)
    except HelpdeskError as error:
        editing.form.refuse(error)
    else:
        editing.note = _("Example “{name}” saved. It runs each time the automation is saved.", name=name)


def _automation(visit: Visit, editing: _EditorView) -> Script:
    """The automation in the form; the saved one if nothing has changed, so that the log can name its version."""
    form = editing.form
    if editing.id:
        saved = automation_service.of_record(lookup.record(visit, URI, editing.id))
        typed = (form.get("script"), form.get("policy_kata"), form.text("name"), form.get("extension_id"))
        if typed == (saved.script, saved.policy, saved.name, saved.trigger):
            return saved
    return Script(form.get("script"), form.get("policy_kata"), form.text("name"), form.get("extension_id") or FUNCTION)


# -- values ------------------------------------------------------------------------------------------------------------


def _asked(script: str) -> list[InputDeclaration]:
    """The inputs of a script that a form can have a field for."""
    return [each for each in inputs.of_script(script) if "[" not in each.name and "]" not in each.name]


def _given(visit: Visit, form: Form, asked: list[InputDeclaration]) -> dict[str, Any]:
    """The dictionary that a run begins with: the box, and the fields of the inputs. Raises Invalid, Malformed; notes
    required fields that are blank at the form, and raises for them, too."""
    values = loads(form.get("values") or "{}", "'values'", field="values")
    if not isinstance(values, dict) or not isinstance(values.get("inputs") or {}, dict):
        raise Invalid(_('Enter the values as a map, such as {"inputs": {}}.'), field="values")
    given = dict(values.get("inputs") or {})
    for each in asked:
        text = form.get(INPUT + each.name)
        if text.strip():
            given[each.name] = _value(visit, each, text)
        elif each.is_required and not given.get(each.name) and "default" not in each.options:
            raise Invalid(_("The script requires this input."), field=INPUT + each.name)
    return values | {"inputs": given}


def _value(visit: Visit, each: InputDeclaration, text: str) -> Any:
    """The value of an input's field. Raises Invalid for a record that cannot be identified."""
    if each.kind == "array":
        return text.split("\n")
    record_type = _chosen_type(visit, each)
    if record_type is None or text.startswith("svc:"):
        return text
    return str(lookup.chosen_id(visit, record_type.uri, text, INPUT + each.name) or "")


def _chosen_type(visit: Visit, each: InputDeclaration) -> RecordType | None:
    """The type of an input that is one record, when its records can be chosen from."""
    found = visit.service.registry.find(str(each.options.get("record_type") or "")) if each.kind == "record" else None
    return found if found is not None and found.offers("search") else None


def _continued(visit: Visit) -> dict[str, Any]:
    """The state in which a waiting run goes on, as the page holds it. Raises Malformed, Invalid."""
    found = loads(visit.form.text("continuation", ""), "'continuation'", field="values")
    if not isinstance(found, dict):
        raise Invalid(_("Enter the values to continue with as a map."), field="values")
    return found


def _fields(visit: Visit, form: Form, asked: list[InputDeclaration]) -> list[dict[str, Any]]:
    """The fields of inputs: how each is shown, and its hint. records: the options of choosers."""
    found = []
    for each in asked:
        name, record_type = INPUT + each.name, _chosen_type(visit, each)
        type = str(each.options.get("type") or "")
        told = [str(each.options.get("description") or "")]
        of = each.options.get("record_type")
        told.append(
            {
                "array": _("One item per line."),
                "record": _("A record of the type {type}.", type=of),
                "records": _("IDs of {type} records, separated by commas.", type=of),
                "text": _("Type {type}.", type=type) if type else "",
            }[each.kind]
        )
        if "default" in each.options:
            told.append(_("Default: {value}.", value=_text(each.options["default"])[:200]))
        told.append(_("Required.") if each.is_required else "")
        shown = (
            "area"
            if each.kind == "array" or type == "freeform"
            else {"bool": "choice", "date": "time", "timestamp": "time"}.get(type, "line")
        )
        found.append(
            {
                "name": name,
                "label": each.name,
                "hint": " ".join(filter(None, told)),
                "as": "record" if record_type is not None else shown,
                "records": lookup.choosable(visit, record_type.uri, chosen=form.get(name)) if record_type else None,
            }
        )
    return found


def _sample(visit: Visit, trigger: str) -> str:
    """Sample values of everything that a trigger provides; inputs have fields of their own. A macro is tried on the
    newest ticket, by the caller."""
    if trigger == MACRO:
        newest = [each["id"] for each in lookup.search(visit, "ticket", "sort:-id limit:1")]
        return json.dumps(macros.values_of(visit.ctx, newest[0] if newest else 0), indent=1)
    known = (EVENTS | OTHERS).get(trigger.removeprefix(PREFIX))
    keys = [key for key in (known.keys if known else ()) if not key.endswith("_") and key not in ("inputs", "...")]
    return json.dumps(dict.fromkeys(keys, ""), indent=1)


def _indented(values: dict[str, Any]) -> str:
    """Values as they stand in the box."""
    return json.dumps(values, ensure_ascii=False, indent=1)


# -- what is shown -----------------------------------------------------------------------------------------------------


def _editor(visit: Visit, editing: _EditorView) -> PageResponse:
    id, form = editing.id, _taken_up(visit, draft_key(editing.id), editing.form)
    script = form.get("script")
    editing.asked = editing.asked or _asked(script)
    found = names.flagged_in(visit.ctx, script, form.get("extension_id")) if script.strip() else []
    mistakes = [(each.line, each.message) for each in found]
    policy = form.get("policy_kata")
    told = [*checker.check_policy(policy), *checker.warn_of_policy(policy)]
    saved = lookup.record(visit, URI, id) if id else None
    return render(
        visit,
        "automation.html",
        INVALID if form.is_wrong else 200,
        form=form,
        id=id,
        note=editing.note,
        labels=LABELS | {INPUT + each.name: each.name for each in editing.asked},
        mistakes=mistakes,
        policy_mistakes=[(each.line, each.message) for each in told],
        triggers=[(name, name) for name in TRIGGERS],
        fields=_fields(visit, form, editing.asked),
        blank=BLANK,
        run=_shown(visit, editing.run) if editing.run is not None else None,
        seconds=_seconds(form),
        kept=examples.list_examples(visit.ctx, id) if id else [],
        most=examples.MAX_EXAMPLES,
        draft_key=draft_key(id),
        code=_new_code(),
        name=saved["name"] if saved else _("New automation"),
        has_changed=form_changed(form, saved),
    )


def _taken_up(visit: Visit, key: str, form: Form) -> Form:
    """The form with its draft, when that is asked for: with the inputs that were typed, too."""
    draft = form_drafts.load(visit.ctx, key) if visit.query.text(drafts.TAKE_UP, "") == key else None
    if draft is not None and not visit.is_post:
        form.values |= {name: "" for name, _ in draft.fields if name.startswith(INPUT)}
    return drafts.take_up(visit, key, form)


def form_changed(form: Form, saved: dict[str, Any] | None) -> bool:
    """Whether a form holds what is not saved."""
    return saved is not None and any(form.get(name) != saved[name] for name in TEXTS)


def _seconds(form: Form) -> float:
    """The time limit that the policy of a form sets; the usual one when it cannot be read."""
    try:
        return policy.read(form.get("policy_kata")).seconds
    except KataSyntax:
        return policy.DEFAULT_SECONDS


def _shown(visit: Visit, run: _RunView) -> dict[str, Any]:
    """A run for display, with long values truncated."""
    result = run.result
    now = examples.outcome(result)
    waits = result.values.get("__state") if result.state == "await" else None
    continuation = _json(plain(result.values), cut=False) if waits is not None else ""
    return {
        "state": result.state,
        "kind": STATES.get(result.state, "muted"),
        "message": result.message,
        "returned": _json(plain(result.returned)),
        "values": _json(result.variables),
        "log": result.log,
        "steps": len(result.trace),
        "is_dry": run.is_dry,
        "ms": round(sum(step.ms for step in result.trace), 1),
        "log_kinds": LOG_KINDS,
        "at": run.at,
        "at_step": _json(result.at_step) if result.at_step is not None else "",
        "waits_at": result.trace[-1].path if waits is not None and result.trace else "",
        "continuation": continuation if len(continuation) <= MAX_CONTINUED_CHARS else "",
        "example": run.example,
        "was": run.example.outcome if run.example and run.example.outcome != now else "",
        "now": now,
        "steps_of": [_step(step) for step in result.trace],
    }


def _step(step: TraceStep) -> dict[str, Any]:
    is_refused = step.error.startswith(REFUSED)
    return {
        "path": step.path,
        "ms": f"{step.ms:.1f}",
        "error": step.error,
        "rule": step.verdict,
        "verdict": _("refused by")
        if is_refused and step.verdict
        else _("refused: no rule allows it")
        if is_refused
        else _("allowed by")
        if step.verdict
        else "",
        "changed": ", ".join(step.changed),
    }


def _json(value: Any, cut: bool = True) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=1, default=str)
    return text if not cut or len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "\n… (cut)"


def _text(value: Any) -> str:
    """A value as it stands in a field."""
    if isinstance(value, list):
        return "\n".join(map(_text, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
