"""How people enter the value of a field: the kind of input, its choices and limits, and the notes that are written for
people. Forms are built from it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from server.dataclass import dataclass
from server.fields import (
    Bit,
    ContextName,
    CreatedAt,
    CustomValues,
    Field,
    Fieldsets,
    Float,
    Id,
    IdList,
    Image,
    Number,
    References,
    Structure,
    Text,
    Timestamp,
    Url,
)
from server.record_types import field_roles
from server.record_types.record_type import RecordType
from server.record_types.registry import Registry
from server.record_types.shared.custom import FieldDefinition
from server.translation import N_, Words, shown

OWNER = ("owner__context", "owner_id")  # two fields that people choose together
_OTHERWISE = (CreatedAt, CustomValues, Fieldsets, IdList, Image, References)  # set in other ways than by an input
LINE_CHARS = 255  # characters; a text that may have more gets several lines
JSON_HINT = N_("As JSON.")
# Notes of fields that are written for programs: codes, names of fields, what zero means.
_FOR_PROGRAMS = re.compile(r"[`_{}<>;]|\b[0-9]+\b|omitted|also the label|returned|\bid\b|\bId\b|KATA|JSON")
_PLACES_OF_KINDS = {"choice": 0, "tick": 2, "area": 3, "code": 3, "json": 3}  # among fields of one role; others: 1
_KINDS: tuple[tuple[type[Field], str], ...] = (
    (Bit, "tick"),
    (Timestamp, "time"),
    (Float, "line"),
    (Number, "number"),
    (ContextName, "choice"),
    (Structure, "json"),
)
_TEXT_FORMS = {"email": "email", "timezone": "zone", "date": "date", "yaml": "code", "kata": "code"}
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
class FieldInput:
    """The input of a field. kind: as in Control of the console's forms. options: (value, label) to choose from. none:
    the label of no choice, "" if one must be chosen. target: the record type to choose from. limits: required,
    maxlength, min and max. decimals: of a number that is stored as a whole one."""

    kind: str
    hint: Words = ""
    options: Sequence[tuple[str, Words]] = ()
    none: Words = ""
    target: str = ""
    limits: Mapping[str, Any] = field(default_factory=dict)
    decimals: int = 0


def input_of(registry: Registry, declared: Field, label: Words, *, kind: str = "", target: str = "") -> FieldInput:
    """Returns the input of a field. label: as the form shows it. kind, target: in place of those of the field."""
    target = target or _target(registry, declared)
    kind = kind or _kind(declared, target)
    return FieldInput(
        kind, _hint(declared, label), _options(registry, declared), _none(declared), target, _limits(declared, kind)
    )


def custom_input(registry: Registry, custom: FieldDefinition) -> FieldInput:
    """Returns the input of a field that administrators added."""
    target, kind = _searchable(registry, custom.target), _CUSTOM_KINDS.get(custom.kind, "line")
    return FieldInput(
        "number" if kind == "chooser" and not target else kind,
        _CUSTOM_HINTS.get(custom.kind, ""),
        [(each, each) for each in custom.options],
        N_("None"),
        target,
        decimals=custom.decimals if custom.kind in ("O", "Y") else 0,
    )


def entered_fields(record_type: RecordType, stored: Mapping[str, Any] | None) -> dict[str, bool]:
    """Returns the fields that people enter, in the order of their roles: {name: whether its stored value is hidden}.
    `owner` stands for the two fields of an owner. stored: the values of a record that its readers see, None for a new
    record."""
    names = list(record_type.fields)
    if set(OWNER) <= set(names):
        names = [*(name for name in names if name not in OWNER), "owner"]
    names.sort(key=lambda name: (*field_roles.order(record_type, name), _place(record_type.fields.get(name))))
    return {
        name: stored is not None and name not in stored and name != "owner"
        for name in names
        if name == "owner" or _is_entered(record_type.fields[name], stored)
    }


def _is_entered(declared: Field, stored: Mapping[str, Any] | None) -> bool:
    """Whether people enter a field: not times that the service sets, nor another name of the same."""
    if declared.immutable or declared.alternative_to or isinstance(declared, _OTHERWISE):
        return False
    if stored is None:
        return declared.stored or declared.required or not isinstance(declared, Structure)
    return declared.name in stored or (declared.stored and isinstance(declared, (Text, Structure)))


def _place(declared: Field | None) -> int:
    """The place of a field among those of its role: long texts are last."""
    return _PLACES_OF_KINDS.get(_kind(declared, ""), 1) if declared is not None else 0


def _kind(declared: Field, target: str) -> str:
    if isinstance(declared, Number) and declared.words:
        return "choice"
    if isinstance(declared, Text):
        return _kind_of_text(declared)
    if isinstance(declared, Id):
        return "chooser" if target else "number"
    return next((kind for type_of_field, kind in _KINDS if isinstance(declared, type_of_field)), "line")


def _kind_of_text(declared: Text) -> str:
    if declared.name.endswith(("password", "secret")):
        return "password"
    if declared.allowed:
        return "choice"
    if isinstance(declared, Url):
        return "url"
    is_long = declared.max > LINE_CHARS and not declared.one_line and not declared.takes_lists
    return _TEXT_FORMS.get(declared.form) or ("area" if is_long else "line")


def _target(registry: Registry, declared: Field) -> str:
    """The record type that is searched for a choice, "" if it cannot be searched."""
    return _searchable(registry, declared.target) if isinstance(declared, Id) and not declared.target_from else ""


def _searchable(registry: Registry, name: str) -> str:
    record_type = registry.find(name) if name else None
    return record_type.uri if record_type is not None and record_type.offers("search") else ""


def _options(registry: Registry, declared: Field) -> Sequence[tuple[str, Words]]:
    if isinstance(declared, Text):
        return [(each, each) for each in declared.allowed if each]
    if isinstance(declared, Number):
        return [(str(number), word) for number, word in enumerate(declared.words)]
    if isinstance(declared, ContextName):
        types = [(each.context, each.label_names[0]) for each in registry if each.context]
        return [(context, label) for context, label in types if not declared.allowed or context in declared.allowed]
    return ()


def _none(declared: Field) -> Words:
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


def _limits(declared: Field, kind: str) -> dict[str, Any]:
    limits: dict[str, Any] = {}
    if declared.required and kind not in ("tick", "ticks") and not getattr(declared, "blank_ok", False):
        limits["required"] = True
    if isinstance(declared, Text) and kind not in ("choice", "json", "tick"):
        limits["maxlength"] = declared.max
    if kind == "number" and isinstance(declared, Number):
        limits |= {
            "min": declared.min if "min" in declared.limits() or declared.min == 0 else None,
            "max": declared.limits().get("max"),
        }
    return limits
