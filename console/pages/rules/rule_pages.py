"""The pages of rules: the list in its order, and one rule with its form, its runs and its script."""

from console.html.form import sentence
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists.list_moves import move_entry
from console.pages.rules import rule_templates
from console.pages.rules.rule_editor import RuleEditor, summary
from server.automation.rules import rule_building, rule_deletion, rule_list, rule_runs, rule_scan
from server.errors import Conflict, HelpdeskError, Invalid
from server.records import records
from server.records.records import LABEL, SearchRequest
from server.rules.rule_form import EVENTS
from server.translation import N_, _

BASE = "/admin/rules"
FORM_BYTES = 512 * 1024
STATES = {
    rule_runs.DONE: ("ok", N_("done")),
    rule_runs.PROBLEM: ("warn", N_("with a problem")),
    rule_runs.SKIPPED: ("muted", N_("did nothing")),
    rule_runs.FAILED: ("err", N_("failed")),
    rule_runs.LIMIT: ("err", N_("not run")),
}
REASONS = {
    "when": N_("Its event had not happened."),
    "if": N_("Its conditions no longer held when its turn came."),
}


@page("GET", BASE, "admin")
def show_list(visit: Visit) -> PageResponse:
    """All rules in their order."""
    return render(
        visit,
        "rules.html",
        rules=rule_list.list_rules(visit.ctx),
        last=rule_list.last_runs(visit.ctx),
        summary=summary,
        starts=rule_templates.options(),
    )


@page("GET", f"{BASE}/new", "admin")
def show_new(visit: Visit) -> PageResponse:
    """The form of a new rule, empty or with a template."""
    return _shown(visit, RuleEditor(visit, None, rule_templates.form_of(visit.query.text("start", ""))))


@page("POST", f"{BASE}/new", "admin", form_bytes=FORM_BYTES, creates=True)
def create(visit: Visit) -> PageResponse:
    """Creates a rule, or does what another button of the form says."""
    return _pressed(visit, RuleEditor(visit, None, {}).read())


@page("GET", f"{BASE}/{{id}}", "admin")
def show(visit: Visit) -> PageResponse:
    """The form of a rule, and its runs."""
    rule = rule_list.find(visit.ctx, visit.id)
    editor = RuleEditor(visit, rule, rule.form.values if rule.form is not None else {})
    editor.find_lost()
    return _shown(visit, editor)


@page("POST", f"{BASE}/{{id}}", "admin", form_bytes=FORM_BYTES)
def save(visit: Visit) -> PageResponse:
    """Saves a rule, or does what another button of the form says."""
    return _pressed(visit, RuleEditor(visit, rule_list.find(visit.ctx, visit.id), {}).read())


def _pressed(visit: Visit, editor: RuleEditor) -> PageResponse:
    pressed = visit.form.text("do", "save")
    if editor.is_pressed:
        return _shown(visit, editor)
    if pressed == "match":
        editor.find_matching()
    elif pressed == "try":
        editor.try_on_ticket()
    else:
        id = editor.save()
        if id:
            visit.flash(_("{name} saved.", name=editor.form.text("title")))
            return see(BASE)
    return _shown(visit, editor)


def _shown(visit: Visit, editor: RuleEditor) -> PageResponse:
    rule = editor.rule
    runs = rule_list.runs(visit.ctx, rule.id) if rule is not None else []
    missed = rule_list.why_not(visit.ctx, rule) if rule is not None else []
    ids = sorted({each.ticket_id for each in runs} | {each.ticket_id for each in missed})
    request = SearchRequest(f"id:[{','.join(map(str, ids))}]", len(ids), expand=LABEL)
    tickets = records.search(visit.ctx, "ticket", request)["results"] if ids else []
    return render(
        visit,
        "rule.html",
        editor=editor,
        form=editor.form,
        rule=rule,
        runs=runs,
        missed=missed,
        tickets={each["id"]: each for each in tickets},
        states=STATES,
        reasons=REASONS,
        events=EVENTS,
        starts=rule_templates.options() if rule is None else [],
        most={
            "rules": rule_building.MAX_RULES,
            "depth": rule_runs.MAX_DEPTH,
            "timed": rule_scan.MAX_TIMED,
            "runs": rule_list.MAX_RUNS,
        },
    )


@page("POST", f"{BASE}/{{id}}/move", "admin")
def move(visit: Visit) -> PageResponse:
    """Moves a rule up or down: by one, or by as many as it was dragged."""
    rule = rule_list.find(visit.ctx, visit.id)
    move_entry(visit, rule.title, lambda by: rule_list.move(visit.ctx, visit.id, by), rule_building.MAX_RULES)
    return see(f"{BASE}#rule-{visit.id}")


@page("POST", f"{BASE}/{{id}}/switch", "admin")
def switch(visit: Visit) -> PageResponse:
    """Switches a rule on or off."""
    rule = rule_list.find(visit.ctx, visit.id)
    is_on = visit.form.flag("on", False)
    rule_list.switch(visit.ctx, visit.id, is_on=is_on)
    text = _("{name} switched on.", name=rule.title) if is_on else _("{name} switched off.", name=rule.title)
    visit.flash(text, visit.path, on="0" if is_on else "1")
    return see(f"{BASE}#rule-{visit.id}")


@page("POST", f"{BASE}/{{id}}/delete", "admin")
def delete(visit: Visit) -> PageResponse:
    """Deletes a rule with its script and its runs, with an undo."""
    rule = rule_list.find(visit.ctx, visit.id)
    try:
        undo = f"{BASE}/{visit.id}/restore" if rule_deletion.delete(visit.ctx, visit.id) else ""
    except HelpdeskError as error:
        visit.flash(sentence(error.message))
        return see(f"{BASE}/{visit.id}")
    visit.flash(_("{name} deleted.", name=rule.title), undo)
    return see(BASE)


@page("POST", f"{BASE}/{{id}}/restore", "admin")
def restore(visit: Visit) -> PageResponse:
    """Restores a rule that the worker has deleted."""
    try:
        visit.flash(_("{name} restored.", name=rule_deletion.restore(visit.ctx, visit.id)))
    except (Conflict, Invalid) as error:
        visit.flash(_("Not restored: {problem}", problem=sentence(error.message)))
    return see(BASE)
