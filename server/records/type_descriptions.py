"""Descriptions of record types for callers: operations, custom fields and fieldsets.

The types are those in the registry at the time of the call; administrators add and remove types while the service
runs."""

from typing import Any

from server.context import Context
from server.record_types.record_type import Record, RecordType
from server.record_types.shared.custom.definitions import KINDS
from server.records import records
from server.records.dictionary import Dictionaries
from server.store.transaction import Transaction

PRIVILEGED = ("create", "delete", "update")

Dictionary = dict[str, Any]


def list_contexts(ctx: Context) -> list[Dictionary]:
    """Returns every record type, ordered by uri, with the custom fields and fieldsets that the caller may read."""

    def read(tx: Transaction) -> list[Dictionary]:
        view = Dictionaries(ctx, tx)
        inner: dict[int, list[Dictionary]] = {}
        for each in _fields(view):
            inner.setdefault(each["custom_fieldset_id"], []).append(each)
        fieldsets = [
            fieldset | {"custom_fields": inner.get(fieldset["id"], [])} for fieldset in _all(view, "custom_fieldset")
        ]
        own, sets = _by_context(inner.get(0, [])), _by_context(fieldsets)
        return [
            _described(record_type, own.get(record_type.context, []), sets.get(record_type.context, []))
            for record_type in ctx.service.registry
        ]

    return records.reading(ctx, read)


def fields_of(ctx: Context, name: str) -> Dictionary:
    """Returns {custom_<id>: {id, name, type, pos, context, custom_fieldset_id, options}} of one type, without fields of
    fieldsets that the caller may not read.

    Raises NotFound for an unknown type."""
    record_type = ctx.service.registry.type(name)

    def read(tx: Transaction) -> Dictionary:
        view = Dictionaries(ctx, tx)
        readable = {each["id"] for each in _all(view, "custom_fieldset")} | {0}
        return {
            f"custom_{each['id']}": _brief(each)
            for each in _fields(view)
            if each["context"] == record_type.context and each["custom_fieldset_id"] in readable
        }

    return records.reading(ctx, read)


def _described(record_type: RecordType, fields: list[Dictionary], fieldsets: list[Dictionary]) -> Dictionary:
    singular, plural = record_type.label_names
    description: Dictionary = {
        "id": record_type.context,
        "name": singular,
        "plugin_id": record_type.plugin,
        "alias": record_type.uri,
        "params": {
            "names": {singular.lower(): "singular", plural.lower(): "plural"},
            "acl": [each for each in PRIVILEGED if "privilege" in getattr(record_type.access, each)],
            "options": sorted(record_type.options),
        },
        "custom_fieldsets": fieldsets,
    }
    return description | {"custom_fields": fields} if fields else description


def _by_context(dictionaries: list[Dictionary]) -> dict[str, list[Dictionary]]:
    groups: dict[str, list[Dictionary]] = {}
    for each in dictionaries:
        groups.setdefault(each["context"], []).append(each)
    return groups


def _fields(view: Dictionaries) -> list[Dictionary]:
    """All custom fields, by position."""
    fields = [each | {"type_label": KINDS.get(each["type"], each["type"])} for each in _all(view, "custom_field")]
    return sorted(fields, key=lambda each: (each["pos"], each["id"]))


def _all(view: Dictionaries, uri: str) -> list[Dictionary]:
    """The dictionaries of all records of a type that the caller may read; for types with tens of records."""
    table: Any = view.registry.type(uri).table.sql
    ids = [row[0] for row in view.tx.rows(lambda: table.select(table.id).order_by(table.id))]
    records_of_type: list[Record] = view.records(uri, ids)
    return view.dictionaries(uri, records_of_type)


def _brief(field: Dictionary) -> Dictionary:
    names = ("id", "name", "type", "pos", "context", "custom_fieldset_id")
    return {name: field[name] for name in names} | {"options": field["params"].get("options", [])}
