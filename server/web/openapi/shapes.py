"""Words in which an endpoint tells what it answers: `answer=` of routes.endpoint(). JSON Schema, 2020-12.

Only the payload is told: the envelope's keys stand beside it and are added by the document. Not for record types: their
schemas are made of their declarations.

    answer=shapes.record("ticket")                                       one record
    answer=shapes.RECORD                                                 one of the type that the path names
    answer=shapes.keys(id=shapes.ID, mask=shapes.TEXT)                   these keys, always
    answer=shapes.keys({"note": shapes.TEXT}, id=shapes.ID)              `note` only now and then
    answer=shapes.page(shapes.record("comment"))                         results, count, limit, page, total
    answer=shapes.NOTHING                                                the bare envelope
    answer=(shapes.Success(shapes.NOTHING), shapes.Success(status=304))  several ways to succeed
"""

import hashlib
import re
from dataclasses import field
from typing import Any

from server.dataclass import dataclass

Schema = dict[str, Any]

JSON = "application/json"
# Words of two letters or more, with one underscore between: what generators spell differently when it is different.
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
OBJECT: Schema = {"type": "object", "additionalProperties": ANY}  # said, since some generators take silence for no key
NOTHING: Schema = {"type": "object", "additionalProperties": False}
RECORD: Schema = {"$ref": "#/components/schemas/{uri}"}  # the document has a path for each type, where it is filled in


@dataclass(frozen=True)
class Success:
    """One way in which an endpoint succeeds. schema: of the JSON payload, None for no body or one that is not JSON.
    media_type: of the body, "" for none. also: another media type, for those who ask for it. headers: {name: note} of
    what comes with it, and may_have: likewise of what comes with some."""

    schema: Schema | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    may_have: dict[str, str] = field(default_factory=dict)
    media_type: str = ""
    note: str = ""
    also: str = ""


Shape = Schema | Success | tuple[Success, ...]


REQUEST_ID: Schema = {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}}  # a header of every response


def successes(answer: Shape) -> tuple[Success, ...]:
    """Returns `answer=` in its longest form."""
    if isinstance(answer, tuple):
        return answer
    return (answer,) if isinstance(answer, Success) else (Success(answer),)


def keys(sometimes: dict[str, Schema] | None = None, /, **always: Schema) -> Schema:
    """An object with these keys and no others. sometimes: {key: schema} of those that may be absent."""
    return {
        "type": "object",
        "properties": {**always, **(sometimes or {})},
        "required": sorted(always),
        "additionalProperties": False,
    }


def with_keys(schema: Schema, /, **more: Schema) -> Schema:
    """The keys of an object schema, such as a record, and these keys."""
    return {"allOf": [schema], "properties": more, "required": sorted(more)}


def list_of(item: Schema) -> Schema:
    """A list of these."""
    return {"type": "array", "items": item}


def map_of(value: Schema) -> Schema:
    """An object whose keys are ids or names."""
    return {"type": "object", "additionalProperties": value}


def any_of(*schemas: Schema) -> Schema:
    """One of these."""
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
    """A name that stays apart from others when generators spell it their way, which of `a__b` and `a_b` makes the same.

    >>> spelled("custom_fieldset"), spelled("a__b"), spelled("a_b")
    ('custom_fieldset', 'a_b_x63e5c1', 'a_b_x648fa9')
    """
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
