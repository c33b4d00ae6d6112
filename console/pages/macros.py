"""Macros: a list for every worker, and a form of steps for those who manage them."""

from collections.abc import Mapping, Sequence
from typing import Any

from console.forms.step_form import StepForm
from console.html.form import Form
from console.html.rendering import render
from console.html.ui import Option, Sample
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup, row_view
from console.lists.cells import DrawnColumns
from console.lists.rows import RowFilter, RowPage, RowQuery, RowSource, of_all
from console.lists.worklist import Worklist, declare
from console.tickets.trial_tickets import trial_tickets
from server.automation.macros import forms
from server.automation.macros.forms import MacroForm, MacroTrial
from server.contexts import APP, GROUP, WORKER
from server.errors import HelpdeskError, Invalid
from server.people.owner_choices import own, owner_choices, owner_label
from server.record_types.field_labels import field_label
from server.record_types.shared import record_owners
from server.record_types.shared.triggers import MACRO
from server.translation import N_, _, shown

Owner = tuple[str, int]  # context and id
BASE = "/macros"
FIELDS = ("name", "owner", "sends", "ticket", "version")
LABELS = {"name": N_("Name"), "owner": N_("Available to"), "steps": N_("Steps"), "ticket": N_("Ticket")}
TEXT_BYTES = 2 * 1024 * 1024


def _label_of(visit: Visit, owner: Owner, names: Mapping[Owner, str]) -> str:
    """An owner in words. names: of groups and other workers."""
    if owner[0] not in (GROUP, WORKER) or owner == (WORKER, visit.actor.worker_id):
        return owner_label(visit.ctx, owner[0] or APP, owner[1], "")
    return owner_label(visit.ctx, *owner, names[owner]) if owner in names else _("Deleted")


def _names(visit: Visit, listed: Sequence[MacroForm]) -> dict[Owner, str]:
    """The names of the groups, and of the other workers whose macros an administrator lists."""
    names: dict[Owner, str] = {}
    for uri, context in (("group", GROUP), ("worker", WORKER)):
        ids = {each.owner[1] for each in listed if each.owner[0] == context and each.owner[1]}
        ids -= {visit.actor.worker_id} if context == WORKER else set()
        found = lookup.choices(visit, uri, f"id:[{','.join(map(str, sorted(ids)))}]") if ids else []
        names |= {(context, int(id)): name for id, name in found}
    return names


def _rows(visit: Visit, query: RowQuery) -> RowPage:
    listed = forms.list_macros(visit.ctx)
    names = _names(visit, listed)
    rows = [
        {
            "id": each.id,
            "_label": each.label,
            "name": each.label.lower(),
            "owner": _label_of(visit, each.owner, names),
            "whose": {WORKER: "worker", GROUP: "group"}.get(each.owner[0], "everybody"),
            "uses": each.uses,
            "last_used_at": each.last_used_at,
            "kind": _("Form") if each.is_form else _("Script"),
            "is_lost": bool(each.lost),
        }
        for each in listed
    ]
    wanted = query.filters.get("whose", "")
    return of_all([each for each in rows if wanted in ("", each["whose"])], query)


def _whose(visit: Visit) -> list[Option]:
    return [("", _("All")), ("worker", _("Personal")), ("group", _("Of groups")), ("everybody", _("Everybody's"))]


SAMPLE = Sample("GET", "/rest/records/automation/search.json", [("q", f"trigger:{MACRO}")])
_column = DrawnColumns("macros")
LIST = declare(
    Worklist(
        "macros",
        BASE,
        N_("Macros"),
        ("macro", "owner", "kind", "uses", "last_used_at"),
        own=(
            _column("macro", N_("Name"), "name", "main", value=lambda row, more: row["_label"]),
            _column("owner", N_("Available to"), "owner"),
            _column("kind", N_("Built as"), "kind"),
            _column("uses", N_("Uses"), "uses", "number"),
            _column("last_used_at", N_("Last used"), "last_used_at", is_time=True),
        ),
        sort="name",
        changes="worker",
        new=(f"{BASE}/new", N_("New macro")),
        empty=N_("No macros yet. A macro does several steps on a ticket at once, such as reply, close and tag."),
        none=N_("No macro matches."),
        source=RowSource(_rows, (RowFilter("whose", N_("Available to"), _whose),), SAMPLE),
    )
)


@page("GET", BASE, "worker")
def show_list(visit: Visit) -> PageResponse:
    """The macros that the worker may run or manage."""
    return row_view.page(visit, LIST)


# -- the form ----------------------------------------------------------------------------------------------------------


class MacroEditor:
    """The form in one request. stored: None for a new macro. trial: a simulation with the submitted steps."""

    def __init__(self, visit: Visit, stored: MacroForm | None, form: Form) -> None:
        self.visit, self.stored, self.form = visit, stored, form
        self.then = StepForm(visit, form, forms.kinds(visit.ctx))
        self.trial: MacroTrial | None = None
        self.script = ""

    @property
    def owners(self) -> list[Option]:
        """Who can use it. The present owner is offered even if the worker may not choose them."""
        owners = list(owner_choices(self.visit.ctx))
        if self.stored is not None and (present := _owner_text(self.stored)) not in dict(owners):
            owners.append((present, _label_of(self.visit, self.stored.owner, _names(self.visit, [self.stored]))))
        return owners

    @property
    def tickets(self) -> list[Option]:
        return trial_tickets(self.visit)

    @property
    def changes(self) -> list[tuple[str, str]]:
        """The changes of the trial in words: the label of a field and its value."""
        result = self.trial.result if self.trial is not None else None
        return [self._change(name, value) for name, value in (result.changes if result is not None else {}).items()]

    def _change(self, name: str, value: Any) -> tuple[str, str]:
        if name == "links":
            ids = [str(each).partition(":")[2] for each in value]
            return _("Watchers"), ", ".join(self._named("worker", ids))
        if name.startswith("custom_"):
            [label] = self._named("custom_field", [name.removeprefix("custom_")]) or [name]
            return label, str(value)
        field = self.visit.service.registry.type("ticket").fields.get(name)
        target = str(getattr(field, "target", "")) if name.endswith("_id") else ""
        names = self._named(target, [str(value)]) if target and str(value) != "0" else []
        return shown(field_label(name)), ", ".join(names) or (_("nobody") if str(value) == "0" else str(value))

    def _named(self, uri: str, ids: Sequence[str]) -> list[str]:
        """The names of records."""
        return [label for _id, label in lookup.choices(self.visit, uri, f"id:[{','.join(ids)}]")]

    @property
    def labels(self) -> dict[str, Any]:
        return {**LABELS, **self.then.labels}

    def note_lost(self) -> "MacroEditor":
        """Shows at its field what no longer exists."""
        for place, uri in self.stored.lost if self.stored is not None else ():
            self.form.fail(place.replace(".", "-"), forms.lost_sentence(self.visit.ctx, uri))
        self.form.status = 200
        return self

    def save(self) -> PageResponse | None:
        """Stores the macro; None if there is a mistake."""
        visit, form = self.visit, self.form
        values = self.then.values()
        if form.is_wrong:
            return None
        try:
            owner = record_owners.typed_owner(visit.service.registry, form.get("owner"), "owner")
            id = forms.save(
                visit.ctx,
                form.get("name"),
                owner,
                values,
                sends=form.get("sends") == "1",
                id=self.stored.id if self.stored is not None else 0,
                version=int(form.get("version") or 0),
            )
        except HelpdeskError as error:
            self.then.refuse(error)
            form.values["version"] = str(error.details.get("version", form.get("version")))
            return None
        name = form.text("name")
        visit.flash(_("{name} saved.", name=name) if self.stored is not None else _("{name} created.", name=name))
        return see(f"{BASE}/{id}")

    def try_on(self) -> None:
        """Simulates the submitted steps on the chosen ticket."""
        values = self.then.values()
        if self.form.is_wrong:
            return
        try:
            id = lookup.chosen_id(self.visit, "ticket", self.form.get("ticket"), "ticket")
            if not id:
                raise Invalid(_("Choose a ticket."), field="ticket")
            self.trial = forms.try_form(self.visit.ctx, id, values, sends=self.form.get("sends") == "1")
        except HelpdeskError as error:
            self.then.refuse(error)

    def show_script(self) -> None:
        """Shows what the submitted steps become."""
        values = self.then.values()
        if self.form.is_wrong:
            return
        try:
            self.script = forms.script_text(self.visit.ctx, values, sends=self.form.get("sends") == "1")
        except HelpdeskError as error:
            self.then.refuse(error)

    def show(self) -> PageResponse:
        return render(
            self.visit,
            "macro.html",
            self.form.status,
            editor=self,
            form=self.form,
            macro=self.stored,
            label_of=field_label,
        )


def _owner_text(macro: MacroForm) -> str:
    context, id = macro.owner
    return f"{context or APP}:{id}"


@page("GET", f"{BASE}/new", "worker")
def show_new(visit: Visit) -> PageResponse:
    """The form of a new macro, with two steps to begin with."""
    form = Form.from_values({"owner": own(visit.ctx), "name": "", "sends": "", "version": "0", "ticket": ""})
    editor = MacroEditor(visit, None, form)
    editor.then.fill([{"kind": "answer"}, {"kind": "close"}])
    return editor.show()


@page("GET", f"{BASE}/{{id}}", "worker")
def show(visit: Visit) -> PageResponse:
    """A macro: its form for those who manage it, else what it does. Raises NotFound, Forbidden."""
    stored = forms.macro_form(visit.ctx, visit.id)
    may_manage = forms.may_manage(visit.ctx, stored)
    if not stored.is_form or not may_manage:
        owner = _label_of(visit, stored.owner, _names(visit, [stored]))
        return render(visit, "macro_script.html", macro=stored, owner=owner, may_manage=may_manage)
    form = Form.from_values(
        {
            "name": stored.label,
            "owner": _owner_text(stored),
            "sends": "1" if stored.sends else "",
            "version": stored.version,
            "ticket": "",
        }
    )
    editor = MacroEditor(visit, stored, form)
    editor.then.fill(stored.steps)
    return editor.note_lost().show()


@page("POST", f"{BASE}/new", "worker", form_bytes=TEXT_BYTES, creates=True)
@page("POST", f"{BASE}/{{id}}", "worker", form_bytes=TEXT_BYTES)
def submit(visit: Visit) -> PageResponse:
    """Adds, removes or moves a step, tries the macro, shows its script, or saves it. Raises NotFound, Forbidden."""
    stored = forms.managed_form(visit.ctx, visit.id) if visit.record_id else None
    form = Form.sent(visit.form, FIELDS)
    editor = MacroEditor(visit, stored, form)
    editor.then.read()
    pressed = visit.form.text("do", "save")
    if editor.then.is_pressed:
        return editor.show()
    if pressed == "try":
        editor.try_on()
    elif pressed == "script":
        editor.show_script()
    elif (done := editor.save()) is not None:
        return done
    return editor.show()


@page("POST", f"{BASE}/{{id}}/delete", "worker")
def delete(visit: Visit) -> PageResponse:
    """Deletes a macro, with an undo. Raises NotFound, Forbidden."""
    label = forms.macro_form(visit.ctx, visit.id).label
    undo = f"{BASE}/{visit.id}/restore" if forms.delete(visit.ctx, visit.id) else ""
    visit.flash(_("{name} deleted.", name=label), undo)
    return see(BASE)


@page("POST", f"{BASE}/{{id}}/restore", "worker")
def restore(visit: Visit) -> PageResponse:
    """Restores a macro that the worker has deleted. Raises NotFound, Forbidden."""
    label = forms.restore(visit.ctx, visit.id)
    visit.flash(_("{name} restored.", name=label))
    return see(BASE)
