"""The error responses of the document, built from the table of errors so that both agree."""

from http import HTTPStatus

from server.web import error_bodies as table
from server.web.openapi import shapes
from server.web.openapi.parameters import METHODS_WITH_BODY
from server.web.openapi.shapes import Schema
from server.web.routes import Endpoint

ERROR: Schema = {
    "type": "object",
    "description": "What went wrong, and what to do about it.",
    "properties": {
        "__build": {"type": "integer"},
        "__error": {"type": "string"},
        "__status": {"type": "string", "const": "error"},
        "__version": {"type": "string"},
        "notes": shapes.list_of(shapes.TEXT),
        "message": {"type": "string", "description": "For people."},
        "errors": {
            "type": "array",
            "description": "What is wrong with which parameter, where that is known.",
            "items": shapes.keys(field=shapes.TEXT, message=shapes.TEXT),
        },
        "record": shapes.OBJECT | {"description": "Of 412: the record as it is now."},
        "position": {"type": "integer", "description": "Where a search cannot be understood, in characters from 0."},
    },
    "required": ["__build", "__error", "__status", "__version", "message"],
    "additionalProperties": False,
}
HEADERS = {
    401: {"WWW-Authenticate": "How to authenticate (RFC 6750)."},
    403: {"WWW-Authenticate": "Names a scope that would do, when that is what is missing."},
    405: {"Allow": "The methods that the path offers; absent when the type of record lacks the operation."},
    412: {"ETag": "The tag of the record as it is now; absent where there is none."},
    429: {"Retry-After": "Seconds to wait."},
    503: {"Retry-After": "Seconds to wait, where that is known."},
}
REQUIRED_HEADERS = frozenset(((401, "WWW-Authenticate"), (429, "Retry-After")))
BUG = 500
ALWAYS = (400, 401, 403, 404, 405, 413, 422, 429, BUG, 503, 504)  # any request may be malformed, too long or too many
WRITING = (409, 507)  # only those that change something, or take room
TYPED = (415,)  # only those that look at the type of their body: see rest_site.py


def codes() -> dict[int, list[str]]:
    """{status: the values of `__error`}."""
    by_status: dict[int, set[str]] = {BUG: {"ERROR_SERVER"}}
    for status, code in table.TABLE.values():
        by_status.setdefault(status, set()).add(code)
    return {status: sorted(by_status[status]) for status in sorted(by_status)}


def statuses(each: Endpoint) -> list[int]:
    """Returns the statuses with which an endpoint may fail."""
    is_typed = each.method in METHODS_WITH_BODY
    return sorted((*ALWAYS, *(() if each.mode == "read" else WRITING), *(TYPED if is_typed else ()), *each.may_fail))


def name(status: int) -> str:
    """The component that describes a status.

    >>> name(404)
    'NotFound'
    """
    return HTTPStatus(status).phrase.title().replace(" ", "").replace("-", "")


def responses() -> dict[str, Schema]:
    """Returns components/responses: one for each status."""
    return {name(status): _response(status, listed) for status, listed in codes().items()}


def _response(status: int, listed: list[str]) -> Schema:
    schema = {"allOf": [shapes.component("Error")], "properties": {"__error": {"enum": listed}}}
    response: Schema = {
        "description": HTTPStatus(status).phrase,
        "content": {shapes.JSON: {"schema": schema}},
    }
    headers = HEADERS.get(status, {})
    response["headers"] = shapes.REQUEST_ID | {
        each: {"description": note, "required": (status, each) in REQUIRED_HEADERS, "schema": {"type": "string"}}
        for each, note in headers.items()
    }
    return response
