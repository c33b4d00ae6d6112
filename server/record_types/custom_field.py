"""Custom fields as records: fields that administrators add to a record type. shared/custom/ handles their values."""

import json
from typing import TYPE_CHECKING, Any

from server import contexts
from server.digits import is_whole
from server.errors import AdminOnly, Conflict, Invalid
from server.fields import ContextName, Id, Name, Structure, Text, Uint, UpdatedAt
from server.fields.flag import WORDS
from server.record_types.record_type import (
    Access,
    Change,
    DictionaryContext,
    Expand,
    Key,
    Record,
    RecordType,
    Subtotals,
    Writing,
)
from server.record_types.shared import custom
from server.record_types.shared.relation_tables import CUSTOM_VALUE, DELETED_FIELD
from server.record_types.traits import Comments, CustomFields, Search
from server.search.filters import AllWords, LinksFilter
from server.store.tables import Index

if TYPE_CHECKING:
    from server.record_types.registry import Registry

MAX_OPTIONS, MAX_OPTION_CHARS, MAX_DECIMALS = 1000, 255, 10
RESERVED = frozenset(("custom", "customfields", "expand", "id", "links", "comments", "comment_count", "watchers"))


def load_search_filter(view: DictionaryContext, records: list[Record], form: str) -> dict[int, dict[str, Any]]:
    """`search_filter`: the name of the field in searches."""
    definitions = custom.definitions(view.tx).by_context
    names = {each.id: each.filter for fields in definitions.values() for each in fields}
    return {record["id"]: {"search_filter": names.get(record["id"], "")} for record in records}


class CustomField(RecordType):
    """A field that an administrator added to a record type or a fieldset. Its context and type cannot be changed."""

    uri = "custom_field"
    aliases = ("custom field", "custom fields", "field", "fields", "cfield", "cfields")
    traits = (Comments(), Search())
    access = Access(read="any worker", write=("fieldset",), delete=("privilege", "fieldset"))
    is_administrative = True
    fields = {
        "context": ContextName(
            "Record type that gets the field; the fieldset's, if it is in one.",
            required=True,
            filter_note="Record type, by any of its names.",
        ),
        "custom_fieldset_id": Id(
            "Fieldset it belongs to; 0 for a field on every record of the type.",
            "custom_fieldset",
            zero_ok=True,
            filter="fieldset.id",
            filter_note="Fieldset by id.",
            deep="In a matching fieldset.",
            nested_note="Fieldset.",
        ),
        "name": Name("Label of the field.", 128),
        "params": Structure(
            "Settings: `options` (D, X: a list), `context` (L, record links), `currency_id` (Y), `decimal_at` (O), "
            "`value_min` and `value_max` (slider), `send_notifications` (W; 1: the worker is notified when chosen, "
            "and of what happens to the record).",
            16777215,
        ),
        "pos": Uint("Order, 0 first.", max=100),
        "type": Text(
            "Kind of value, by letter or id.",
            required=True,
            allowed=tuple(custom.KINDS),
            exact=True,
            filter_note="Kind of value, exact; lists are allowed.",
            match="exact",
        ),
        "updated_at": UpdatedAt(),
        "uri": Text(
            "Name that replaces custom_<id> in fields and expand: letters, digits and underscores.",
            200,
            required=True,
            unique=True,
            pattern=r"[A-Za-z0-9_]*",
            filter_note="Name that replaces custom_<id>.",
        ),
    }
    indexes = (Index(("context", "pos"), "the fields of a record type"),)
    bumps = {"fields": ()}
    keys = (
        Key("search_filter", "text", "Name of the field in searches.", on_expand=True),
        Key("type_label", "text", "Kind of value, in words.", value=lambda record, view: custom.KINDS[record["type"]]),
    )
    expands = (Expand("search_filter", "text", "Name of the field in searches.", load_search_filter),)
    filters = (
        AllWords("Bare words are searched in the label.", "name", "partial"),
        LinksFilter("links", "Linked to a record of these types; any or none.", contexts.CUSTOM_FIELD),
    )
    subtotals = Subtotals(search=("context", "fieldset.id", "links", "type"), aliases={"fieldset": "fieldset.id"})

    def bind(self, registry: "Registry") -> None:
        self.registry = registry

    def privileged(self, change: Change, writing: Writing) -> None:
        if writing.actor.is_admin or not change.changes("custom_fieldset_id"):
            return
        fieldset_id = change.value("custom_fieldset_id")
        if not fieldset_id:
            raise AdminOnly("only administrators may create fields for every record of a type")
        writing.require("update", "custom_fieldset", fieldset_id)

    def prepare(self, change: Change, writing: Writing) -> None:
        for name in ("context", "type"):
            if not change.is_create and change.changes(name):
                raise Invalid(f"{name}: cannot be changed; create another field instead", field=name)
        if change.is_create or change.changes("custom_fieldset_id"):
            self._check_fieldset(change, writing)
        if "uri" in change.new:
            self._check_uri(change)
        if change.is_create or "params" in change.new:
            change.new["params"] = self._params(change.value("type"), change.new.get("params") or {})
            if change.value("type") == "Y":
                self._check_currency(change, writing)

    def after_delete(self, record: Record, writing: Writing) -> None:
        row = {"field_id": record["id"], "record": json.dumps(record), "deleted_at": writing.now}
        writing.tx.put(DELETED_FIELD, row)  # its values are retained as long as this row

    # -- steps ------------------------------------------------------------------------------------------------------

    def _check_fieldset(self, change: Change, writing: Writing) -> None:
        target = self.registry.find(change.value("context"))
        if target is None or not target.has(CustomFields):
            raise Invalid(f"context: {change.value('context')} has no custom fields", field="context")
        fieldset_id = change.value("custom_fieldset_id")
        fieldset = writing.record("custom_fieldset", fieldset_id) if fieldset_id else None
        if fieldset is not None and fieldset["context"] != change.value("context"):
            raise Invalid(f"context: the fieldset is for {fieldset['context']}, so its fields are too", field="context")

    def _check_uri(self, change: Change) -> None:
        uri = change.new["uri"]
        target = self.registry.type(change.value("context"))
        used_names = {*target.fields, *target.alternatives, *(key.name for key in target.keys), *target.expand_by_name}
        if uri.isdigit() or uri.lower().startswith("custom_"):
            raise Invalid(f"uri: '{uri}' could be mistaken for a field id; start with a word", field="uri")
        if uri in (used_names - target.yielding) | RESERVED:
            raise Invalid(f"uri: '{uri}' is already used in {target.uri}", field="uri")

    def _params(self, kind: str, raw: Any) -> dict[str, Any]:
        """Returns the checked settings of a kind. Raises Invalid."""
        if not isinstance(raw, dict):
            if raw:
                raise Invalid("params: must be a map", field="params")
            raw = {}
        params = dict(raw)
        if kind in ("D", "X"):
            params["options"] = _options(params.get("options"))
        elif kind in ("L", custom.LINKS):
            params["context"] = self._context(params.get("context"))
        elif kind == "O":
            params["decimal_at"] = _whole(params, "decimal_at", 0, 0, MAX_DECIMALS)
        elif kind == custom.SLIDER:
            low = _whole(params, "value_min", 0, -(2**53), 2**53)
            high = _whole(params, "value_max", 100, -(2**53), 2**53)
            if low >= high:
                raise Invalid(f"params: value_min {low} must be below value_max {high}", field="params")
            params |= {"value_min": low, "value_max": high}
        elif kind == "W" and "send_notifications" in params:
            params["send_notifications"] = _yes_or_no(params, "send_notifications")
        return params

    def _check_currency(self, change: Change, writing: Writing) -> None:
        """Sets the currency on creation; it is fixed while there are amounts, which are stored in its smallest unit."""
        params = change.new["params"]
        sent = params.get("currency_id") or 0
        id = custom.currency_id(params)
        if not id and change.old is not None:
            id = custom.currency_id(change.old["params"])
        if str(sent).strip() not in ("0", str(id)) or (id and writing.record("currency", id) is None):
            raise Invalid(f"params: there is no currency '{str(sent)[:50]}'", field="params")
        is_other = change.old is not None and id != custom.currency_id(change.old["params"])
        if is_other and writing.tx.first(CUSTOM_VALUE, field_id=change.id):
            raise Conflict(
                "params: currency_id cannot be changed while there are amounts; create another field instead",
                field="params",
            )
        default = writing.find("currency", is_default=1)
        params["currency_id"] = id or (default["id"] if default else 0)

    def _context(self, name: Any) -> str:
        target = self.registry.find(str(name or "").lower())
        if target is None:
            raise Invalid(f"params: context '{str(name or '')[:80]}' is not a record type", field="params")
        return target.context


def _options(raw: Any) -> list[str]:
    if isinstance(raw, dict):
        raw = list(raw.values())
    if isinstance(raw, str):
        raw = [line.strip() for line in raw.splitlines()]
    options = [str(option) for option in raw or [] if isinstance(option, (str, int, float)) and str(option)]
    if not options or len(options) > MAX_OPTIONS or any(len(option) > MAX_OPTION_CHARS for option in options):
        raise Invalid(
            f"params: options must be a list of 1 to {MAX_OPTIONS} texts of at most {MAX_OPTION_CHARS} characters",
            field="params",
        )
    return list(dict.fromkeys(options))


def _yes_or_no(params: dict[str, Any], name: str) -> int:
    text = str(params[name]).strip().lower()
    if text and text not in WORDS:
        raise Invalid(f"params: {name} '{text[:50]}' is not 0 or 1", field="params")
    return WORDS.get(text, 0)


def _whole(params: dict[str, Any], name: str, default: int, low: int, high: int) -> int:
    text = str(params.get(name, "")).strip() or str(default)
    digits = text.removeprefix("-")
    if not (is_whole(digits) and low <= int(text) <= high):
        raise Invalid(f"params: {name} '{text[:50]}' is not a whole number from {low} to {high}", field="params")
    return int(text)
