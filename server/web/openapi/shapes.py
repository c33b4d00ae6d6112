"""Schemas of responses, for `response=` of routes.endpoint(). JSON Schema 2020-12.

They describe the payload only: the document adds the keys of the envelope. Record types need none: their schemas are
built from their declarations.

    response=shapes.record("ticket")                                       one record
    response=shapes.RECORD                                                 one of the type that the path names
    response=shapes.keys(id=shapes.ID, mask=shapes.TEXT)                   these keys, always
    response=shapes.keys({"note": shapes.TEXT}, id=shapes.ID)              `note` is optional
    response=shapes.page(shapes.record("comment"))                         results, count, limit, page, total
    response=shapes.NOTHING                                                the bare envelope
    response=(shapes.Success(shapes.NOTHING), shapes.Success(status=304))  several ways to succeed"""

import hashlib
import re
from dataclasses import field
from typing import Any

from server.dataclass import dataclass

Schema = dict[str, Any]

JSON = "application/json"
# Words of two letters or more, joined by single underscores: names that stay distinct in every generator's spelling.
PLAIN_NAME = re.compile(r"[a-z][a-z0-9]+(_[a-z][a-z0-9]+)*")

ANY: Schema = {}
TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}
FLAG: Schema = {"type": "integer", "enum": [0, 1]}
COUNT: Schema = {"type": "integer", "minimum": 0}
ID: Schema = {"type": "integer", "minimum": 0}
TIME: Schema = {"type": "integer", "description": "Unix seconds."}
OBJECT: Schema = {
    "type": "object",
    "additionalProperties": ANY,
}  # explicit, since some generators treat a missing value as no keys
NOTHING: Schema = {"type": "object", "additionalProperties": False}
RECORD: Schema = {"$ref": "#/components/schemas/{uri}"}  # {uri} is replaced for the path of each type


@dataclass(frozen=True)
class Success:
    """One way in which an endpoint succeeds. schema: of the JSON payload, None without a JSON body. media_type: of the
    body, "" for none. also: another media type, on request. headers: {name: note} of all responses; may_have: of
    some."""

    schema: Schema | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    may_have: dict[str, str] = field(default_factory=dict)
    media_type: str = ""
    note: str = ""
    also: str = ""


Shape = Schema | Success | tuple[Success, ...]


REQUEST_ID: Schema = {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}}  # a header of every response


def successes(response: Shape) -> tuple[Success, ...]:
    """Returns `response=` in its full form."""
    if isinstance(response, tuple):
        return response
    return (response,) if isinstance(response, Success) else (Success(response),)


def keys(sometimes: dict[str, Schema] | None = None, /, **always: Schema) -> Schema:
    """An object with exactly these keys. sometimes: {key: schema} of optional keys."""
    return {
        "type": "object",
        "properties": {**always, **(sometimes or {})},
        "required": sorted(always),
        "additionalProperties": False,
    }


def with_keys(schema: Schema, /, **more: Schema) -> Schema:
    """The keys of an object schema, such as that of a record, and these keys."""
    return {"allOf": [schema], "properties": more, "required": sorted(more)}


def list_of(item: Schema) -> Schema:
    """A list of values with this schema."""
    return {"type": "array", "items": item}


def map_of(value: Schema) -> Schema:
    """An object whose keys are ids or names."""
    return {"type": "object", "additionalProperties": value}


def any_of(*schemas: Schema) -> Schema:
    """A value with one of these schemas."""
    return {"anyOf": list(schemas)}


def record(uri: str) -> Schema:
    """A record of this type, opened or not."""
    return component(component_name(uri, "Record"))


def component_name(uri: str, part: str) -> str:
    """The name of a schema of a record type.

    >>> component_name("custom_fieldset", "Record")
    'CustomFieldsetRecord'
    """
    words = re.split(r"[^0-9A-Za-z]+", spelled(uri))
    return "".join(word[:1].upper() + word[1:] for word in words) + part


def spelled(name: str) -> str:
    """Returns a name that generators keep distinct: their spelling would turn both `a__b` and `a_b` into the same name.

    >>> spelled("custom_fieldset"), spelled("a__b"), spelled("a_b")
    ('custom_fieldset', 'a_b_x63e5c1', 'a_b_x648fa9')"""
    if PLAIN_NAME.fullmatch(name):
        return name
    words = re.sub("[^0-9A-Za-z]+", "_", name).strip("_")
    return f"{words}_x{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def page(item: Schema, sometimes: dict[str, Schema] | None = None, /, **always: Schema) -> Schema:
    """A page of results, and further keys."""
    return keys(sometimes, results=list_of(item), count=COUNT, limit=COUNT, page=COUNT, total=COUNT, **always)


def component(name: str) -> Schema:
    """A schema of the document's components by name."""
    return {"$ref": f"#/components/schemas/{name}"}
