"""Custom fields: fields that are data. What each kind takes, keeps, shows and how it is searched.

A value is one row of `custom_value`, several for kinds that hold several."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import peewee

from server import times
from server.errors import Invalid, UnknownField, nearest
from server.fields.base import Intake, as_text
from server.fields.flag import WORDS
from server.fields.structure import MAX_ID_DIGITS
from server.records.shared.tables import CUSTOM_VALUE, FIELDSET_USE
from server.search.ast import Subquery, Term, Text
from server.search.conditions import Condition, negated
from server.search.filters.base import Filter, is_null
from server.search.filters.date import DateFilter
from server.search.filters.deep import DeepFilter
from server.search.filters.flag import FlagFilter
from server.search.filters.number import ChooserFilter, DecimalFilter, NumberFilter
from server.search.filters.text import TextFilter
from server.search.filters.ways import Through
from server.search.filters.worker import WorkerFilter
from server.search.values import boolean
from server.store.statements import in_list, slot

if TYPE_CHECKING:
    from server.records.base import RecordType
    from server.records.parts import Loader, Record, Shown, Writing
    from server.records.registry import Registry
    from server.search.compile import Scope
    from server.store.transaction import Transaction

KINDS = {
    "C": "Checkbox", "D": "Picklist", "E": "Date", "F": "File", "I": "Files", "L": "Record Link", "M": "List",
    "N": "Number", "O": "Decimal", "S": "Text: Single Line", "T": "Text: Multiple Lines", "U": "URL", "W": "Worker",
    "X": "Multiple Checkboxes", "Y": "Currency", "svc.custom_field.geo.point": "Geolocation",
    "svc.custom_field.record.links": "Record Links", "svc.custom_field.slider": "Slider",
}  # fmt: skip
GEO, LINKS, SLIDER = "svc.custom_field.geo.point", "svc.custom_field.record.links", "svc.custom_field.slider"
SEVERAL = frozenset(("I", "M", "X", LINKS))
ZERO_UNSETS = frozenset(("F", "L", "W"))
COUNTABLE = frozenset(("C", "D", "L", "M", "N", "S", "U", "W", "X"))
MAX_LINE, MAX_TEXT, MAX_VALUES = 255, 16_777_215, 1000
CURRENCY_DECIMALS = 2  # until currencies are records of their own


@dataclass(frozen=True)
class CustomField:
    """One custom field of one record type. `filter` is its name in searches."""

    id: int
    context: str
    name: str
    uri: str
    kind: str
    params: dict[str, Any]
    pos: int
    fieldset_id: int
    filter: str

    @property
    def decimals(self) -> int:
        """How many decimals a stored whole number has."""
        if self.kind == "Y":
            return CURRENCY_DECIMALS
        places = str(self.params.get("decimal_at") or 0)
        return min(int(places), 10) if places.isdigit() else 0

    @property
    def target(self) -> str:
        """The type that values point to, "" for other kinds."""
        if self.kind == "W":
            return "worker"
        if self.kind in ("F", "I"):
            return "attachment"
        return str(self.params.get("context") or "") if self.kind in ("L", LINKS) else ""

    @property
    def options(self) -> list[str]:
        listed = self.params.get("options") or []
        if isinstance(listed, dict):
            listed = list(listed.values())
        if isinstance(listed, str):
            listed = listed.splitlines()
        return [str(option) for option in listed]

    def points_to(self, record_type: "RecordType", registry: "Registry") -> bool:
        """Whether its values are ids of this type."""
        target = registry.find(self.target) if self.target else None
        return target is record_type


@dataclass(frozen=True)
class Definitions:
    """All custom fields, by record type."""

    by_context: dict[str, tuple[CustomField, ...]]
    uris: dict[str, str]

    def of(self, uri: str) -> tuple[CustomField, ...]:
        """The fields of a type, in order."""
        return self.by_context.get(self.uris.get(uri, uri), ())

    def named(self, uri: str, name: str) -> CustomField | None:
        """The field that `custom_<id>` or a uri names on a type."""
        number = name.removeprefix("custom_")
        for each in self.of(uri):
            if each.uri == name or (name != number and number == str(each.id)):
                return each
        return None


def definitions(tx: "Transaction") -> Definitions:
    """The custom fields as this snapshot sees them; kept until one of them changes, whoever changes it."""
    found = tx.memo.get("custom fields")
    if found is None:
        version = peewee.Table("version")
        now = tx.value(
            ("version of fields",), lambda: version.select(version.c.value).where(version.c.name == "fields")
        )
        kept = tx.store.shared.get("custom fields")
        if kept is None or kept[0] != now:
            kept = (now, _read_definitions(tx))
            if not tx.can_write:
                tx.store.shared["custom fields"] = kept
        found = kept[1]
        if not tx.can_write:
            tx.memo["custom fields"] = found
    return found


def _read_definitions(tx: "Transaction") -> Definitions:
    field = peewee.Table("custom_field")
    fieldset = peewee.Table("custom_fieldset")
    sets = {row[0]: row[1] for row in tx.rows(
        ("fieldset names",), lambda: fieldset.select(fieldset.c.id, fieldset.c.name)
    )}
    c = field.c
    rows = tx.rows(
        ("custom fields",),
        lambda: field.select(
            c.id, c.context, c.name, c.uri, c.type, c.params, c.pos, c.custom_fieldset_id
        ).order_by(c.pos, c.id),
    )
    by_context: dict[str, list[CustomField]] = {}
    for id, context, name, uri, kind, params, pos, set_id in rows:
        listed = by_context.setdefault(context, [])
        filter_name = _filter_name(name)
        if set_id in sets:
            filter_name = f"{_filter_name(sets[set_id])}.{filter_name}"
        if any(each.filter == filter_name for each in listed):
            filter_name += str(id)
        params = json.loads(params)
        listed.append(CustomField(
            id, context, name, uri, kind, params if isinstance(params, dict) else {}, pos, set_id, filter_name
        ))
    return Definitions(
        {context: tuple(listed) for context, listed in by_context.items()}, tx.store.shared.get("contexts", {})
    )


def _filter_name(label: str) -> str:
    """The label as a filter name.

    >>> _filter_name("Order number")
    'orderNumber'
    """
    words = re.findall(r"[A-Za-z0-9]+", label)
    joined = "".join(word[:1].upper() + word[1:].lower() for word in words)
    return joined[:1].lower() + joined[1:]


# -- in ----------------------------------------------------------------------------------------------------------------


def coerce(field: CustomField, name: str, raw: Any, intake: Intake, adds: bool = False) -> "Coerced":
    """The values to store for what was sent under `name`, [] for none. Raises Invalid naming it.

    adds: as in compose and reply, where values of several-valued kinds are added and a leading `-` removes."""
    try:
        if field.kind in SEVERAL:
            return _several(field, raw, intake, adds)
        if isinstance(raw, (list, dict)):
            raise Invalid("takes one value, not a list")
        text = as_text(raw)
        if text == "":
            return Coerced([])
        value = _one(field, text, intake)
        return Coerced([] if value is None else [value])
    except Invalid as error:
        raise Invalid(f"{name}: {error.message}", field=name) from error


@dataclass(frozen=True)
class Coerced:
    """values: the new set, or with `changes` what to add; removes: what to take away."""

    values: list[Any]
    removes: tuple[Any, ...] = ()
    changes: bool = False


def _several(field: CustomField, raw: Any, intake: Intake, adds: bool) -> Coerced:
    items = raw if isinstance(raw, list) else [] if raw == "" else [raw]
    if len(items) > MAX_VALUES:
        raise Invalid(f"at most {MAX_VALUES} values")
    values, removes = [], []
    for item in items:
        text = as_text(item)
        if adds and text.startswith("-"):
            removes.append(_one(field, text[1:], intake))
        else:
            values.append(_one(field, text.removeprefix("+") if adds and field.kind == "X" else text, intake))
    unique = list(dict.fromkeys(value for value in values if value is not None))
    return Coerced(unique, tuple(removes), adds)


def _one(field: CustomField, text: str, intake: Intake) -> Any:
    """One stored value, None for unset."""
    return _READERS[field.kind](field, text, intake)


def _checkbox(field: CustomField, text: str, intake: Intake) -> int:
    if text.strip().lower() not in WORDS:
        raise Invalid(f"'{text[:50]}' is not 0 or 1")
    return WORDS[text.strip().lower()]


def _option(field: CustomField, text: str, intake: Intake) -> str:
    if text not in field.options:
        raise Invalid(f"'{text[:80]}' is not one of its options{nearest(text, field.options)}")
    return text


def _date(field: CustomField, text: str, intake: Intake) -> int | None:
    return times.instant(text, intake.now, intake.tz) or None


def _id(field: CustomField, text: str, intake: Intake) -> int | None:
    text = text.strip()
    if not (text.isascii() and text.isdigit()) or len(text) > MAX_ID_DIGITS:
        raise Invalid(f"'{text[:50]}' is not an id")
    if int(text) == 0 and field.kind in ZERO_UNSETS:
        return None
    if not intake.lookup.exists(field.target, int(text)):
        raise Invalid(f"there is no {field.target or 'record'} {text}")
    return int(text)


def _number(field: CustomField, text: str, intake: Intake) -> int:
    match = re.fullmatch(r"\s*([+-]?[0-9]{1,19})(?:\.[0-9]*)?\s*", text)
    if not match or abs(int(match[1])) >= 2**63:
        raise Invalid(f"'{text[:50]}' is not a whole number")
    return int(match[1])


def _scaled(field: CustomField, text: str, intake: Intake) -> int:
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite() or value < 0 or "_" in text:
        raise Invalid(f"'{text[:50]}' is not a number from 0, such as 12.34")
    whole = int((value * 10**field.decimals).to_integral_value(ROUND_HALF_UP)) if value < 10**18 else 2**63
    if whole >= 2**63:
        raise Invalid(f"'{text[:50]}' is too large")
    return whole


def _line(field: CustomField, text: str, intake: Intake) -> str:
    if len(text) > MAX_LINE:
        raise Invalid(f"at most {MAX_LINE} characters, this has {len(text)}")
    return _clean(text)


def _text(field: CustomField, text: str, intake: Intake) -> str:
    if len(text) > MAX_TEXT:
        raise Invalid(f"at most {MAX_TEXT} characters")
    return _clean(text)


def _clean(text: str) -> str:
    if "\x00" in text:
        raise Invalid("must not hold a NUL character")
    return text


def _url(field: CustomField, text: str, intake: Intake) -> str:
    if not text.lower().startswith(("http://", "https://")) or any(char <= " " for char in text):
        raise Invalid("must start with http:// or https://")
    return _line(field, text, intake)


def _slider(field: CustomField, text: str, intake: Intake) -> int:
    value = _number(field, text, intake)
    low, high = int(field.params.get("value_min") or 0), int(field.params.get("value_max") or 100)
    if not low <= value <= high:
        raise Invalid(f"{value} is not between {low} and {high}")
    return value


def _point(field: CustomField, text: str, intake: Intake) -> str:
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


def write(writing: "Writing", record_type: "RecordType", id: int, field: CustomField, coerced: Coerced) -> None:
    """Put values in the place of those that a record has, and attach the fieldset."""
    tx = writing.tx
    values = coerced.values
    if coerced.changes:
        kept = [row[3] for row in tx.find(CUSTOM_VALUE, field_id=field.id, record_id=id)]
        kept = [value for value in kept if value not in coerced.removes]
        values = kept + [value for value in values if value not in kept]
    tx.delete(CUSTOM_VALUE, field_id=field.id, record_id=id)
    for place, value in enumerate(values):
        tx.insert(CUSTOM_VALUE, {"field_id": field.id, "record_id": id, "place": place, "value": value})
    if field.fieldset_id and values:
        tx.add(FIELDSET_USE, {"context": record_type.context, "record_id": id, "fieldset_id": field.fieldset_id})


def take(tx: "Transaction", record_type: "RecordType", fields: dict[str, Any]) -> list[tuple[CustomField, str, Any]]:
    """Take the custom fields out of what was sent: [(field, name as sent, raw value)]. Raises UnknownField."""
    found = []
    known = definitions(tx)
    for name in list(fields):
        field = known.named(record_type.uri, name)
        if field is not None and (name not in record_type.fields):
            found.append((field, name, fields.pop(name)))
        elif field is None and name.startswith("custom_") and name not in record_type.fields:
            raise UnknownField(f"'{name[:80]}' is not a custom field of {record_type.uri}", field=name)
    return found


# -- out ---------------------------------------------------------------------------------------------------------------


def values_of(
    tx: "Transaction", fields: Sequence[CustomField], records: "Sequence[Record]"
) -> dict[int, dict[int, list[Any]]]:
    """{record id: {field id: [values]}}, in one statement."""
    found: dict[int, dict[int, list[Any]]] = {record["id"]: {} for record in records}
    if not fields:
        return found
    table = CUSTOM_VALUE.sql
    rows = tx.rows(
        ("custom values of many",),
        lambda: table.select(table.record_id, table.field_id, table.value)
        .where(in_list(table.field_id, slot(0)), in_list(table.record_id, slot(1)))
        .order_by(table.record_id, table.field_id, table.place),
        (json.dumps([each.id for each in fields]), json.dumps([record["id"] for record in records])),
    )
    for record_id, field_id, value in rows:
        found[record_id].setdefault(field_id, []).append(value)
    return found


def shown_value(field: CustomField, values: list[Any]) -> Any:
    """As in `custom` and under the uri: lists for kinds with several, None when unset."""
    if field.kind in SEVERAL:
        return values
    return values[0] if values else None


def shown_text(field: CustomField, values: list[Any]) -> Any:
    """As in `custom_<id>`: text, "" when unset; record links stay a list."""
    if field.kind == LINKS:
        return values
    if field.kind in ("O", "Y") and values:
        return str(values[0])
    return ", ".join(str(value) for value in values)


def load_by_id(record_type: "RecordType") -> "Loader":
    """`custom`: {field id: value}, and flat `custom_<id>` with its extra keys."""

    def load(shown: "Shown", records: "list[Record]", form: str) -> dict[int, dict[str, Any]]:
        fields = definitions(shown.tx).of(record_type.uri)
        stored = values_of(shown.tx, fields, records)
        answer = {}
        for record in records:
            values = stored[record["id"]]
            keys: dict[str, Any] = {
                "custom": {str(each.id): shown_value(each, values.get(each.id, [])) for each in fields}
            }
            for each in fields:
                keys |= _flat(shown, each, values.get(each.id, []))
            answer[record["id"]] = keys
        return answer

    return load


def _flat(shown: "Shown", field: CustomField, values: list[Any]) -> dict[str, Any]:
    name = f"custom_{field.id}"
    keys = {name: shown_text(field, values)}
    if field.kind in ("L", "W") and field.target:
        keys[f"{name}_id"] = values[0] if values else 0
        keys[f"{name}__context"] = shown.type(field.target).context
    elif field.kind == "O":
        keys[f"{name}_decimal_at"] = field.decimals
    elif field.kind == "Y":
        keys[f"{name}_currency_id"] = int(field.params.get("currency_id") or 0)
        keys[f"{name}_currency__context"] = "svc.contexts.currency"
        amount = f"{Decimal(values[0]).scaleb(-field.decimals):,.{field.decimals}f}" if values else ""
        keys[f"{name}_label"] = amount
        keys[f"{name}_decimal"] = amount.replace(",", "")
    elif field.kind == LINKS and field.target:
        context = shown.type(field.target).context
        keys[f"{name}_records"] = {str(id): {"_context": context, "id": id} for id in values}
    return keys


def load_by_uri(record_type: "RecordType") -> "Loader":
    """`customfields`: the uris, and each value under its uri."""

    def load(shown: "Shown", records: "list[Record]", form: str) -> dict[int, dict[str, Any]]:
        fields = definitions(shown.tx).of(record_type.uri)
        stored = values_of(shown.tx, fields, records)
        return {
            record["id"]: {"customfields": [each.uri for each in fields]}
            | {each.uri: shown_value(each, stored[record["id"]].get(each.id, [])) for each in fields}
            for record in records
        }

    return load


# -- searched ----------------------------------------------------------------------------------------------------------


def filter_named(record_type: "RecordType", name: str, scope: "Scope") -> Filter | None:
    """The filter of a custom field: by its name in searches, `custom_<id>` or uri; `org.` before it for the
    organization's fields, where the type has one; `.id` behind it for kinds that point to records."""
    if "custom_fields" in record_type.features:
        found = _of_type(record_type, record_type.uri, "id", name, scope)
        if found is not None:
            return found
    if record_type.org_column and name.startswith("org."):
        return _of_type(record_type, "org", record_type.org_column, name.removeprefix("org."), scope, name)
    return None


def _of_type(
    record_type: "RecordType", uri: str, own: str, name: str, scope: "Scope", shown_name: str = ""
) -> Filter | None:
    by_id = name.endswith(".id")
    for field in definitions(scope.tx).of(uri):
        names = (field.filter, f"custom_{field.id}", field.uri)
        if name in names:
            return _filter(field, shown_name or name, own, False).bind(record_type.table)
        if by_id and field.target and name.removesuffix(".id") in names:
            return _filter(field, shown_name or name, own, True).bind(record_type.table)
    return None


def _filter(field: CustomField, name: str, own: str, by_id: bool) -> Filter:
    if field.target and not by_id and field.kind != "W":
        only = (("field_id", field.id),)
        inner: Filter = DeepFilter(name, "", field.target, Through("custom_value", "record_id", "value", only))
    elif field.kind == "W" and not by_id:
        inner = WorkerFilter(name, "", "value")
    else:
        inner = _VALUE_FILTERS.get(field.kind, ChooserFilter if by_id else TextFilter)(name, "", "value")
        if isinstance(inner, DecimalFilter):
            inner.scale = 10**field.decimals
        if isinstance(inner, TextFilter):
            inner.match = "prefix" if field.kind in ("D", "M") else "partial"
    return CustomFilter(field, name, own, inner)


_VALUE_FILTERS: dict[str, type[Filter]] = {
    "C": FlagFilter, "N": NumberFilter, "O": DecimalFilter, "Y": DecimalFilter, "E": DateFilter, SLIDER: NumberFilter,
    "I": ChooserFilter, "F": ChooserFilter, "L": ChooserFilter, "W": ChooserFilter, LINKS: ChooserFilter,
}  # fmt: skip


class CustomFilter(Filter):
    """A record answers when one of its values does; negated, when none does. own: the column with the record's id."""

    type = "by custom field"

    def __init__(self, field: CustomField, name: str, own: str, inner: Filter) -> None:
        super().__init__(name, f"Custom field {field.name}.", sortable=own == "id")
        self.field = field
        self.own = own
        self.inner = inner

    def meaning(self, term: Term, scope: "Scope") -> Condition:
        if isinstance(term.value, Text) and (is_null(term.value) or self._is_never(term.value)):
            return negated(self._any_value())
        plain = Term(term.field, term.value, False, term.position)
        if isinstance(self.inner, DeepFilter):
            if self.own == "id":
                return self.inner.bind(self.table).condition(plain, scope)
            raise self.bad(term, "is searched through org:(...)")
        if self.field.kind == "C" and isinstance(term.value, Text) and not boolean(term.value.value):
            yes = Term(term.field, Text("1", False, term.position), False, term.position)
            return negated(self._some(self.inner.bind(CUSTOM_VALUE).condition(yes, scope)))
        if isinstance(term.value, Subquery) and self.field.kind != "E":
            raise self.bad(term, "takes a value, not a query in parentheses")
        if self.field.kind == "W" and isinstance(term.value, Text) and not term.value.quoted:
            word = term.value.value.lower()
            if word in ("none", "nobody", "noone", "no", "blank", "empty"):
                return negated(self._any_value())
        return self._some(self.inner.bind(CUSTOM_VALUE).condition(plain, scope))

    def _is_never(self, text: Text) -> bool:
        return self.field.kind == "E" and text.value.strip().lower() in ("never", "")

    def _any_value(self) -> Condition:
        return self._some(None)

    def _some(self, condition: Condition | None) -> Condition:
        """At least one value of the field answers."""
        values, own = CUSTOM_VALUE.sql, peewee.Column(self.table.sql, self.own)

        def build(at: Any) -> Any:
            query = values.select(values.record_id).where(values.field_id == at(0))
            if condition is not None:
                query = query.where(condition.build(lambda index: at(index + 1)))
            return own.in_(query)

        key = ("custom", self.table.name, self.own, condition.key if condition else "any")
        return Condition(key, (self.field.id, *(condition.values if condition else ())), build)

    def order_key(self, scope: "Scope") -> int:
        return self.field.id  # names of custom fields pass from one to another

    def order(self, scope: "Scope") -> Any:
        values = peewee.Table("custom_value", alias="sorted")
        first = (
            values.select(values.c.value)
            .where(values.c.field_id == self.field.id, values.c.record_id == peewee.Column(self.table.sql, self.own))
            .order_by(values.c.place)
            .limit(1)
        )
        return peewee.NodeList((first, peewee.SQL("COLLATE NOCASE")))  # what is selected has no collation of its own


def countable(field: CustomField) -> bool:
    """Whether subtotals can be counted by it."""
    return field.kind in COUNTABLE


