"""Parameters of endpoints, in path and query, and as bodies in the supported encodings."""

import re
from typing import Any

from server.web import idempotency
from server.web.form_data import RAW_NAMES
from server.web.openapi import shapes
from server.web.openapi.shapes import Schema
from server.web.routes import Endpoint, Parameter, outermost

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
TYPES: dict[str, Schema] = {
    "string": {"type": "string"},
    "text": {"type": "string"},
    "integer": {"type": "integer"},
    "id": {"type": "integer", "minimum": 0},
    "number": {"type": "number"},
    "boolean": {"type": ["boolean", "integer"], "minimum": 0, "maximum": 1},  # generators know no enum of both
    "time": {"type": ["integer", "string"]},
    "array": {"type": "array", "items": {"type": ["string", "integer"]}},
    "addresses": {"type": ["string", "array"], "items": {"type": "string"}},
    "map": shapes.OBJECT,
    "object": shapes.OBJECT,
    "json": {},
    "mixed": {},
}
PATH: dict[str, Schema] = {
    "id": {"type": "integer", "minimum": 0, "maximum": 2**63 - 1},
}
PATH_NOTES = {"id": "The record's id."}
IDEMPOTENCY_KEY = Parameter(
    idempotency.HEADER,
    "string",
    "Does the work once: the same key gets the first response again for a day.",
    place="header",
)
METHODS_WITH_BODY = ("POST", "PUT", "PATCH")


def in_path(path: str, each: Endpoint) -> list[Schema]:
    """The arguments of a path."""
    by_name = {parameter.name: parameter for parameter in each.parameters}
    in_order = []
    for name in re.findall(r"\{(\w+)\}", path):
        parameter = by_name.get(name)
        schema = TYPES[parameter.type] if parameter else PATH.get(name, {"type": "string"})
        note = parameter.note if parameter else PATH_NOTES.get(name, "")
        in_order.append({"name": name, "in": "path", "required": True, "description": note, "schema": schema})
    return in_order


def in_query(each: Endpoint) -> list[Schema]:
    """The parameters of a request without a body."""
    if each.method in METHODS_WITH_BODY:
        return []
    return [_query_parameter(parameter) for parameter in _outside_path(each)]


def in_header(each: Endpoint) -> list[Schema]:
    """The headers that an endpoint reads."""
    own = [one for one in each.parameters if one.place == "header"]
    return [
        {"name": one.name, "in": "header", "description": one.note, "schema": _schema(one)}
        for one in (*own, *((IDEMPOTENCY_KEY,) if idempotency.is_for(each) else ()))
    ]


def body(each: Endpoint, fields: Schema | None) -> tuple[Schema, Schema] | None:
    """Returns the schemas of a JSON body and of a form, None for an endpoint without. fields: schema of `fields`."""
    parameters = _outside_path(each)
    if each.method not in METHODS_WITH_BODY or not parameters:
        return None
    return _body_schema(parameters, fields, outermost), _body_schema(parameters, fields, _as_in_forms)


def encoding(each: Endpoint) -> Schema:
    """Returns the encoding of form values: maps as name[key]=value, files as separate parts."""
    encodings: dict[str, Any] = {}
    for parameter in _outside_path(each):
        if is_map(parameter):
            encodings[outermost(parameter)] = {"style": "deepObject", "explode": True}
    return encodings


def files(each: Endpoint) -> Schema:
    """The encoding of those parameters that may be file parts of a multipart body."""
    names = {outermost(parameter) for parameter in each.parameters} & RAW_NAMES
    return {name: {"contentType": "text/plain, application/octet-stream"} for name in sorted(names)}


def is_map(parameter: Parameter) -> bool:
    """Whether it is written as name[key]=value."""
    return parameter.name == "fields[]" or parameter.type in ("map", "object")


def _outside_path(each: Endpoint) -> list[Parameter]:
    arguments = re.findall(r"\{(\w+)\}", each.path)
    return [one for one in each.parameters if one.name not in arguments and not one.place]


def _query_parameter(parameter: Parameter) -> Schema:
    described: Schema = {
        "name": _as_in_forms(parameter),
        "in": "query",
        "description": parameter.note,
        "schema": _schema(parameter),
    }
    if parameter.required:
        described["required"] = True
    if is_map(parameter):
        described |= {"style": "deepObject", "explode": True}
    return described


def _body_schema(parameters: list[Parameter], fields: Schema | None, named: Any) -> Schema:
    plain = [each for each in parameters if "*" not in each.name]
    schema: Schema = {
        "type": "object",
        "properties": {
            named(each): fields if fields and each.name == "fields[]" else _schema(each) | {"description": each.note}
            for each in plain
        },
    }
    required = [named(each) for each in plain if each.required]
    if required:
        schema["required"] = required
    families = [each for each in parameters if "*" in each.name]
    if families:
        schema["patternProperties"] = {
            f"^{re.escape(each.name).replace(re.escape('*'), '.+')}$": _schema(each) | {"description": each.note}
            for each in families
        }
    return schema


def _as_in_forms(parameter: Parameter) -> str:
    return outermost(parameter) if is_map(parameter) else parameter.name


def _schema(parameter: Parameter) -> Schema:
    if is_map(parameter):
        return TYPES["map"]
    schema = TYPES[parameter.type]
    if parameter.name.endswith("[]") and schema.get("type") != "array":
        return {"type": "array", "items": schema}
    return schema
