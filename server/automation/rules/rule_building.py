"""Derives script, policy, name and binding of a rule from its form when the automation is written."""

import re
from collections.abc import Sequence
from typing import Any

from server import times
from server.automation import binding_edits
from server.automation.bindings import entries
from server.automation.bound_automations import FIELD, tree_text
from server.automation.commands.functions import automation_name
from server.errors import BadQuery, Invalid, KataSyntax, Mistakes, Required
from server.kata.kata_parser import Tree
from server.record_types.parts import Change, Reading, Record, Writing
from server.record_types.shared.secrets import random_text
from server.record_types.shared.triggers import RULE
from server.records.reading import RecordReader
from server.rules import rule_form, steps
from server.rules.rule_form import EVERYTHING, RuleForm
from server.search.compile import compile_group
from server.search.conditions import all_of, one_of
from server.search.control_terms import query_of
from server.search.query_parser import parse_group
from server.search.select import CompiledSearch, search
from server.tickets.rule_events import EVENT
from server.translation import _

MAX_RULES = 200  # rules of the service
NAME_CHARS = 60
SAMPLE = 500  # oldest and newest tickets each
LEAST_SAMPLE = 50  # tickets
_OTHER = re.compile(r"[^a-z0-9]+")


def build(change: Change, writing: Writing) -> None:
    """Derives script, policy, description and name of a rule from a new form. A change of the script alone clears the
    form. Raises Invalid and Required with all mistakes of the form."""
    if not change.new.get("form"):
        texts = ("script", "policy_kata")
        if "form" not in change.new and any(change.changes(name) for name in texts) and change.value("form"):
            change.new["form"] = {}
        return
    form = rule_form.read(change.new["form"])
    _require(form, change, writing)
    change.new["form"] = form.values
    change.new["script"], change.new["policy_kata"] = rule_form.script_of(form), rule_form.policy_of(form)
    change.new["description"] = form.title
    if change.is_create and not change.new.get("name"):
        word = _OTHER.sub("-", form.title.lower()).strip("-")[:NAME_CHARS] or random_text(10)
        is_used = writing.find("automation", name=f"rule.{word}") is not None
        change.new["name"] = f"rule.{word}" + (f".{random_text(6)}" if is_used else "")


def _require(form: RuleForm, change: Change, writing: Writing) -> None:
    """Requires valid queries, records that exist, a title that no other rule has, and no circle of rules."""
    mistakes = Mistakes()
    for place, query in enumerate(form.conditions):
        with mistakes.collect():
            require_query(writing, query, f"conditions.{place}")
    asks = not mistakes.errors and not form.matches_everything and _is_new_choice(form, change)
    if asks and matches_everything(form, writing):
        problem = _(
            "this rule would match every ticket; add a condition, or send {field}: true if that is intended",
            field=EVERYTHING,
        )
        mistakes.add(Required(problem, field=EVERYTHING))
    for field, problem in missing(form, writing):
        mistakes.add(Invalid(problem, field=field))
    others = [(id, title, other) for id, title, other in stored_forms(writing) if id != change.id]
    if change.is_create and len(others) >= MAX_RULES:
        mistakes.add(Invalid(_("at most {count} rules", count=MAX_RULES), field="title"))
    if any(title.casefold() == form.title.casefold() for _id, title, _form in others):
        mistakes.add(Invalid(_("another rule has this name; choose another one"), field="title"))
    circle = rule_form.find_circle(form, [other for _id, _title, other in others if other is not None])
    if circle:
        names = " → ".join(circle)
        problem = _(
            "these rules would start each other without end: {names}. Let one of them wait for another field, or "
            "set the same value",
            names=names,
        )
        mistakes.add(Invalid(problem, field="when"))
    mistakes.require_none()


def require_query(writing: Writing, query: str, field: str) -> None:
    """Requires that a query of tickets can be searched. Raises Invalid with the position of the mistake."""
    try:
        parsed = query_of(parse_group(query))
        search(writing.registry.type("ticket"), parsed, RecordReader(writing.ctx, writing.tx).scope(everything=True))
    except BadQuery as error:
        raise Invalid(error.message, field=field, position=error.details.get("position", 0)) from None


def _is_new_choice(form: RuleForm, change: Change) -> bool:
    """Whether the conditions of a rule are new; those of rules that were stored before are not checked again."""
    before = form_of(change.old) if change.old is not None else None
    return before is None or (before.conditions, before.matches_any) != (form.conditions, form.matches_any)


def matches_everything(form: RuleForm, writing: Writing) -> bool:
    """Returns whether a form has no conditions, or all of the oldest and newest tickets meet them. A desk with few
    tickets says nothing about conditions."""
    if not form.conditions:
        return True
    tickets = writing.registry.type("ticket")
    scope = RecordReader(writing.ctx, writing.tx).scope(everything=True).in_zone(times.zone(form.zone))
    ids: set[int] = set()
    for order in ("id", "-id"):
        ids.update(search(tickets, query_of(parse_group(f"status:!deleted sort:{order}")), scope).ids(SAMPLE))
    if len(ids) < LEAST_SAMPLE:
        return False
    condition = compile_group(tickets, query_of(parse_group(form.query)).root, scope)
    among = one_of(tickets.table.sql.id, tuple(sorted(ids)))
    return CompiledSearch(tickets, all_of([among, condition]), (), scope).total() == len(ids)


def missing(form: RuleForm, reading: Reading) -> list[tuple[str, str]]:
    """Returns (field, problem) of each record that the steps name and that does not exist."""
    problems = []
    for each in steps.references(form.steps):
        record = reading.record(each.uri, each.id)
        if record is None or (each.uri == "automation" and not record["script"]):
            label = reading.registry.type(each.uri).label_names[0].lower()
            problem = _("the {record} with the ID {id} no longer exists; choose another one", record=label, id=each.id)
            problems.append((f"steps.{each.place}.{each.part}", problem))
    return problems


def stored_forms(writing: Writing) -> Sequence[tuple[int, str, RuleForm | None]]:
    """Returns (id, title, form) of all rules; None for one that was edited as a script."""
    record_type = writing.registry.type("automation")
    rows = [record_type.record(row) for row in writing.tx.find(record_type.table, extension_id=RULE)]
    return [(each["id"], title_of(each), form_of(each)) for each in rows]


def title_of(record: Record) -> str:
    """Returns the title of a rule: the first line of its description, else its name."""
    return record["description"].strip().partition("\n")[0] or str(record["name"])


def form_of(record: Record) -> RuleForm | None:
    """Returns the stored form of a rule; None for one that was edited as a script."""
    try:
        return rule_form.read(record["form"]) if record["form"] else None
    except Invalid:  # written by a version with other steps
        return None


def bind(change: Change, writing: Writing) -> None:
    """Adds a new rule to the end of the order; a renamed one stays at its place."""
    if not (change.is_create or change.changes("name")):
        return
    id, text = binding(writing)
    if change.is_create:
        if change.value("form"):
            text = binding_edits.with_entry(text, entry_name(change.id), change.value("name"))
            store(writing, id, text)
    elif entry_of(text, change.was("name")):
        old, new = (f"svc:automation:{name}" for name in (change.was("name"), change.value("name")))
        store(writing, id, re.sub(rf"{re.escape(old)}$", lambda match: new, text, flags=re.MULTILINE))


def unbind(record: Record, writing: Writing) -> None:
    """Removes a deleted rule from the order."""
    id, text = binding(writing)
    entry = entry_of(text, record["name"])
    if entry:
        store(writing, id, binding_edits.without_entry(text, entry))


def entry_name(id: int) -> str:
    """Returns the name of the entry of a rule in the binding."""
    return f"rule_{id}"


def entry_of(text: str, automation: str) -> str:
    """Returns the name of the entry of an automation in a binding; "" without one."""
    try:
        parsed = entries(text)
    except KataSyntax:
        return ""
    names = (name for name, each in parsed.items() if automation_of(each[2]) == automation.lower())
    return next(names, "")


def automation_of(tree: Tree) -> str:
    """Returns the automation that an entry names, in lower case."""
    return automation_name(tree_text(tree, "uri")).lower()


def binding(reading: Reading) -> tuple[int, str]:
    """Returns the id and the text of the binding of rules."""
    event: Any = reading.find("automation_event", name=EVENT)
    return event["id"], str(event[FIELD])


def store(writing: Writing, id: int, text: str) -> None:
    """Stores the binding of rules."""
    writing.update("automation_event", id, {FIELD: text})
