"""Submitted custom values: how each kind is read and stored."""

import re
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from server import times
from server.dataclass import dataclass
from server.digits import is_whole
from server.errors import Invalid, UnknownField, nearest
from server.fields import Intake
from server.fields.field import as_text
from server.fields.flag import WORDS
from server.record_types.shared.custom.definitions import (
    GEO,
    LINKS,
    MAX_LINE,
    MAX_TEXT,
    MAX_VALUES,
    SEVERAL,
    SLIDER,
    ZERO_UNSETS,
    FieldDefinition,
    definitions,
)
from server.record_types.shared.relation_tables import CUSTOM_VALUE, FIELDSET_USE
from server.translation import N_, lazy_gettext

if TYPE_CHECKING:
    from server.record_types.parts import Writing
    from server.record_types.record_type import RecordType
    from server.store.transaction import Transaction


def coerce(field: FieldDefinition, name: str, raw: Any, intake: Intake, adds: bool = False) -> "ValueSetChange":
    """Returns the values to store for a submitted value, [] for none. Raises Invalid with `name`.

    adds: as in compose and reply: values of kinds with several are added, and a leading `-` removes. Options with a
    leading `+` or `-` do so everywhere."""
    try:
        if field.kind in SEVERAL:
            return _several(field, raw, intake, adds)
        if isinstance(raw, (list, dict)):
            raise Invalid(N_("takes one value, not a list"))
        text = as_text(raw)
        if text == "":
            return ValueSetChange([])
        value = _one(field, text, intake)
        return ValueSetChange([] if value is None else [value])
    except Invalid as error:
        raise Invalid(f"{name}: {error.message}", field=name) from error


@dataclass(frozen=True)
class ValueSetChange:
    """A change of the values of a field. values: the new values, or those to add if `changes` is set. removes: the
    values to remove."""

    values: list[Any]
    removes: tuple[Any, ...] = ()
    changes: bool = False


def _several(field: FieldDefinition, raw: Any, intake: Intake, adds: bool) -> ValueSetChange:
    items = raw if isinstance(raw, list) else [] if raw == "" else [raw]
    if len(items) > MAX_VALUES:
        raise Invalid(lazy_gettext("at most {count} values", count=MAX_VALUES))
    if any(isinstance(item, (list, dict)) for item in items):
        raise Invalid("takes a list of texts, not of lists")
    texts = [as_text(item) for item in items]
    if field.kind == "X":
        signs = {text: _sign(field, text) for text in texts}
        adds = adds or any(signs.values())
    else:
        signs = {text: "-" if adds and text.startswith("-") else "" for text in texts}
    values: list[Any] = []
    removes: list[Any] = []
    for text in texts:
        value = _one(field, text.removeprefix(signs[text]), intake)
        (removes if signs[text] == "-" else values).append(value)
    unique = list(dict.fromkeys(value for value in values if value is not None))
    return ValueSetChange(unique, tuple(removes), adds)


def _sign(field: FieldDefinition, text: str) -> str:
    """The leading `+` or `-` of an option, "" if it is part of the option."""
    return text[:1] if text not in field.options and text[:1] in ("+", "-") else ""


def _one(field: FieldDefinition, text: str, intake: Intake) -> Any:
    """One stored value, None if unset."""
    return _READERS[field.kind](field, text, intake)


def _checkbox(field: FieldDefinition, text: str, intake: Intake) -> int:
    if text.strip().lower() not in WORDS:
        raise Invalid(lazy_gettext("'{value}' is not 0 or 1", value=text[:50]))
    return WORDS[text.strip().lower()]


def _option(field: FieldDefinition, text: str, intake: Intake) -> str:
    if text not in field.options:
        raise Invalid(
            lazy_gettext(
                "'{value}' is not one of its options{nearest}", value=text[:80], nearest=nearest(text, field.options)
            )
        )
    return text


def _date(field: FieldDefinition, text: str, intake: Intake) -> int | None:
    return times.instant(text, intake.now, intake.tz) or None


def _id(field: FieldDefinition, text: str, intake: Intake) -> int | None:
    text = text.strip()
    if not is_whole(text):
        raise Invalid(lazy_gettext("'{value}' is not an id", value=text[:50]))
    if int(text) == 0 and field.kind in ZERO_UNSETS:
        return None
    if not intake.lookup.exists(field.target, int(text)):
        raise Invalid(lazy_gettext("there is no {type} {id}", type=field.target or "record", id=text))
    return int(text)


def _number(field: FieldDefinition, text: str, intake: Intake) -> int:
    match = re.fullmatch(r"\s*([+-]?[0-9]{1,19})(?:\.[0-9]*)?\s*", text)
    if not match or abs(int(match[1])) >= 2**63:
        raise Invalid(lazy_gettext("'{value}' is not a whole number", value=text[:50]))
    return int(match[1])


def _scaled(field: FieldDefinition, text: str, intake: Intake) -> int:
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or value < 0 or "_" in text:
        raise Invalid(f"'{text[:50]}' is not a number from 0, such as 12.34")
    if not field.decimals and value != value.to_integral_value():
        raise Invalid(f"'{text[:50]}' is not a whole number; the field has no decimals")
    whole = int((value * 10**field.decimals).to_integral_value(ROUND_HALF_UP)) if value < 10**18 else 2**63
    if whole >= 2**63:
        raise Invalid(f"'{text[:50]}' is too large")
    return whole


def _line(field: FieldDefinition, text: str, intake: Intake) -> str:
    if len(text) > MAX_LINE:
        raise Invalid(lazy_gettext("at most {count} characters, this has {number}", count=MAX_LINE, number=len(text)))
    return _clean(text)


def _text(field: FieldDefinition, text: str, intake: Intake) -> str:
    if len(text) > MAX_TEXT:
        raise Invalid(f"at most {MAX_TEXT} characters")
    return _clean(text)


def _clean(text: str) -> str:
    if "\x00" in text:
        raise Invalid(N_("must not contain a NUL character"))
    return text


def _url(field: FieldDefinition, text: str, intake: Intake) -> str:
    if not text.lower().startswith(("http://", "https://")) or any(char <= " " for char in text):
        raise Invalid(N_("must start with http:// or https://"))
    return _line(field, text, intake)


def _slider(field: FieldDefinition, text: str, intake: Intake) -> int:
    value = _number(field, text, intake)
    low, high = int(field.params.get("value_min") or 0), int(field.params.get("value_max") or 100)
    if not low <= value <= high:
        raise Invalid(lazy_gettext("{value} is not between {low} and {high}", value=value, low=low, high=high))
    return value


def _point(field: FieldDefinition, text: str, intake: Intake) -> str:
    try:
        latitude, longitude = (float(part) for part in text.split(","))
    except ValueError:
        raise Invalid(f"'{text[:50]}' is not `latitude, longitude`") from None
    if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
        raise Invalid(f"'{text[:50]}' is not on the map")
    return f"{latitude:.6f}, {longitude:.6f}"


_READERS = {
    "C": _checkbox, "D": _option, "E": _date, "F": _id, "I": _id, "L": _id, "M": _line, "N": _number, "O": _scaled,
    "S": _line, "T": _text, "U": _url, "W": _id, "X": _option, "Y": _scaled, GEO: _point, LINKS: _id, SLIDER: _slider,
}  # fmt: skip


def write(
    writing: "Writing", record_type: "RecordType", id: int, field: FieldDefinition, coerced: ValueSetChange
) -> None:
    """Replaces the values of a record, and attaches the fieldset of the field."""
    tx = writing.tx
    values = coerced.values
    if coerced.changes:
        at = CUSTOM_VALUE.position[field.column]
        remaining = [row[at] for row in tx.find(CUSTOM_VALUE, field_id=field.id, record_id=id)]
        remaining = [value for value in remaining if value not in coerced.removes]
        values = remaining + [value for value in values if value not in remaining]
    tx.delete(CUSTOM_VALUE, field_id=field.id, record_id=id)
    for place, value in enumerate(values):
        tx.insert(CUSTOM_VALUE, {"field_id": field.id, "record_id": id, "place": place, field.column: value})
    if field.fieldset_id and values:
        tx.add(FIELDSET_USE, {"context": record_type.context, "record_id": id, "fieldset_id": field.fieldset_id})


def take(
    tx: "Transaction", record_type: "RecordType", fields: dict[str, Any]
) -> list[tuple[FieldDefinition, str, Any]]:
    """Removes custom fields from submitted fields: [(field, submitted name, raw value)]. Raises UnknownField."""
    values = []
    all_fields = definitions(tx)
    for name in list(fields):
        field = all_fields.named(record_type.context, name)
        if field is not None and (name not in record_type.fields or name in record_type.yielding):
            values.append((field, name, fields.pop(name)))
        elif field is None and name.startswith("custom_") and name not in record_type.fields:
            raise UnknownField(f"'{name[:80]}' is not a custom field of {record_type.uri}", field=name)
    return values
