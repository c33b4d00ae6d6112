"""Macros that are built by form: whose they are, their steps, and the automation that these become.

A worker manages their own macros, a manager those of the group, an administrator all. The script is written by the
service and runs with the rights of whoever runs it, like that of any macro. Once somebody edits it, the macro is no
longer a form."""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from server.automation import examples
from server.automation.host import Script
from server.automation.macros import listing, macro_result
from server.automation.macros.listing import MAX_LABEL_CHARS, Macro
from server.automation.macros.macro_result import MacroResult
from server.automation.versions import TEXTS
from server.context import Context
from server.contexts import APP, GROUP, WORKER, short_context
from server.dataclass import dataclass
from server.digits import is_whole
from server.errors import Conflict, Forbidden, Invalid, Mistakes, NotFound, Required
from server.people import undoable_deletions
from server.record_types.record_type import Record
from server.record_types.shared import record_owners
from server.record_types.shared.secrets import random_text
from server.record_types.shared.triggers import MACRO
from server.records import records
from server.records.reading import RecordReader
from server.records.writing import RecordWriter
from server.rules import steps as rule_steps
from server.rules.steps import KINDS, MACRO_KINDS, NamedRecord, Step, StepKind, Tree
from server.store.statements import in_list, slot
from server.store.tables import table_named
from server.store.transaction import Transaction
from server.tickets import assignment
from server.translation import Words, _, about_field, lazy_gettext, shown

URI = "automation"
OWNER = "owner"  # the place of a mistake in the owner
HIDDEN = ("available_context", "available_id", "uses", "last_used_at")  # columns of macros
# Steps of rules that a macro has as well. It replies as the worker who runs it.
_SHARED = frozenset(
    (
        "assign",
        "unassign",
        "group_way",
        "turn",
        "fewest_open",
        "move",
        "status",
        "wait",
        "close",
        "tags",
        "field",
        "importance",
        "watch",
        "note",
        "notify",
        "web",
    )
)
ADMIN_ONLY = frozenset(("web",))  # steps that reach beyond records, so that the rights of a worker do not limit them
_OFFERED = (*MACRO_KINDS, *(each for each in KINDS if each.name in _SHARED))
_NAMES = frozenset(each.name for each in _OFFERED)


@dataclass(frozen=True, slots=True)
class MacroForm:
    """A macro as its pages show it. owner: context and id; ("", 0) for a macro that was written as a script, which
    every worker may run. steps: [] if it is not a form. sends: whether its texts leave at once. is_form: False also for
    a form whose script was edited since; was_form: True for those. lost: (place, type) of each record that no longer
    exists; places are those of errors."""

    id: int
    name: str
    label: str
    owner: tuple[str, int]
    steps: list[dict[str, str]]
    sends: bool
    is_form: bool
    was_form: bool
    uses: int
    last_used_at: int
    version: int
    script: str
    lost: tuple[tuple[str, str], ...] = ()


def kinds(ctx: Context) -> list[StepKind]:
    """Returns the kinds of steps that the worker may give to a macro."""
    return [each for each in _OFFERED if ctx.actor.is_admin or each.name not in ADMIN_ONLY]


def list_macros(ctx: Context) -> list[MacroForm]:
    """Returns the macros that the worker may run or manage, by label; of administrators all."""

    def read(tx: Transaction) -> list[MacroForm]:
        automation = ctx.service.registry.type(URI)
        if ctx.actor.is_admin:
            rows = [automation.record(row) for row in tx.find(automation.table, extension_id=MACRO)]
        else:
            rows = listing.available(ctx, tx)
        forms = [_form(row) for row in rows]
        return _with_lost(ctx, tx, forms)

    return sorted(ctx.service.store.read(read), key=lambda each: (each.label.lower(), each.id))


def macro_form(ctx: Context, id: int) -> MacroForm:
    """Returns a macro that the worker may run or manage. Raises NotFound, Forbidden."""

    def read(tx: Transaction) -> MacroForm:
        return _with_lost(ctx, tx, [_form(_macro_record(RecordReader(ctx, tx), id))])[0]

    return ctx.service.store.read(read)


def _macro_record(reading: RecordReader, id: int) -> Record:
    """Raises NotFound, Forbidden."""
    record = reading.retrieve(URI, id)
    if record["extension_id"] != MACRO:
        raise NotFound(f"automation {id} is not a macro", type=URI, id=id)
    return record


def managed_form(ctx: Context, id: int) -> MacroForm:
    """Returns a macro that the worker may change by form. Raises NotFound, Forbidden."""
    macro = macro_form(ctx, id)
    ctx.service.store.read(lambda tx: _managed(RecordReader(ctx, tx), id))
    return macro


def may_manage(ctx: Context, macro: MacroForm) -> bool:
    """Returns whether the worker may change or delete a macro."""
    return ctx.service.store.read(lambda tx: _may_manage(ctx, tx, macro.owner, macro.steps))


def _may_manage(ctx: Context, tx: Transaction, owner: tuple[str, int], steps: Iterable[Step]) -> bool:
    if ctx.actor.is_admin:
        return True
    is_theirs = owner[0] != "" and record_owners.may_own_as(tx, ctx.actor, *owner)
    return is_theirs and not any(each["kind"] in ADMIN_ONLY for each in steps)


# -- scripts -----------------------------------------------------------------------------------------------------------


def script_of(steps: Sequence[Step], sends: bool) -> str:
    """Returns the script of checked steps: commands for what is no field of the ticket, then what the macro returns."""
    tree: Tree = {}
    changes: Tree = {}
    texts: dict[str, list[str]] = {"answer": [], "note": []}
    for number, step in enumerate(steps, 1):
        if step["kind"] in texts:
            tree |= _text(step, number)
            texts[step["kind"]].append(f"{{{{text_{number}}}}}")
        elif step["kind"] in _CHANGES:
            _add(changes, _CHANGES[step["kind"]](step))
        else:
            tree |= _strict(rule_steps.kind_of(step).build(step, number))
    returned: Tree = {"changes": changes} if changes else {}
    names = {"answer": "reply", "note": "note"}
    returned |= {names[kind]: "\n\n".join(parts) for kind, parts in texts.items() if parts}
    if sends and any(texts.values()):
        returned["send"] = True
    return rule_steps.kata({"start": {**tree, "return": returned}})


def form_changes(macro: Macro) -> Tree:
    """Returns the fields of the ticket that a macro sets by its form; {} for one that is a script, which decides when
    it runs."""
    changes: Tree = {}
    for step in _stored_steps(macro.form, macro.automation.script):
        if step["kind"] in _CHANGES:
            _add(changes, _CHANGES[step["kind"]](step))
    return changes


def policy_of(steps: Sequence[Step]) -> str:
    """Returns the policy: the commands of the steps. What the macro returns needs none."""
    rules = rule_steps.policy_commands(filter(_is_command, steps))
    return rule_steps.kata({"commands": rules}) if rules else ""


def _is_command(step: Step) -> bool:
    """Whether a step is a command, in place of something that the macro returns."""
    return step["kind"] not in {*_CHANGES, "answer", "note"}


def _text(step: Step, number: int) -> Tree:
    """Sets the text of a step, filled in for the ticket and the worker who runs the macro."""
    text = f"text_{number}"
    if step.get("snippet_id"):
        return {f"set/{text}": {text: f"{{{{svc_snippet({step['snippet_id']}, ticket_id, worker_id)}}}}"}}
    return {
        f"set/raw_{number}": {f"raw_{number}@raw": step["text"]},
        f"set/{text}": {text: f"{{{{svc_fill(raw_{number}, ticket_id, worker_id)}}}}"},
    }


def _place(step: Step) -> Tree:
    uri, _colon, id = step["place"].partition(":")
    return {f"{uri}_id": id}


_CHANGES = {
    "take": lambda step: {"owner_id": "me"},
    "assign": lambda step: {"owner_id": step["worker_id"]},
    "unassign": lambda step: {"owner_id": "0"},
    "group_way": lambda step: {assignment.FIELD: "group"},
    "turn": lambda step: {assignment.FIELD: "round_robin"},
    "fewest_open": lambda step: {assignment.FIELD: "fewest_open"},
    "move": _place,
    "status": lambda step: {"status_name_id" if is_whole(step["status"]) else "status": step["status"]},
    "wait": lambda step: {"status": "waiting", "reopen_at@raw": step["until"]},
    "close": lambda step: {"status": "closed"},
    "tags": lambda step: {"tags@raw": step["tags"]},
    "field": lambda step: {f"{step['field']}@raw": step.get("value", "")},
    "importance": lambda step: {"importance@int": step["importance"]},
    "watch": lambda step: {"links": [f"worker:{step['worker_id']}"]},
}


def _add(changes: Tree, more: Tree) -> None:
    """Adds changes: tags and links to those that are there, while a later status or owner replaces the earlier one."""
    if more.keys() & {"status", "status_name_id"}:
        for name in ("status", "status_name_id", "reopen_at@raw"):
            changes.pop(name, None)
    if more.keys() & {"owner_id", assignment.FIELD}:
        for name in ("owner_id", assignment.FIELD):
            changes.pop(name, None)
    for name, value in more.items():
        if name == "tags@raw" and name in changes:
            changes[name] = f"{changes[name]}, {value}"
        elif name == "links":
            changes[name] = [*changes.get(name, []), *value]
        else:
            changes[name] = value


def _strict(tree: Any) -> Any:
    """Commands that end the macro if they fail, so that whoever runs it reads why."""
    if not isinstance(tree, dict):
        return tree
    return {name: _strict(value) for name, value in tree.items() if name != "on_error"}


# -- records that steps name -------------------------------------------------------------------------------------------


def require_intact(ctx: Context, macro: Macro) -> None:
    """Refuses to run a form whose steps name records that no longer exist. Raises Invalid."""
    steps = _stored_steps(macro.form, macro.automation.script)
    if not steps:
        return
    named = rule_steps.references(steps)
    present = ctx.service.store.read(lambda tx: _present(ctx, tx, named))
    for each in named:
        if (each.uri, each.id) not in present:
            raise Invalid(
                lazy_gettext(
                    "the macro “{macro}” cannot run: step {number} names a {type} that no longer exists. Open the "
                    "macro under Settings, Macros and choose another one",
                    macro=macro.label,
                    number=each.place + 1,
                    type=_type_name(ctx, each.uri),
                ),
                field="macro",
            )


def lost_sentence(ctx: Context, uri: str) -> str:
    """The mistake of a field whose record no longer exists."""
    return _("The {type} no longer exists. Choose another one.", type=_type_name(ctx, uri))


def _type_name(ctx: Context, uri: str) -> str:
    return str(shown(ctx.service.registry.type(uri).label_names[0])).lower()


def _with_lost(ctx: Context, tx: Transaction, forms: list[MacroForm]) -> list[MacroForm]:
    """Adds to each form the places of lost records, with one statement for each type of record."""
    named = {each.id: rule_steps.references(each.steps) for each in forms}
    owners = [
        NamedRecord(0, OWNER, short_context(each.owner[0]), each.owner[1])
        for each in forms
        if each.owner[0] in (GROUP, WORKER)
    ]
    present = _present(ctx, tx, [*owners, *(one for several in named.values() for one in several)])
    return [_lost(each, named[each.id], present) for each in forms]


def _lost(form: MacroForm, named: Iterable[NamedRecord], present: Collection[tuple[str, int]]) -> MacroForm:
    lost = [(f"steps.{one.place}.{one.part}", one.uri) for one in named if (one.uri, one.id) not in present]
    if form.owner[0] in (GROUP, WORKER) and (short_context(form.owner[0]), form.owner[1]) not in present:
        lost.append((OWNER, short_context(form.owner[0])))
    return replace(form, lost=tuple(lost)) if lost else form


def _present(ctx: Context, tx: Transaction, named: Iterable[NamedRecord]) -> set[tuple[str, int]]:
    """Returns (type, id) of the named records that exist."""
    ids: dict[str, set[int]] = {}
    for each in named:
        ids.setdefault(each.uri, set()).add(each.id)
    return {(uri, id) for uri, wanted in ids.items() for id in _existing(ctx, tx, uri, wanted)}


def _existing(ctx: Context, tx: Transaction, uri: str, ids: Iterable[int]) -> list[int]:
    table = ctx.service.registry.type(uri).table.sql
    rows = tx.rows(lambda: table.select(table.id).where(in_list(table.id, slot(0))), (json.dumps(sorted(ids)),))
    return [id for (id,) in rows]


# -- saving ------------------------------------------------------------------------------------------------------------


def check(ctx: Context, values: Any) -> list[dict[str, str]]:
    """Returns checked steps. Raises Invalid and Required with all mistakes, Forbidden for a step of administrators."""
    steps = rule_steps.read(values)
    allowed = {each.name for each in kinds(ctx)}
    for place, each in enumerate(steps):
        if each["kind"] not in _NAMES:
            raise Invalid(f"steps.{place}: macros have no step '{each['kind']}'", field=f"steps.{place}")
        if each["kind"] not in allowed:
            raise Forbidden(_("only administrators can save this step"), field=f"steps.{place}.url")
    return steps


def save(
    ctx: Context,
    label: str,
    owner: tuple[str, int],
    values: Any,
    *,
    sends: bool,
    id: int = 0,
    version: int = 0,
) -> int:
    """Creates a macro, or changes one, and returns its id. owner: context and id. values: the steps as maps of texts.
    version: the one that was edited, 0 to skip the check.

    Raises Required, Invalid with all mistakes, Forbidden, and Conflict for a name that the owner has used or a version
    that somebody else has saved since."""
    mistakes = Mistakes()
    label = label.strip().rstrip(" .")
    with mistakes.collect():
        if not label:
            raise Required(_("name is required"), field="name")
        if len(label) > MAX_LABEL_CHARS or "\n" in label:
            raise Invalid(_("at most {count} characters", count=MAX_LABEL_CHARS), field="name")
    steps: list[dict[str, str]] = []
    with mistakes.collect():
        steps = check(ctx, values)
    mistakes.require_none()
    fields = fields_of(label, steps, sends=sends)

    def write(tx: Transaction) -> int:
        writing = RecordWriter(ctx, tx)
        automation = writing.registry.type(URI)
        _require_owner(ctx, tx, owner)
        _require_free_label(ctx, tx, label, owner, id)
        _require_usable_snippets(writing, steps, owner)
        script_writer = _script_writer(ctx, tx)
        if id:
            before = _managed(writing, id)
            if version and before["version"] != version:
                text = _("Somebody saved this macro while you were editing. Save again to replace it.")
                raise Conflict(text, version=before["version"])
            script_writer.update_sent(automation, id, fields)
            new_id = id
        else:
            name = f"macro.{_slug(label)}.{random_text(6)}"
            new_id = script_writer.create_sent(automation, {"name": name, "extension_id": MACRO, **fields})
        tx.set(automation.table, new_id, {"available_context": owner[0], "available_id": owner[1]})
        return new_id

    return ctx.service.store.write(write)


def fields_of(label: str, steps: Sequence[Step], *, sends: bool) -> dict[str, Any]:
    """Returns the fields of the automation of a macro. steps: checked ones."""
    script = script_of(steps, sends)
    form = {"steps": steps, "sends": sends, "script": _digest(script)}
    return {"description": label, "script": script, "policy_kata": policy_of(steps), "form": form}


def delete(ctx: Context, id: int) -> bool:
    """Deletes a macro that the worker manages. Returns whether they can restore it. Raises NotFound, Forbidden."""

    def write(tx: Transaction) -> bool:
        record = _managed(RecordReader(ctx, tx), id)
        writing = _script_writer(ctx, tx)
        writing.delete_sent(writing.registry.type(URI), id)
        return undoable_deletions.store(ctx, tx, URI, id, {name: record[name] for name in (*TEXTS, "form", *HIDDEN)})

    return ctx.service.store.write(write)


def restore(ctx: Context, id: int) -> str:
    """Creates a macro again that the worker has deleted, with its id; returns its label. Raises NotFound, Forbidden."""

    def write(tx: Transaction) -> str:
        stored = undoable_deletions.take(ctx, tx, URI, id)
        owner = (str(stored["available_context"]), int(stored["available_id"]))
        if not _may_manage(ctx, tx, owner, _stored_steps(stored["form"] or {}, stored["script"])):
            raise Forbidden(_("You can no longer manage this macro."))
        writing = _script_writer(ctx, tx)
        automation = writing.registry.type(URI)
        writing.create_sent(automation, {name: value for name, value in stored.items() if name not in HIDDEN}, id)
        tx.set(automation.table, id, {name: stored[name] for name in HIDDEN})
        return listing.of_row(_macro_record(RecordReader(ctx, tx), id)).label

    return ctx.service.store.write(write)


def count_use(tx: Transaction, id: int, now: int) -> None:
    """Counts a run in the transaction of its changes."""
    table = table_named("automation")
    tx.run(
        lambda: table.update({table.c.uses: table.c.uses + 1, table.c.last_used_at: slot(0)}).where(
            table.c.id == slot(1)
        ),
        (now, id),
    )


def _script_writer(ctx: Context, tx: Transaction) -> RecordWriter:
    """The worker with the right to write automations: the script is the service's, and its owner has been checked."""
    return RecordWriter(ctx.as_actor(replace(ctx.actor, is_admin=True), ctx.tz), tx)


def _managed(reading: RecordReader, id: int) -> Record:
    """Returns a macro that the worker manages. Raises NotFound, Forbidden."""
    record = _macro_record(reading, id)
    stored = _form(record)
    if not _may_manage(reading.ctx, reading.tx, stored.owner, stored.steps):
        raise Forbidden(_("You can change your own macros and those of groups that you manage."))
    return record


def _require_owner(ctx: Context, tx: Transaction, owner: tuple[str, int]) -> None:
    context, id = owner
    if context not in (APP, GROUP, WORKER) or (context == APP) != (id == 0):
        raise Invalid(_("choose who can use it"), field=OWNER)
    if not record_owners.may_own_as(tx, ctx.actor, context, id):
        raise Forbidden(_("you can choose yourself and groups that you manage"), field=OWNER)
    if context != APP and tx.get(ctx.service.registry.type(short_context(context)).table, id) is None:
        raise Invalid(_("choose who can use it"), field=OWNER)


def _require_free_label(ctx: Context, tx: Transaction, label: str, owner: tuple[str, int], id: int) -> None:
    automation = ctx.service.registry.type(URI)
    rows = tx.find(automation.table, extension_id=MACRO, available_context=owner[0], available_id=owner[1])
    same = (listing.of_row(automation.record(row)) for row in rows)
    if any(each.id != id and each.label.casefold() == label.casefold() for each in same):
        raise Conflict(about_field("name", lazy_gettext("there is a macro {name} already", name=label)), field="name")


def _require_usable_snippets(writing: RecordWriter, steps: Sequence[Step], owner: tuple[str, int]) -> None:
    """Requires that everybody who may use the macro may read its snippets."""
    mistakes = Mistakes()
    for place, step in enumerate(steps):
        id = int(step.get("snippet_id") or 0)
        with mistakes.collect():
            if not id:
                continue
            field = f"steps.{place}.snippet_id"
            snippet = writing.record("snippet", id)
            if snippet is None or not writing.may_read("snippet", id):
                raise Invalid(_("choose one from the list"), field=field)
            whose = (snippet["owner__context"], snippet["owner_id"])
            if owner[0] != WORKER and whose not in ((APP, 0), owner):
                raise Invalid(
                    _("others cannot use this snippet; choose one of the same group or of everybody"), field=field
                )
    mistakes.require_none()


# -- trying ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MacroTrial:
    """What a macro would do. result: what it returns, None if it fails. message: why it fails. others: the labels of
    steps that are commands, which run before."""

    result: MacroResult | None
    message: str
    others: tuple[Words, ...] = ()


def try_form(ctx: Context, ticket_id: int, values: Any, *, sends: bool) -> MacroTrial:
    """Simulates steps on a ticket with the rights of the worker: nothing is written or sent. Raises NotFound, Forbidden
    for a ticket that the worker may not change, Required and Invalid for a mistake in a step."""
    records.require(ctx, "ticket", "update", ticket_id)
    steps = check(ctx, values)
    script = Script(script_of(steps, sends), policy_of(steps), trigger=MACRO)
    given = listing.values_of(ctx, ticket_id) | {"inputs": {}}
    run = examples.simulate(ctx, script, given)
    if run.state != "return":
        return MacroTrial(None, run.message)
    others = tuple(rule_steps.kind_of(each).label for each in steps if _is_command(each))
    return MacroTrial(macro_result.read(run.returned, ctx.actor.worker_id), "", others)


def script_text(ctx: Context, values: Any, *, sends: bool) -> str:
    """Returns the script that steps become. Raises Required, Invalid with all mistakes, Forbidden."""
    return script_of(check(ctx, values), sends)


# -- stored forms ------------------------------------------------------------------------------------------------------


def _form(record: Record) -> MacroForm:
    macro = listing.of_row(record)
    steps = _stored_steps(macro.form, record["script"])
    return MacroForm(
        record["id"],
        record["name"],
        macro.label,
        (record["available_context"], record["available_id"]),
        steps,
        sends=bool(macro.form.get("sends")),
        is_form=bool(steps),
        was_form=bool(macro.form) and not steps,
        uses=record["uses"],
        last_used_at=record["last_used_at"],
        version=record["version"],
        script=record["script"],
    )


def _stored_steps(form: Mapping[str, Any], script: str) -> list[dict[str, str]]:
    """Returns the steps of a form, [] if the script was edited since."""
    if not form or form.get("script") != _digest(script):
        return []
    try:
        return rule_steps.read(form.get("steps"))
    except Invalid:  # written by a version with other steps
        return []


def _digest(script: str) -> str:
    return hashlib.blake2b(script.encode(), digest_size=16).hexdigest()


def _slug(label: str) -> str:
    """The label as part of the name of an automation.

    >>> _slug("Ask for: the serial number")
    'ask_for_the_serial_number'
    """
    return re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")[:40] or "macro"
