"""Custom fields of contact forms: which ones a form has, in which order, and when visitors see them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from server.dataclass import dataclass
from server.digits import whole_in
from server.errors import Invalid
from server.fields.field import Field, as_text
from server.fields.flag import WORDS
from server.record_types.shared.custom import FieldDefinition
from server.translation import N_, about_field, lazy_gettext

MAX_FORM_FIELDS = 50
MAX_CONDITION_CHARS = 255
# Kinds that visitors can fill in. Others hold ids of records, which visitors must not see or guess.
FILLABLE = frozenset("CDENOSTUX")
CONDITIONS = frozenset("CDX")  # kinds with few values, on which another field can depend
KEYS = frozenset(("field_id", "is_required", "if_field_id", "if_value"))


@dataclass(frozen=True, slots=True)
class FormField:
    """A custom field of a form. if_field_id: the field that it depends on, 0 for none; if_value: its value."""

    field_id: int
    is_required: bool = False
    if_field_id: int = 0
    if_value: str = ""

    @property
    def name(self) -> str:
        """The name of its control."""
        return f"custom_{self.field_id}"


def form_fields(stored: str | Sequence[Mapping[str, Any]]) -> list[FormField]:
    """Returns the fields of a stored form."""
    items = json.loads(stored) if isinstance(stored, str) else stored
    return [
        FormField(each["field_id"], bool(each["is_required"]), each["if_field_id"], each["if_value"]) for each in items
    ]


def as_stored(fields: Sequence[FormField]) -> list[dict[str, Any]]:
    """Returns fields as a form stores them."""
    return [
        {
            "field_id": each.field_id,
            "is_required": int(each.is_required),
            "if_field_id": each.if_field_id,
            "if_value": each.if_value,
        }
        for each in fields
    ]


def checked_fields(field: Field, items: Sequence[Any]) -> list[dict[str, Any]]:
    """Returns submitted fields as a form stores them. Raises Invalid for the field of the record type."""
    if len(items) > MAX_FORM_FIELDS:
        raise field.bad(lazy_gettext("at most {count} fields", count=MAX_FORM_FIELDS))
    fields: list[FormField] = []
    for number, item in enumerate(items, 1):
        if not isinstance(item, Mapping) or not set(item) <= KEYS:
            raise field.bad(N_("takes a list of maps with field_id, is_required, if_field_id and if_value"))
        if item.get("field_id") in (None, "", 0, "0"):
            raise field.bad(lazy_gettext("field {number} names no custom field: send its id", number=number))
        fields.append(
            FormField(
                _id(field, item["field_id"]),
                _flag(field, item.get("is_required", 0)),
                _id(field, item.get("if_field_id", 0), least=0),
                as_text(item.get("if_value", ""))[:MAX_CONDITION_CHARS],
            )
        )
    return as_stored(fields)


def require_usable(items: Sequence[Mapping[str, Any]], known: Mapping[int, FieldDefinition]) -> None:
    """Raises Invalid unless visitors can fill in each field, and each condition is a value of an earlier field. known:
    the custom fields of tickets by id."""
    before: set[int] = set()
    for each in form_fields(items):
        definition = known.get(each.field_id)
        if definition is None:
            raise _bad(lazy_gettext("tickets have no custom field {id}", id=each.field_id))
        if definition.kind not in FILLABLE:
            raise _bad(lazy_gettext("visitors cannot fill in the field {name}", name=definition.name))
        if each.field_id in before:
            raise _bad(lazy_gettext("the field {name} is there twice", name=definition.name))
        if each.if_field_id:
            _require_condition(each, before, known)
        before.add(each.field_id)


def shown_fields(
    fields: Sequence[FormField], known: Mapping[int, FieldDefinition], values: Mapping[int, Sequence[str]]
) -> list[FormField]:
    """Returns the fields that a form with these values has. A field without its definition, or whose condition has
    none, is left out. values: submitted texts by id of their field."""
    shown: list[FormField] = []
    ids: set[int] = set()
    for each in fields:
        is_met = not each.if_field_id or (each.if_field_id in ids and is_condition_met(each, known, values))
        if each.field_id in known and is_met:
            shown.append(each)
            ids.add(each.field_id)
    return shown


def is_condition_met(
    field: FormField, known: Mapping[int, FieldDefinition], values: Mapping[int, Sequence[str]]
) -> bool:
    """Whether the field that this one depends on has the value."""
    texts = values.get(field.if_field_id, ())
    if known[field.if_field_id].kind == "C":
        return ("1" in texts) == (field.if_value == "1")
    return field.if_value in texts


def _require_condition(each: FormField, before: set[int], known: Mapping[int, FieldDefinition]) -> None:
    name = known[each.field_id].name
    if each.if_field_id not in before:
        raise _bad(lazy_gettext("the condition of the field {name} is not a field above it", name=name))
    other = known[each.if_field_id]
    if other.kind not in CONDITIONS:
        raise _bad(lazy_gettext("no field can depend on {name}; choose a checkbox or a picklist", name=other.name))
    if each.if_value not in (("0", "1") if other.kind == "C" else other.options):
        raise _bad(
            lazy_gettext("'{value}' is not a value of the field {name}", value=each.if_value[:80], name=other.name)
        )


def _id(field: Field, raw: Any, least: int = 1) -> int:
    text = as_text(raw).strip() if not isinstance(raw, (dict, list)) else ""
    id = whole_in(text or "0", least, 2**63 - 1)
    if id is None:
        raise field.bad(lazy_gettext("'{value}' is not an id", value=text[:50]))
    return id


def _flag(field: Field, raw: Any) -> bool:
    text = as_text(raw).strip().lower() if not isinstance(raw, (dict, list)) else "?"
    if text and text not in WORDS:
        raise field.bad(lazy_gettext("'{value}' is not 0 or 1", value=text[:50]))
    return bool(WORDS.get(text, 0))


def _bad(problem: Any) -> Invalid:
    return Invalid(about_field("form_fields", problem), field="form_fields")
