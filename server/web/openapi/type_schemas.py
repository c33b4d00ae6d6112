"""The schemas of a record type, built from its declaration: <Type>Record for responses and, if records of the type can
be created or changed, <Type>Create and <Type>Update for requests.

Not for operations: those are in operations.py."""

import re
from typing import Any

from server.fields import Field
from server.record_types.describe import describe
from server.record_types.record_type import RecordType
from server.record_types.traits import CustomFields
from server.web.openapi import shapes
from server.web.openapi.shapes import Schema

OPEN: Schema = {"type": ["object", "array"], "items": shapes.ANY, "additionalProperties": shapes.ANY}
KEY_TYPES: dict[str, Schema] = {
    "text": shapes.TEXT,
    "context": shapes.TEXT,
    "url": shapes.TEXT,
    "id": shapes.ID,
    "timestamp": {"type": "integer"},
    "time": {"type": "integer"},
    "number": shapes.INTEGER,
    "uint": shapes.COUNT,
    "bytes": shapes.COUNT,
    "seconds": shapes.COUNT,
    "float": shapes.NUMBER,
    "bit": shapes.FLAG,
    "boolean": shapes.BOOLEAN,
    "object": OPEN,
    "map": OPEN,  # `links` is a list in some of its forms
    "array": {"type": "array", "items": shapes.ANY},
}
CUSTOM = "^custom(_|$)"


def schemas(record_type: RecordType) -> dict[str, Schema]:
    """Returns {component name: schema} of one type."""
    uri = record_type.uri
    made = {shapes.component_name(uri, "Record"): dictionary_schema(record_type)}
    if record_type.operations["create"]:
        made[shapes.component_name(uri, "Create")] = sent(record_type, is_create=True)
    if record_type.operations["create"] or record_type.operations["update"]:  # an upsert is either
        made[shapes.component_name(uri, "Update")] = sent(record_type, is_create=False)
    return made


def dictionary_schema(record_type: RecordType) -> Schema:
    """Returns the schema of a record's dictionary: permanent keys are required, keys that `expand` opens are not. It is
    not closed, so that it can be combined; `unevaluatedProperties` closes it where it is used."""
    described = describe(record_type)
    always = [each for each in described["keys"] if each["returned"] == "default" and not each.get("for_admins")]
    listed = [*described["keys"], *described["expand"], *_once(record_type)]
    opened = [each for each in listed if each["type"] != "record"]
    has_custom = record_type.has(CustomFields)
    prefixes = {f"^{re.escape(each['key'].rstrip('_'))}_" for each in listed if each["type"] == "record"}
    if has_custom:
        prefixes.add(CUSTOM)
    schema: Schema = {
        "type": "object",
        "description": described["note"],
        "properties": {each["key"]: _key_schema(each) for each in opened if each["key"] != "custom_"},
        "required": [each["key"] for each in always],
        "patternProperties": {prefix: {} for prefix in sorted(prefixes)},
    }
    schema["properties"]["_context"] = {"type": "string", "const": record_type.context}
    schema["properties"]["_type"] = {"type": "string", "const": record_type.uri}
    if has_custom:  # this key adds every custom field under its own uri
        schema["dependentSchemas"] = {"customfields": {"additionalProperties": True}}
    return schema


def _once(record_type: RecordType) -> list[dict[str, Any]]:
    """Secrets that only the response that generated them contains."""
    return [
        {"key": each.name, "type": "text", "note": f"{each.note} Only in the response that generates it."}
        for each in record_type.fields.values()
        if each.auto == "generated" and not each.shown
    ]


def _key_schema(key: dict[str, Any]) -> Schema:
    about = {"description": key["note"]}
    if key.get("nullable"):
        return {"type": [KEY_TYPES[key["type"]]["type"], "null"]} | about
    if key["type"] != "records":
        return KEY_TYPES.get(key["type"], shapes.ANY) | about
    return {"type": ["object", "array"], "items": shapes.OBJECT, "additionalProperties": shapes.OBJECT} | about


def sent(record_type: RecordType, *, is_create: bool) -> Schema:
    """Returns the schema of `fields`. Values of forms are texts, whose format the type describes."""
    fields = {name: each for name, each in record_type.fields.items() if "<" not in name and not each.immutable}
    properties = {name: _field_schema(each, is_create) for name, each in fields.items()}
    for other, name in record_type.alternatives.items():
        if name in properties:
            properties[other] = properties[name]
    schema: Schema = {"type": "object", "properties": properties}
    required = [each for each in fields.values() if each.required] if is_create else []
    alone = [each.name for each in required if not each.alternatives]
    if alone:
        schema["required"] = alone
    one_of_each = [_one_of(each) for each in required if each.alternatives]
    if one_of_each:
        schema["allOf"] = one_of_each
    schema["additionalProperties"] = _own_names() if record_type.has(CustomFields) else False
    return schema


def _own_names() -> Schema:
    return {"description": "Values of custom fields, as `custom_<id>` or by the field's uri."}


def _one_of(field: Field) -> Schema:
    return {"anyOf": [{"required": [name]} for name in (field.name, *field.alternatives)]}


def _field_schema(field: Field, is_create: bool) -> Schema:
    schema = field.schema()
    if is_create and field.default not in (None, ""):  # as text: generators treat a key with a default as required
        schema["description"] = f"{schema['description']} {field.default} when absent."
    return schema
