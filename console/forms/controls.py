"""Controls of record forms: which control a field gets, how it shows a stored value, and which value is submitted.
record_form.py combines them."""

import json
import re
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
from server.fields import Bit, ContextName, Field, Float, Id, Number, Structure, Text, Timestamp, Url
from server.record_types.field_labels import field_label
from server.record_types.record_type import RecordType
from server.record_types.registry import Registry
from server.record_types.shared.custom import FieldDefinition
from server.translation import N_, Words, shown

OWNER = ("owner__context", "owner_id")  # two fields that one control chooses together
LINE_CHARS = 255  # characters; a text that may have more gets several lines
SEVERAL_LINES = ("area", "code", "json", "lines")
KEPT = N_("Leave blank to keep the stored value.")
JSON_HINT = N_("As JSON.")
# Notes of fields that are written for programs: codes, names of fields, what zero means.
_FOR_PROGRAMS = re.compile(r"[`_{}<>;]|\b[0-9]+\b|omitted|also the label|returned|\bid\b|\bId\b|KATA|JSON")
_CUSTOM_KINDS = {
    "C": "tick", "D": "choice", "E": "time", "I": "lines", "L": "chooser", "M": "lines", "N": "number", "T": "area",
    "U": "url", "W": "chooser", "X": "ticks", "svc.custom_field.record.links": "lines",
    "svc.custom_field.slider": "number",
}  # fmt: skip
_CUSTOM_HINTS = {
    "F": N_("The ID of a file."),
    "I": N_("File IDs, one per line."),
    "M": N_("One per line."),
    "svc.custom_field.record.links": N_("Record IDs, one per line."),
    "svc.custom_field.geo.point": N_("Latitude and longitude, such as 47.37, 8.54."),
}


@dataclass(frozen=True)
class Control:
    """A control. Whatever is not given follows from the field.

    name: of a field of the record, or of the page alone. hint: None for the field's note, if that is written for
    people. kind: line, email, url, number, date, password, tel, zone, time, area, code, json, lines, tick, ticks,
    choice, chooser, owner, hidden. options: of a choice. ticks: options with their meanings. none: the label of no
    choice, "" if one must be chosen. target, query: the records of a chooser. attributes: of the element. is_own:
    whether it belongs to the page rather than the record. is_drawn: whether the page renders it itself. is_kept:
    whether blank means unchanged, as for secrets, which are never shown. blank: the value that blank stands for. also:
    fields whose mistakes are shown here. decimals: of a stored number."""

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

    @property
    def is_several(self) -> bool:
        """Whether it is sent as a list."""
        return self.kind == "ticks"

    @property
    def is_required(self) -> bool:
        return bool(self.attributes.get("required"))


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
    target = control.target or _target(registry, declared)
    kind = control.kind or _kind(declared, target)
    label = control.label or field_label(control.name)
    return replace(
        control,
        kind=kind,
        label=label,
        target=target,
        hint=_hint(declared, label) if control.hint is None else control.hint,
        options=control.options or _options(registry, declared),
        none=_none(declared) if control.none is None else control.none,
        attributes={**_attributes(declared, kind), **control.attributes},
        is_kept=control.is_kept or kind == "password",
        also=(*control.also, *filter(None, (declared.alternative_to,))),
    )


def of_custom(registry: Registry, custom: FieldDefinition) -> Control:
    """The control of a field that administrators added."""
    target = _known(registry, custom.target)
    kind = _CUSTOM_KINDS.get(custom.kind, "line")
    options, ticks = [(each, each) for each in custom.options], [(each, each, "") for each in custom.options]
    return Control(
        f"custom_{custom.id}",
        custom.name,
        _CUSTOM_HINTS.get(custom.kind, ""),
        "number" if kind == "chooser" and not target else kind,
        options,
        ticks,
        N_("None"),
        target,
        decimals=custom.decimals if custom.kind in ("O", "Y") else 0,
        also=(custom.uri,),
    )


def _owner(record_type: RecordType, control: Control) -> Control:
    is_required = record_type.fields[OWNER[0]].required
    none = N_("Nobody") if not is_required else ""
    label = control.label or N_("Belongs to")
    return replace(control, label=label, kind="owner", none=none, hint=control.hint or "", also=OWNER)


def _kind(declared: Field, target: str) -> str:
    if isinstance(declared, Number) and declared.words:
        return "choice"
    if isinstance(declared, Text):
        return _kind_of_text(declared)
    if isinstance(declared, Id):
        return "chooser" if target else "number"
    for kind, control in _KINDS:
        if isinstance(declared, kind):
            return control
    return "line"


_KINDS: tuple[tuple[type[Field], str], ...] = (
    (Bit, "tick"),
    (Timestamp, "time"),
    (Float, "line"),
    (Number, "number"),
    (ContextName, "choice"),
    (Structure, "json"),
)
_FORMS = {"email": "email", "timezone": "zone", "date": "date", "yaml": "code", "kata": "code"}


def _kind_of_text(declared: Text) -> str:
    if declared.name.endswith(("password", "secret")):
        return "password"
    if declared.allowed:
        return "choice"
    if isinstance(declared, Url):
        return "url"
    return _FORMS.get(declared.form) or ("area" if declared.max > LINE_CHARS and not declared.one_line else "line")


def _target(registry: Registry, declared: Field) -> str:
    """The record type that a chooser searches, "" if it cannot be searched."""
    return _known(registry, declared.target) if isinstance(declared, Id) and not declared.target_from else ""


def _known(registry: Registry, name: str) -> str:
    record_type = registry.find(name) if name else None
    return record_type.uri if record_type is not None and record_type.offers("search") else ""


def _options(registry: Registry, declared: Field) -> Sequence[Option]:
    if isinstance(declared, Text):
        return [(each, each) for each in declared.allowed if each]
    if isinstance(declared, Number):
        return [(str(number), word) for number, word in enumerate(declared.words)]
    if isinstance(declared, ContextName):
        types = [(each.context, each.label_names[0]) for each in registry if each.context]
        return [(context, label) for context, label in types if not declared.allowed or context in declared.allowed]
    return ()


def _none(declared: Field) -> Words:
    """What choosing none is called."""
    if isinstance(declared, Id):
        return N_("None") if declared.zero_ok or not declared.required else ""
    is_chosen = declared.required or declared.default or getattr(declared, "words", ())
    return "" if is_chosen else N_("None")


def _hint(declared: Field, label: Words) -> Words:
    if isinstance(declared, Structure):
        return JSON_HINT
    note = declared.note
    tells_more = note.rstrip(".").lower() != shown(label).lower()
    return note if tells_more and not _FOR_PROGRAMS.search(note) else ""


def _attributes(declared: Field, kind: str) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    if declared.required and kind not in ("tick", "ticks") and not getattr(declared, "blank_ok", False):
        attributes["required"] = True
    if isinstance(declared, Text) and kind not in ("choice", "json", "tick"):
        attributes["maxlength"] = declared.max
    if kind == "number" and isinstance(declared, Number):
        attributes |= {
            "min": declared.min if "min" in declared.limits() or declared.min == 0 else None,
            "max": declared.limits().get("max"),
        }
    return attributes


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
        context, id = owners.chosen(visit, text, name) if text.strip() else ("", 0)
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


def first_owner(visit: Visit) -> str:
    """Who owns a new record unless another owner is chosen: who makes it."""
    return f"{WORKER}:{visit.actor.worker_id}"
