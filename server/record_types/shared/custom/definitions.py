"""The definitions of custom fields and their kinds. Read once per version, with the currencies."""

import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any

from server.dataclass import dataclass
from server.digits import is_whole
from server.record_types.shared import currencies
from server.record_types.shared.currencies import Currencies, CurrencyFormat
from server.record_types.shared.relation_tables import DELETED_FIELD
from server.search.searchable import Searchable, SearchableTypes
from server.store.store_local import VersionedLocal
from server.store.tables import table_named
from server.translation import N_

if TYPE_CHECKING:
    from server.store.transaction import Transaction

KINDS = {
    "C": "Checkbox", "D": "Picklist", "E": "Date", "F": "File", "I": "Files", "L": "Record Link", "M": "List",
    "N": "Number", "O": "Decimal", "S": "Text: Single Line", "T": "Text: Multiple Lines", "U": "URL", "W": "Worker",
    "X": "Multiple Checkboxes", "Y": "Currency", "svc.custom_field.geo.point": "Geolocation",
    "svc.custom_field.record.links": "Record Links", "svc.custom_field.slider": "Slider",
}  # fmt: skip
GEO, LINKS, SLIDER = "svc.custom_field.geo.point", "svc.custom_field.record.links", "svc.custom_field.slider"
# What each kind is for, in the order in which forms offer them.
KIND_NOTES = {
    "S": N_("A few words, such as an order number."),
    "T": N_("Room for paragraphs."),
    "N": N_("A whole number."),
    "O": N_("A number with decimals."),
    "Y": N_("An amount in one currency."),
    "C": N_("Yes or no."),
    "D": N_("One option from a list."),
    "X": N_("Any number of options from a list."),
    "M": N_("Any number of short texts."),
    "E": N_("A day and time."),
    "U": N_("An address that can be opened."),
    "W": N_("A worker."),
    "L": N_("A record of another type."),
    LINKS: N_("Any number of records of another type."),
    "F": N_("A file."),
    "I": N_("Any number of files."),
    SLIDER: N_("A number between two limits."),
    GEO: N_("A place, by latitude and longitude."),
}
# The settings that a kind has.
KIND_SETTINGS: dict[str, tuple[str, ...]] = {
    "D": ("options",),
    "X": ("options",),
    "L": ("context",),
    LINKS: ("context",),
    "Y": ("currency_id",),
    "O": ("decimal_at",),
    SLIDER: ("value_min", "value_max"),
    "W": ("send_notifications",),
}
SEVERAL = frozenset(("I", "M", "X", LINKS))
NUMBERS = frozenset(("C", "E", "F", "I", "L", "N", "O", "W", "Y", LINKS, SLIDER))  # stored as whole numbers
ZERO_UNSETS = frozenset(("F", "L", "W"))
COUNTABLE = frozenset(("C", "D", "L", "M", "N", "S", "U", "W", "X"))
_NAMES = ("id", "context", "name", "uri", "type", "params", "pos", "custom_fieldset_id")
_FIELD, _FIELDSET = table_named("custom_field"), table_named("custom_fieldset")
MAX_LINE, MAX_TEXT, MAX_VALUES = 255, 16_777_215, 1000


@dataclass(frozen=True)
class FieldDefinition:
    """A custom field of one record type. filter: its name in searches. currency: that of its amounts (kind Y)."""

    id: int
    context: str
    name: str
    uri: str
    kind: str
    params: dict[str, Any]
    pos: int
    fieldset_id: int
    filter: str
    currency: CurrencyFormat

    @property
    def decimals(self) -> int:
        """The decimals of a stored whole number."""
        if self.kind == "Y":
            return self.currency.decimals
        places = str(self.params.get("decimal_at") or 0)
        return min(int(places), 10) if is_whole(places) else 0

    @property
    def column(self) -> str:
        """The column of custom_value that stores its values."""
        return "number" if self.kind in NUMBERS else "text"

    @property
    def has_lines(self) -> bool:
        """Whether its values are texts of at most MAX_LINE characters, which are indexed."""
        return self.column == "text" and self.kind != "T"

    @property
    def target(self) -> str:
        """The type that values reference, "" for other kinds."""
        if self.kind == "W":
            return "worker"
        if self.kind in ("F", "I"):
            return "attachment"
        return str(self.params.get("context") or "") if self.kind in ("L", LINKS) else ""

    @property
    def notifies_worker(self) -> bool:
        """Whether the worker in the field is notified as the owner of the record is."""
        return self.kind == "W" and str(self.params.get("send_notifications", 0)) == "1"

    @property
    def options(self) -> list[str]:
        raw = self.params.get("options") or []
        if isinstance(raw, dict):
            raw = list(raw.values())
        if isinstance(raw, str):
            raw = raw.splitlines()
        return [str(option) for option in raw]

    def points_to(self, record_type: Searchable, registry: SearchableTypes) -> bool:
        """Whether its values are ids of this type."""
        target = registry.find(self.target) if self.target else None
        return target is record_type


@dataclass(frozen=True)
class Definitions:
    """All custom fields by record type, and all currencies."""

    by_context: dict[str, tuple[FieldDefinition, ...]]
    currencies: Currencies

    def every(self) -> list[FieldDefinition]:
        """The fields of all types."""
        return [each for fields in self.by_context.values() for each in fields]

    def fields_of(self, context: str) -> tuple[FieldDefinition, ...]:
        """The fields of a type, in order."""
        return self.by_context.get(context, ())

    def named(self, context: str, name: str) -> FieldDefinition | None:
        """The field of a type with this `custom_<id>` or uri."""
        number = name.removeprefix("custom_")
        for each in self.fields_of(context):
            if each.uri == name or (name != number and number == str(each.id)):
                return each
        return None


def deleted_fields_of(tx: "Transaction", context: str) -> list[int]:
    """The ids of deleted fields of a type that can be restored."""
    return [row[0] for row in tx.find(DELETED_FIELD) if json.loads(row[1])["context"] == context]


DEFINITIONS: VersionedLocal[Definitions] = VersionedLocal()  # saves 37 microseconds, 4 % of composing a ticket


def definitions(tx: "Transaction") -> Definitions:
    """The custom fields in this snapshot; cached by version."""
    result: Definitions | None = tx.memo.get("custom fields")
    if result is None:
        now = tx.version("fields")
        result = tx.memo.get(("custom fields written", now)) or DEFINITIONS.get(tx.store, now)
        if result is None:
            result = _read_definitions(tx)
            keep = partial(DEFINITIONS.set, tx.store, now, result)
            if tx.can_write:
                tx.memo["custom fields written", now] = result
                tx.after_commit(keep)  # the transaction may be rolled back
            else:
                keep()
        if not tx.can_write:
            tx.memo["custom fields"] = result
    return result


def _read_definitions(tx: "Transaction") -> Definitions:
    sets = {row[0]: row[1] for row in tx.rows(lambda: _FIELDSET.select(_FIELDSET.c.id, _FIELDSET.c.name))}
    rows = tx.rows(
        lambda: _FIELD.select(*(getattr(_FIELD.c, name) for name in _NAMES)).order_by(_FIELD.c.pos, _FIELD.c.id),
    )
    money = currencies.read(tx)
    by_context: dict[str, list[FieldDefinition]] = {}
    for id, context, name, uri, kind, params, pos, set_id in rows:
        fields = by_context.setdefault(context, [])
        filter_name = _filter_name(name)
        if set_id in sets:
            filter_name = f"{_filter_name(sets[set_id])}.{filter_name}"
        if any(each.filter == filter_name for each in fields):
            filter_name += str(id)
        params = json.loads(params)
        params = params if isinstance(params, dict) else {}
        fields.append(
            FieldDefinition(
                id, context, name, uri, kind, params, pos, set_id, filter_name, money.by_id(currency_id(params))
            )
        )
    return Definitions({context: tuple(fields) for context, fields in by_context.items()}, money)


def currency_id(params: dict[str, Any]) -> int:
    """The currency in the settings of a field; 0 for none."""
    text = str(params.get("currency_id") or 0)
    return int(text) if is_whole(text) else 0


def _filter_name(label: str) -> str:
    """The label as a filter name.

    >>> _filter_name("Order number")
    'orderNumber'
    """
    words = re.findall(r"[A-Za-z0-9]+", label)
    joined = "".join(word[:1].upper() + word[1:].lower() for word in words)
    return joined[:1].lower() + joined[1:]
