"""Controls of record forms: which control a field gets, how it shows a stored value, and which value is submitted.
record_form.py combines them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from markupsafe import Markup

from console.forms import owners
from console.html import ui
from console.html.form import Form
from console.html.ui import ChooserOptions, Option
from console.http.visit import Visit
from console.lists import lookup
from server.contexts import WORKER
from server.dataclass import dataclass
from server.fields import ContextName
from server.record_types import field_inputs, field_roles
from server.record_types.field_inputs import OWNER
from server.record_types.field_labels import field_label
from server.record_types.record_type import RecordType
from server.record_types.registry import Registry
from server.record_types.shared import record_owners
from server.record_types.shared.custom import FieldDefinition
from server.translation import N_, Words, shown

SEVERAL_LINES = ("area", "code", "editor", "json", "lines")
KEPT = N_("Leave blank to keep the stored value.")


@dataclass(frozen=True)
class Control:
    """A control. Whatever is not given follows from the field.

    name: of a field of the record, or of the page alone. hint: None for the field's note, if that is written for
    people. kind: line, email, url, number, date, password, tel, zone, time, area, code, editor (of KATA), json, lines,
    tick, ticks, choice, chooser, owner, hidden. options: of a choice. ticks: options with their meanings. none: the
    label of no choice, "" if one must be chosen. target, query: the records of a chooser. attributes: of the element.
    is_own: whether it belongs to the page rather than the record. is_drawn: whether the page renders it itself.
    is_kept: whether blank means unchanged, as for secrets, which are never shown. blank: the value that blank stands
    for. also: fields whose mistakes are shown here. decimals: of a stored number. heading: of the section that begins
    with it."""

    name: str
    label: Words = ""
    hint: Words | None = None
    kind: str = ""
    options: Sequence[Option] = ()
    ticks: Sequence[tuple[str, Words, Words]] = ()
    none: Words | None = None
    target: str = ""
    query: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    is_own: bool = False
    is_drawn: bool = False
    is_kept: bool = False
    blank: str = ""
    also: tuple[str, ...] = ()
    decimals: int = 0
    heading: Words = ""

    @property
    def is_several(self) -> bool:
        """Whether it is sent as a list."""
        return self.kind == "ticks"

    @property
    def is_required(self) -> bool:
        return bool(self.attributes.get("required"))


def editor_of(text: str, trigger: str) -> dict[str, Any]:
    """The attributes of an editor that checks and completes a text while it is typed. text: binding or toolbar.
    trigger: of the automations that it names."""
    return {"check": f"/-/check/{text}", "data_words": f"/-/words/{text}?trigger={trigger}"}


def of_field(registry: Registry, record_type: RecordType, control: Control) -> Control:
    """A control completed by what its field declares."""
    declared = record_type.fields.get(control.name)
    if control.name == "owner" and set(OWNER) <= set(record_type.fields):
        return _owner(record_type, control)
    if declared is None or control.is_own:
        return replace(
            control,
            label=control.label or field_label(control.name),
            hint=control.hint or "",
            kind=control.kind or "line",
        )
    label = control.label or field_label(control.name)
    entry = field_inputs.input_of(registry, declared, label, kind=control.kind, target=control.target)
    return replace(
        control,
        kind=entry.kind,
        label=label,
        target=entry.target,
        hint=entry.hint if control.hint is None else control.hint,
        options=control.options or entry.options,
        none=entry.none if control.none is None else control.none,
        attributes={**entry.limits, **control.attributes},
        is_kept=control.is_kept or entry.kind == "password",
        also=(*control.also, *filter(None, (declared.alternative_to,))),
    )


def of_custom(registry: Registry, custom: FieldDefinition) -> Control:
    """The control of a field that administrators added."""
    entry = field_inputs.custom_input(registry, custom)
    return Control(
        f"custom_{custom.id}",
        custom.name,
        entry.hint,
        entry.kind,
        entry.options,
        [(each, each, "") for each in custom.options],
        entry.none,
        entry.target,
        decimals=entry.decimals,
        also=(custom.uri,),
        heading=field_roles.HEADINGS[field_roles.CUSTOM],
    )


def _owner(record_type: RecordType, control: Control) -> Control:
    is_required = record_type.fields[OWNER[0]].required
    none = N_("Nobody") if not is_required else ""
    label = control.label or N_("Belongs to")
    return replace(control, label=label, kind="owner", none=none, hint=control.hint or "", also=OWNER)


# -- what it shows -----------------------------------------------------------------------------------------------------


def text_of(visit: Visit, control: Control, value: Any) -> str:
    """A stored value as the control has it."""
    if value in (None, "", [], {}) or control.kind == "password" or str(value) == control.blank:
        return ""
    if control.kind == "tick":
        return "1" if value else ""
    if control.kind == "time":
        return ui.time_text(visit, value)
    if control.kind == "json":
        return json.dumps(value, ensure_ascii=False, indent=1)
    if isinstance(value, list):
        return "\n".join(map(str, value))
    if control.kind == "chooser" or (control.kind == "number" and control.name.endswith("_id")):
        return "" if not value else str(value)
    return f"{value / 10**control.decimals:.{control.decimals}f}" if control.decimals else str(value)


def html(visit: Visit, control: Control, form: Form) -> Markup:
    """The control as HTML, with its value in the form."""
    hints = (control.hint, KEPT if control.is_kept and control.kind != "password" else "")
    hint = " ".join(shown(each) for each in hints if each)
    return ui.control_field(form, control, hint, _choices(visit, control, form))


def _choices(visit: Visit, control: Control, form: Form) -> ChooserOptions | Sequence[Option]:
    """The options of the control."""
    present = form.get(control.name)
    if control.kind == "chooser":
        return lookup.choosable(visit, control.target, control.query, present)
    if control.kind == "owner":
        return owners.choosable(visit, present)
    values = {value for value, _label in control.options}
    first = [("", control.none)] if control.none and "" not in values else []
    other = [(present, present)] if present and present not in values else []  # or the form would choose another
    return [*first, *control.options, *other]


# -- what is sent ------------------------------------------------------------------------------------------------------


def values_of(visit: Visit, control: Control, form: Form) -> dict[str, Any]:
    """The value to store for the typed text. Raises Invalid for a name that matches no record or several."""
    name, text = control.name, form.get(control.name)
    if control.kind == "tick":
        return {name: "1" if text == "1" else "0"}
    if control.kind == "ticks":
        return {name: list(form.several.get(name, []))}
    if control.kind == "owner":
        context, id = record_owners.typed_owner(visit.service.registry, text, name) if text.strip() else ("", 0)
        return {OWNER[0]: context, OWNER[1]: str(id)}
    if control.kind == "chooser":
        id = lookup.chosen_id(visit, control.target, text, name)
        return {name: str(id) if id else "0" if not name.startswith("custom_") else ""}
    if control.kind == "lines":
        return {name: [line.strip() for line in text.splitlines() if line.strip()]}
    if control.kind in SEVERAL_LINES:
        return {name: text.replace("\r\n", "\n")}
    return {name: text if control.kind == "password" else text.strip() or control.blank}


def typed(control: Control, form: Form) -> object:
    """The submitted text or options, independent of how the browser encodes them."""
    if control.is_several:
        return sorted(form.several.get(control.name, []))
    text = form.get(control.name).replace("\r\n", "\n").strip()
    return text == "1" if control.kind == "tick" else text


def is_blank(control: Control, form: Form) -> bool:
    """Whether nothing was typed or chosen; a tick always says something."""
    return control.kind != "tick" and not typed(control, form)


def first_owner(visit: Visit, record_type: RecordType) -> str:
    """The owner of a new record unless another one is chosen: its creator, or everybody for types that workers cannot
    own."""
    declared = record_type.fields[OWNER[0]]
    is_owned = isinstance(declared, ContextName) and record_owners.WORKER in declared.allowed
    return f"{WORKER}:{visit.actor.worker_id}" if is_owned else owners.EVERYBODY
