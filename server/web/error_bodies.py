"""The table of error classes with their HTTP status, `__error` code and headers."""

from typing import Any

from server import errors
from server.errors import HelpdeskError
from server.translation import N_
from server.web.endpoint_call import Response

# The first class in an error's MRO that is listed here decides.
TABLE: dict[type[HelpdeskError], tuple[int, str]] = {
    errors.NotAuthenticated: (401, "ERROR_UNAUTHORIZED"),
    errors.ScopeDenied: (403, "ERROR_SCOPE"),
    errors.Forbidden: (403, "ERROR_PERMISSIONS"),
    errors.Gone: (410, "ERROR_GONE"),
    errors.NotFound: (404, "ERROR_NOT_FOUND"),
    errors.NotOffered: (405, "ERROR_METHOD"),
    errors.Malformed: (400, "ERROR_PARAM_INVALID"),
    errors.UnsupportedMedia: (415, "ERROR_PARAM_INVALID"),
    errors.Rejected: (422, "ERROR_REJECTED"),
    errors.Required: (422, "ERROR_PARAM_REQUIRED"),
    errors.BadDataQuery: (422, "ERROR"),
    errors.BadQuery: (422, "ERROR_SEARCH_FILTERS_INVALID"),
    errors.Invalid: (422, "ERROR_PARAM_INVALID"),
    errors.Conflict: (409, "ERROR_CONFLICT"),
    errors.PreconditionFailed: (412, "ERROR_PRECONDITION"),
    errors.TooLarge: (413, "ERROR_TOO_LARGE"),
    errors.TooMany: (429, "ERROR_RATE_LIMIT"),
    errors.Full: (507, "ERROR"),
    errors.Unavailable: (503, "ERROR"),
    errors.TimedOut: (504, "ERROR"),
    errors.ScriptError: (422, "ERROR"),
}
RESOURCE, RESOURCE_METADATA = "/rest", "/.well-known/oauth-protected-resource"
BUG_MESSAGE = N_(
    "something went wrong on our side; nothing was changed. Give this request id to the operators of the service: {id}"
)


def status_and_code(error: HelpdeskError) -> tuple[int, str]:
    """Returns the HTTP status and `__error` of an error."""
    for base in type(error).__mro__:
        if base in TABLE:
            return TABLE[base]
    return 500, "ERROR_SERVER"


def metadata_address(base_url: str) -> str:
    """Returns the address at which clients without a token find the authorization server. RFC 9728 inserts the path
    between host and resource.

    >>> metadata_address("https://desk.example")
    'https://desk.example/.well-known/oauth-protected-resource/rest'"""
    return f"{base_url}{RESOURCE_METADATA}{RESOURCE}"


def headers(error: HelpdeskError, base_url: str = "") -> dict[str, str]:
    """Returns headers that tell a client how to proceed: WWW-Authenticate, Allow, ETag, Retry-After. base_url: of the
    service, for clients that need the authorization server."""
    details = error.details
    if isinstance(error, errors.NotAuthenticated):
        reason = details.get("reason")
        challenge = 'Bearer realm="svc"'
        if reason:
            challenge += f', error="{reason}", error_description="{_quoted(error.message)}"'
        if base_url:
            challenge += f', resource_metadata="{_quoted(metadata_address(base_url))}"'
        return {"WWW-Authenticate": challenge}
    if isinstance(error, errors.ScopeDenied):
        scope = details.get("scope")
        challenge = 'Bearer realm="svc", error="insufficient_scope"'
        return {"WWW-Authenticate": f'{challenge}, scope="{_quoted(str(scope))}"' if scope else challenge}
    if isinstance(error, errors.NotOffered) and details.get("allow"):
        return {"Allow": str(details["allow"])}
    if isinstance(error, errors.PreconditionFailed) and details.get("etag"):
        return {"ETag": str(details["etag"])}
    if details.get("retry_after"):
        return {"Retry-After": str(details["retry_after"])}
    return {}


def body(error: HelpdeskError) -> dict[str, Any]:
    """Returns the payload of an error: `__error`, `message` and, if known, `errors` [{field, message}], `position`, and
    `record`: the current record, after a failed precondition."""
    payload: dict[str, Any] = {"__error": status_and_code(error)[1], "message": error.message}
    field = error.details.get("field")
    if isinstance(field, str):
        payload["errors"] = [
            {"field": each.details.get("field") or field, "message": each.message} for each in errors.all_of(error)
        ]
    if isinstance(error.details.get("position"), int):
        payload["position"] = error.details["position"]
    if isinstance(error, errors.PreconditionFailed) and error.details.get("record"):
        payload["record"] = error.details["record"]
    if error.details.get("notes"):
        payload["notes"] = error.details["notes"]
    return payload


def response(error: HelpdeskError, base_url: str = "") -> Response:
    """Returns the response to an error."""
    return Response(body(error), status_and_code(error)[0], headers(error, base_url))


def catalogue() -> list[tuple[int, str, str]]:
    """Lists every kind of error: HTTP status, `__error`, and its cause, by status."""
    kinds = [(status, code, _first(kind.__doc__ or "")) for kind, (status, code) in TABLE.items()]
    bug = (500, "ERROR_SERVER", "An internal error. Nothing was changed, and the message has the request id.")
    return sorted([*kinds, bug])


def _quoted(text: str) -> str:
    return "".join(char if " " <= char <= "~" and char not in '"\\' else "'" for char in text)


def _first(text: str) -> str:
    """Returns the part of a description that is meant for clients; the rest is for code that raises the error."""
    return " ".join(text.split()).partition(" `details[")[0]
