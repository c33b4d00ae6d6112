"""Successful responses: the payload that an endpoint declares, with the keys of the envelope."""

from typing import Any

from server.web.openapi import shapes
from server.web.openapi.shapes import JSON, Schema, Success
from server.web.routes import Endpoint

ANY_BYTES = "application/octet-stream"  # listed before other types, for generators that do not support `*/*`
BYTES: Schema = {"type": "string", "format": "binary"}
ENVELOPE: Schema = {
    "type": "object",
    "description": "What every successful response holds besides its payload.",
    "properties": {
        "__build": {"type": "integer"},
        "__status": {"type": "string", "const": "success"},
        "__version": {"type": "string"},
        "notes": shapes.list_of(shapes.TEXT),
    },
    "required": ["__build", "__status", "__version"],
}
META: Schema = shapes.keys(labels=shapes.map_of(shapes.TEXT), types=shapes.map_of(shapes.TEXT)) | {
    "description": "Labels and type codes of keys, with show_meta=1."
}
SUBTOTAL: Schema = {
    "type": "object",
    "description": "How many matches have a value.",
    "properties": {
        "label": shapes.TEXT,
        "hits": shapes.COUNT,
        "key": {"type": ["integer", "string", "number", "boolean", "null"]},
        "distribution": {"type": "array", "items": shapes.component("Subtotal")},
    },
    "required": ["label", "hits"],
    "additionalProperties": False,
}


def responses(each: Endpoint, uri: str) -> dict[str, Schema]:
    """{status: response} of an endpoint's successes."""
    has_meta = any(parameter.name == "show_meta" for parameter in each.parameters)
    return {str(one.status): _response(one, uri, has_meta) for one in shapes.successes(each.response)}


def _response(one: Success, uri: str, has_meta: bool) -> Schema:
    response: Schema = {"description": one.note or "Done."}
    if one.schema is not None:
        response["content"] = {JSON: {"schema": enveloped(_filled(one.schema, uri), has_meta)}}
        if one.also:
            response["content"][one.also] = {"schema": shapes.TEXT}
    elif one.media_type:
        response["content"] = {kind: {"schema": BYTES} for kind in (ANY_BYTES, one.media_type)}
    response["headers"] = shapes.REQUEST_ID | {
        name: {"description": note, "required": name in one.headers, "schema": {"type": "string"}}
        for name, note in (one.headers | one.may_have).items()
    }
    return response


def enveloped(payload: Schema, has_meta: bool = False) -> Schema:
    """Returns the schema of a whole response."""
    if "anyOf" in payload:
        return payload | {"anyOf": [enveloped(each, has_meta) for each in payload["anyOf"]]}
    more: Schema = {"_meta": shapes.component("Meta")} if has_meta else {}
    if not payload.keys() & {"$ref", "allOf"}:
        return payload | {
            "properties": payload.get("properties", {}) | ENVELOPE["properties"] | more,
            "required": sorted({*payload.get("required", ()), *ENVELOPE["required"]}),
        }
    whole = _merged({"allOf": [shapes.component("Envelope"), payload], "properties": more})
    return whole | {"unevaluatedProperties": False}


def _merged(schema: Schema) -> Schema:
    """Returns a schema whose `allOf` is not nested: client generators read only one level."""
    parts: list[Schema] = []
    properties: dict[str, Schema] = {}
    required = {*schema.get("required", ())}
    for part in schema["allOf"]:
        inner = _merged(part) if "allOf" in part else part
        if not inner.keys() <= {"allOf", "properties", "required"}:
            parts.append(inner)
            continue
        parts += inner.get("allOf", ())
        properties |= inner.get("properties", {})
        required |= {*inner.get("required", ())}
    properties |= schema.get("properties", {})
    merged = schema | {"allOf": parts, "properties": properties, "required": sorted(required)}
    return {key: value for key, value in merged.items() if value}


def _filled(schema: Any, uri: str) -> Any:
    """Returns the schema for the record type of the path, with records in lists that have no other keys."""
    if isinstance(schema, list):
        return [_filled(each, uri) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema == shapes.RECORD:
        return shapes.record(uri)
    filled = {key: _filled(each, uri) for key, each in schema.items()}
    if "allOf" in filled:
        filled = _merged(filled)
    items = filled.get("items")
    if isinstance(items, dict) and str(items.get("$ref", "")).endswith("Record"):
        filled["items"] = items | {"unevaluatedProperties": False}
    return filled
