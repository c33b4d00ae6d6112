"""Custom values in dictionaries: by the id and by the uri of their field."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from server import contexts
from server.record_types.shared.collections import ids_text
from server.record_types.shared.custom.definitions import LINKS, SEVERAL, FieldDefinition, definitions
from server.record_types.shared.relation_tables import CUSTOM_VALUE, is_line
from server.store.statements import in_list, slot

if TYPE_CHECKING:
    from server.record_types.parts import DictionaryContext, Loader, Record
    from server.record_types.record_type import RecordType
    from server.store.transaction import Transaction


def values_of(
    tx: "Transaction", fields: Sequence[FieldDefinition], records: "Sequence[Record]"
) -> dict[int, dict[int, list[Any]]]:
    """{record id: {field id: [values]}}, in one statement."""
    by_record: dict[int, dict[int, list[Any]]] = {record["id"]: {} for record in records}
    if not fields:
        return by_record
    table = CUSTOM_VALUE.sql
    rows = tx.rows(
        lambda: (
            table.select(table.record_id, table.field_id, table.number, table.text)
            .where(in_list(table.field_id, slot(0)), in_list(table.record_id, slot(1)))
            .order_by(table.record_id, table.field_id, table.place)
        ),
        (json.dumps([each.id for each in fields]), ids_text(records)),
    )
    for record_id, field_id, number, text in rows:
        by_record[record_id].setdefault(field_id, []).append(text if number is None else number)
    return by_record


def records_with(tx: "Transaction", field: FieldDefinition, value: Any, most: int) -> list[int]:
    """The ids of records with this value, in any order. value: in its stored form."""
    return _records_with(tx, field.column, field.has_lines, (field.id, value, most))


def _records_with(tx: "Transaction", column: str, is_lined: bool, values: tuple[Any, ...]) -> list[int]:
    table = CUSTOM_VALUE.sql

    def build() -> Any:
        query = table.select(table.record_id).where(table.field_id == slot(0), getattr(table, column) == slot(1))
        return (query.where(is_line(table)) if is_lined else query).limit(slot(2))

    return [row[0] for row in tx.rows(build, values)]


def shown_value(field: FieldDefinition, values: list[Any]) -> Any:
    """The value in `custom` and under the uri: None if unset, a list for kinds with several."""
    if not values:
        return None
    return values if field.kind in SEVERAL else values[0]


def shown_text(field: FieldDefinition, values: list[Any]) -> Any:
    """The value in `custom_<id>`: text, "" if unset; record links are a list."""
    if field.kind == LINKS:
        return values
    if field.kind in ("O", "Y") and values:
        return str(values[0])
    return ", ".join(str(value) for value in values)


def load_by_id(record_type: "RecordType") -> "Loader":
    """`custom`: {field id: value}, and flat `custom_<id>` with its additional keys."""

    def load(view: "DictionaryContext", records: "list[Record]", form: str) -> dict[int, dict[str, Any]]:
        fields = definitions(view.tx).fields_of(record_type.context)
        stored = values_of(view.tx, fields, records)
        by_record = {}
        for record in records:
            values = stored[record["id"]]
            keys: dict[str, Any] = {
                "custom": {str(each.id): shown_value(each, values.get(each.id, [])) for each in fields}
            }
            for each in fields:
                keys |= _flat(view, each, values.get(each.id, []))
            by_record[record["id"]] = keys
        return by_record

    return load


def _flat(view: "DictionaryContext", field: FieldDefinition, values: list[Any]) -> dict[str, Any]:
    name = f"custom_{field.id}"
    keys = {name: shown_text(field, values)}
    if field.kind in ("L", "W") and field.target:
        keys[f"{name}_id"] = values[0] if values else 0
        keys[f"{name}__context"] = view.type(field.target).context
    elif field.kind == "O":
        keys[f"{name}_decimal_at"] = field.decimals
    elif field.kind == "Y":
        keys[f"{name}_currency_id"] = field.currency.id
        keys[f"{name}_currency__context"] = contexts.CURRENCY
        keys[f"{name}_label"] = field.currency.label(values[0]) if values else ""
        keys[f"{name}_decimal"] = field.currency.decimal(values[0]) if values else ""
    elif field.kind == LINKS and field.target:
        context = view.type(field.target).context
        keys[f"{name}_records"] = {str(id): {"_context": context, "id": id} for id in values}
    return keys


def load_by_uri(record_type: "RecordType") -> "Loader":
    """`customfields`: the uris, and each value under its uri."""

    def load(view: "DictionaryContext", records: "list[Record]", form: str) -> dict[int, dict[str, Any]]:
        fields = definitions(view.tx).fields_of(record_type.context)
        stored = values_of(view.tx, fields, records)
        return {
            record["id"]: {"customfields": [each.uri for each in fields]}
            | {each.uri: shown_value(each, stored[record["id"]].get(each.id, [])) for each in fields}
            for record in records
        }

    return load
