"""Responses as JSON bytes: the payload's keys at the top level, next to those of the envelope."""

import json
from typing import Any

from server.settings import BUILD, VERSION
from server.web.endpoint_call import Response

_ENCODER = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), sort_keys=True, default=str)
_ORDERED = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), default=str)
_ENVELOPE = {"__build": BUILD, "__status": "success", "__version": VERSION}

KEYS = frozenset(_ENVELOPE)
CONTENT_TYPE = "application/json; charset=utf-8"


def success(payload: dict[str, Any]) -> bytes:
    """Returns a successful response. Keys are sorted at every level."""
    return _ENCODER.encode({**payload, **_ENVELOPE}).encode("ascii")


def success_in_order(payload: dict[str, Any]) -> bytes:
    """Like success(), but keys below the outermost level stay in their order, for maps whose order has a meaning."""
    return _ORDERED.encode(dict(sorted({**payload, **_ENVELOPE}.items()))).encode("ascii")


def failure(payload: dict[str, Any]) -> bytes:
    """Returns an error response."""
    return _ENCODER.encode({**payload, **_ENVELOPE, "__status": "error"}).encode("ascii")


def body_of(response: Response) -> bytes:
    """Returns the body of a response with a payload."""
    assert response.payload is not None
    payload = response.payload
    if response.notes:
        payload = payload | {"notes": [*payload.get("notes", ()), *response.notes]}
    is_success = response.status < 400 and "__error" not in payload
    return success(payload) if is_success else failure(payload)
