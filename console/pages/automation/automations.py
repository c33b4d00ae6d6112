"""Automations: a list, and an editor that shows mistakes at their lines, simulates and runs."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from console.forms.examples import StartExample, chosen, options
from console.html import drafts, templates
from console.html.form import Form, sentence
from console.html.rendering import render
from console.html.ui import ChooserOptions
from console.http.page_response import PageResponse, json_response, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup, worklist
from console.lists.cells import DrawnColumns
from console.lists.worklist import Worklist, declare
from server.automation import (
    automation_service,
    checker,
    examples,
    history,
    names,
    overview,
    policy,
    stopping,
    uses,
)
from server.automation.editor_words import ENTRIES, entry_words, words
from server.automation.examples import Example
from server.automation.host import FUNCTION
from server.automation.inputs import InputDeclaration
from server.automation.run_dictionary import plain
from server.automation.versions import TEXTS
from server.errors import HelpdeskError, NotFound, TooLarge
from server.packages import recipes
from server.people import form_drafts
from server.record_types.record_type import RecordType
from server.record_types.shared.triggers import MACRO, TRIGGERS, find_trigger, trigger_label, trigger_options
from server.records import records
from server.translation import N_, Words, _
from server.web import trial_values, trials
from server.web.json_text import as_json
from server.web.trials import INPUT, Trial

URI = "automation"
BASE = "/automations"
BASED_ON = "version"  # the field with the version that the form began with
FIELDS = (*TEXTS, "values", "example_name", BASED_ON)
TICKET_FIELD = "ticket"  # the ticket to try the automation with
TRIALS = ("ticket", "last")  # buttons that simulate it with the values of a ticket, or of the last run
TEXT_BYTES = 8 * 1024 * 1024
MAX_SHOWN_CHARS = 20_000  # characters of a result or of a value
LABELS = {
    "name": N_("Name"),
    "extension_id": N_("Trigger"),
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
RUNS = ("simulate", "run", "resume", "keep")  # buttons that run it
RUN_CODE, CODE_CHARS = "run_code", 40


class _Doing:
    """How the automations of a page are doing, and who uses them; for administrators alone."""

    def __init__(self, visit: Visit, rows: list[dict[str, Any]]) -> None:
        self.of = overview.overviews(visit.ctx, [each["id"] for each in rows])
        self.used = uses.counts(visit.ctx)


_column = DrawnColumns("automations")
_OWN = (
    _column("_label", N_("Name"), "name", "main word"),
    _column("trigger", N_("Trigger"), "trigger", "word", value=lambda row, more: row["extension_id"]),
)
LIST = declare(Worklist(
    URI, BASE, N_("Automations"), ("_label", "trigger", "last_run", "failed", "used", "updated_at"),
    own=(
        *_OWN,
        _column("last_run", N_("Last run"), value=lambda row, more: more.of[row["id"]].last_run_at, is_time=True),
        _column("failed", N_("Failed in 24 hours"), value=lambda row, more: more.of[row["id"]].failed),
        _column("used", N_("Used by"), kind="number", value=lambda row, more: more.used[row["name"].lower()]),
    ),
    load=_Doing, sort="name", placeholder=N_("name, or trigger:svc.trigger.webhook.respond"),
    empty=N_(
        "There are no automations yet. An automation is a script that runs when something happens: "
        "a webhook is called, an email arrives, a time comes."
    ),
    none=N_("No automation matches."), new=(f"{BASE}/new", N_("New automation")),
    quick=(
        (N_("Webhooks"), "trigger:svc.trigger.webhook.respond"),
        (N_("Timers"), "trigger:svc.trigger.automation.timer"),
        (N_("Macros"), f"trigger:{MACRO}"),
    ),
))  # fmt: skip
OTHERS_LIST = replace(
    LIST,
    columns=("_label", "trigger", "updated_at"),
    own=_OWN,
    load=None,
    new=None,
    empty=N_("There are no automations yet. Administrators create them."),
)


@page("GET", BASE)
def show_list(visit: Visit) -> PageResponse:
    """All automations that the worker may read; for administrators also how they are doing."""
    return worklist.page(visit, LIST if visit.actor.is_admin else OTHERS_LIST)


# -- the editor --------------------------------------------------------------------------------------------------------


class Editor:
    """The editor in one request. saved: the stored automation, None for a new one. inputs: of the script, those with a
    field. note: about what was done."""

    def __init__(self, visit: Visit, saved: dict[str, Any] | None, form: Form) -> None:
        self.visit, self.saved, self.form = visit, saved, form
        self.id = saved["id"] if saved else 0
        self.inputs = trials.typed_inputs(form.get("script"))
        self.run: Trial | None = None
        self.note = ""

    @property
    def draft_key(self) -> str:
        return f"{URI}:{self.id or 'new'}"

    @property
    def has_changed(self) -> bool:
        """Whether the form holds what is not saved."""
        return self.saved is not None and any(self.form.get(name) != self.saved[name] for name in TEXTS)

    @property
    def seconds(self) -> float:
        return policy.time_limit(self.form.get("policy_kata"))

    @property
    def labels(self) -> dict[str, Words]:
        return LABELS | {INPUT + each.name: each.name for each in self.inputs}

    @property
    def mistakes(self) -> list[tuple[int, str]]:
        """The mistakes of the script by their lines."""
        script = self.form.get("script")
        flagged = names.flagged_in(self.visit.ctx, script, self.form.get("extension_id")) if script.strip() else []
        return [(each.line, each.message) for each in flagged]

    @property
    def policy_mistakes(self) -> list[tuple[int, str]]:
        text = self.form.get("policy_kata")
        return [(each.line, each.message) for each in (*checker.check_policy(text), *checker.warn_of_policy(text))]

    @property
    def examples(self) -> list[Example]:
        return examples.list_examples(self.visit.ctx, self.id) if self.id else []

    def records(self, each: InputDeclaration) -> ChooserOptions | None:
        """The records to choose from for an input; None if it is no record, or its type has no search."""
        record_type = self._type_of(each)
        chosen = self.form.get(INPUT + each.name)
        return lookup.choosable(self.visit, record_type.uri, chosen=chosen) if record_type is not None else None

    def _type_of(self, each: InputDeclaration) -> RecordType | None:
        uri = str(each.options.get("record_type") or "") if each.kind == "record" else ""
        record_type = self.visit.service.registry.find(uri) if uri else None
        return record_type if record_type is not None and record_type.offers("search") else None

    # -- what its buttons do -------------------------------------------------------------------------------------------

    def save(self) -> PageResponse:
        """Stores the automation, and compares its examples."""
        visit, form = self.visit, self.form
        fields = {name: form.get(name) for name in TEXTS if name != "name" or form.text("name")}
        compared, before = self.examples, history.number(visit.ctx, self.id)
        try:
            if self.id:
                history.save(visit.ctx, self.id, form.get(BASED_ON), fields)
                id = self.id
            else:
                id = records.create(visit.ctx, URI, fields)["id"]
        except HelpdeskError as error:
            form.refuse(error)
            form.values[BASED_ON] = str(error.details.get("version", form.get(BASED_ON)))
            stays = _("The running version is unchanged.") if self.id else ""
            self.note = f"{self._keep_draft()} {stays}".strip()
            return self.show()
        form_drafts.drop(visit.ctx, self.draft_key)
        saved = automation_service.of_record(lookup.record(visit, URI, id))
        checked = examples.check(visit.ctx, saved, compared)
        text = " ".join([_("Saved."), *examples.results(checked)])
        if saved.version > max(before, 1):
            visit.flash(text, f"{BASE}/{id}/restore", version=str(saved.version - 1))
        else:
            visit.flash(text)
        return see(f"{BASE}/{id}#examples" if any(each.is_changed for each in checked) else f"{BASE}/{id}")

    def _keep_draft(self) -> str:
        """Stores a form that could not be saved as a draft, and returns the message about it."""
        try:
            form_drafts.save(self.visit.ctx, self.draft_key, list(self.form.values.items()))
        except TooLarge:
            return _("Your text is too long to be stored as a draft. It exists only on this page.")
        return _("Your text is stored as a draft.")

    def start(self, pressed: str) -> None:
        """Runs or simulates the texts of the form, saved or not, unless its values cannot be read."""
        try:
            if pressed == "resume":
                given = trials.continued(self.visit.form.text("continuation", ""))
            else:
                given = trials.values_of(self.form.values, self.inputs, self._value)
        except HelpdeskError as error:
            self.form.refuse(error)
            return
        trial = self._run(given, pressed != "run")
        for name, message in trial.input_mistakes(self.inputs).items():
            self.form.fail(INPUT + name, sentence(message))

    def _run(self, given: dict[str, Any], is_dry: bool = True) -> Trial:
        script, at = trials.script_of(self.form.values, self.saved), self.visit.form.id("at", 0)
        self.run = trials.run(self.visit.ctx, script, given, is_dry=is_dry, at=at, stop_code=_code(self.visit))
        return self.run

    def try_with(self, pressed: str) -> None:
        """Simulates with the values of the chosen ticket, or of the last run."""
        ctx, form = self.visit.ctx, self.form
        try:
            if pressed == "last":
                values = trial_values.of_last_run(ctx, self.id)
            else:
                typed = form.get("values") or "{}"
                values = trial_values.of_ticket(ctx, form.text(TICKET_FIELD), form.get("extension_id"), typed)
        except HelpdeskError as error:
            form.fail("" if pressed == "last" else TICKET_FIELD, sentence(error.message))
            return
        self._fill_values(values)
        self.start("simulate")

    def _fill_values(self, values: Mapping[str, Any]) -> None:
        self.form.values |= trials.texts_of(values, self.inputs)

    def show_example(self, example: Example) -> None:
        """Simulates an example, and fills in its values."""
        self._run(example.given).example = example
        self.form.values |= {INPUT + each.name: "" for each in self.inputs} | {"example_name": example.name}
        self._fill_values(example.given)

    def keep_example(self) -> None:
        """Stores what a run was given, and how it ended, as an example."""
        if self.run is None:
            return
        if not self.id:
            self.form.fail("example_name", _("Save the automation first. Examples belong to a saved automation."))
            return
        name = self.form.text("example_name")
        try:
            examples.keep(self.visit.ctx, self.id, name, self.run.given, self.run.result)
        except HelpdeskError as error:
            self.form.refuse(error)
        else:
            self.note = _("Example “{name}” saved. It runs each time the automation is saved.", name=name)

    def _value(self, each: InputDeclaration, text: str) -> str:
        """The value of an input's field. Raises Invalid for a record that cannot be identified."""
        record_type = self._type_of(each)
        if record_type is None or text.startswith("svc:"):
            return text
        return str(lookup.chosen_id(self.visit, record_type.uri, text, INPUT + each.name) or "")

    # -- its page ------------------------------------------------------------------------------------------------------

    def show(self) -> PageResponse:
        self._take_up()
        return render(
            self.visit,
            "automation.html",
            editor=self,
            form=self.form,
            id=self.id,
            name=self.saved["name"] if self.saved else _("New automation"),
            triggers=trigger_options(),
            starts=options(start_examples()) if not self.id else [],
            most=examples.MAX_EXAMPLES,
            code=_new_code(),
            as_text=trials.as_text,
            as_json=_cut_json,
            plain=plain,
        )

    def _take_up(self) -> None:
        """Fills in the draft if that is requested, with the inputs that were typed."""
        visit, key = self.visit, self.draft_key
        draft = form_drafts.load(visit.ctx, key) if visit.query.text(drafts.TAKE_UP, "") == key else None
        if draft is not None and not visit.is_post:
            self.form.values |= {name: "" for name, _ in draft.fields if name.startswith(INPUT)}
            drafts.take_up(visit, key, self.form)
            self.inputs = trials.typed_inputs(self.form.get("script"))


def start_examples() -> list[StartExample]:
    """The automations that a new one may start from: a macro, and recipes whose policies do not depend on prompts."""
    macro = StartExample("macro", N_("Reply and wait, with one click"), _first_values(MACRO))
    cookbook = [recipes.recipe(name) for name in recipes.names()]
    copied = [
        StartExample(each.name, each.title, {name: str(each.main.get(name, "")) for name in TEXTS if name != "name"})
        for each in sorted(cookbook, key=lambda each: each.title)
        if "{{{" not in each.policies[0]
    ]
    return [macro, *copied]


def _first_values(trigger: str) -> dict[str, str]:
    return {"extension_id": trigger, "script": FIRST_SCRIPTS.get(trigger, FIRST_SCRIPT)}


@page("GET", f"{BASE}/new", "admin")
def show_new(visit: Visit) -> PageResponse:
    """The editor, with a first script or the example `start`. `trigger` in the address says what starts it."""
    trigger = visit.query.text("trigger", FUNCTION)
    values = chosen(visit, start_examples()) or _first_values(trigger if trigger in TRIGGERS else FUNCTION)
    samples = as_json(trial_values.of_trigger(visit.ctx, values["extension_id"]))
    return Editor(visit, None, Form.from_values({**values, "values": samples})).show()


@page("GET", f"{BASE}/{{id}}", "admin")
def show(visit: Visit) -> PageResponse:
    """The editor. `delivery` in the address fills in the values of a webhook's request."""
    record = lookup.record(visit, URI, visit.id)
    delivery = visit.query.id("delivery", 0)
    if delivery:
        values = trial_values.of_delivery(visit.ctx, delivery)
    else:
        values = trial_values.of_trigger(visit.ctx, record["extension_id"])
    texts = {name: record[name] for name in (*TEXTS, BASED_ON)} | {"values": as_json(values)}
    return Editor(visit, record, Form.from_values(texts)).show()


@page("POST", f"{BASE}/new", "admin", form_bytes=TEXT_BYTES, creates=True)
@page("POST", f"{BASE}/{{id}}", "admin", form_bytes=TEXT_BYTES)
def submit(visit: Visit) -> PageResponse:
    """Save, check, simulate or run, by the button that was pressed."""
    saved = lookup.record(visit, URI, visit.id) if visit.record_id else None
    form = Form.sent(visit.form, FIELDS)
    form.values[TICKET_FIELD] = visit.form.text(TICKET_FIELD, "")
    form.values = {name: text.replace("\r\n", "\n") for name, text in form.values.items()}
    editor = Editor(visit, saved, form)
    for name in (INPUT + each.name for each in editor.inputs):
        form.values[name] = visit.form.text(name, "").replace("\r\n", "\n")
    pressed, example = visit.form.text("do", "save"), visit.form.id("example", 0)
    if example and editor.id:
        editor.show_example(examples.find(visit.ctx, editor.id, example))
    elif visit.form.id("at", 0):
        editor.start("simulate")
    elif pressed in TRIALS:
        editor.try_with(pressed)
    elif pressed == "save":
        return editor.save()
    elif pressed == "run" and not visit.form.flag("sure"):
        return render(visit, "automation_run.html", editor=editor, form=form, id=editor.id, code=_new_code())
    elif pressed in RUNS:
        editor.start(pressed)
        if pressed == "keep":
            editor.keep_example()
    return editor.show()


@page("POST", f"{BASE}/{{id}}/delete", "admin")
def delete(visit: Visit) -> PageResponse:
    """Remove an automation."""
    record = lookup.remove(visit, URI)
    form_drafts.drop(visit.ctx, f"{URI}:{visit.id}")
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


@page("GET", "/-/words/{name}")
def show_entry_words(visit: Visit) -> PageResponse:
    """The names that the editor of a binding or a toolbar completes, as JSON. `trigger`: of the automations, of which
    the worker gets those that they may read. Raises NotFound."""
    kind, trigger = visit.arguments["name"], visit.query.text("trigger", "")
    if kind not in ENTRIES or find_trigger(trigger) is None:
        raise NotFound(_("There is no such page."))
    names = [each["name"] for each in lookup.search(visit, URI, f"trigger:{trigger} sort:name")]
    return json_response(entry_words(kind, names))


def _new_code() -> str:
    """By which a page stops the run that it began."""
    return secrets.token_urlsafe(12)


def _code(visit: Visit) -> str:
    return visit.form.text(RUN_CODE, "")[:CODE_CHARS]


templates.GLOBALS["trigger_label"] = trigger_label


def _cut_json(value: Any) -> str:
    text = as_json(value)
    return text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "\n… (cut)"
