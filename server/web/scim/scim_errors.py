"""Errors of the SCIM protocol, with their scimType. Follows RFC 7644, section 3.12."""

from typing import Any

from server.errors import Conflict, HelpdeskError, Invalid, Malformed, NotAuthenticated
from server.web import error_bodies
from server.web.scim.schemas import ERROR


class ScimInvalid(Invalid):
    """A request that the protocol refuses. details["scim_type"]: its kind."""

    def __init__(self, scim_type: str, message: str) -> None:
        super().__init__(message, scim_type=scim_type)


def status_and_type(error: HelpdeskError) -> tuple[int, str]:
    """Returns the HTTP status and the scimType of an error, "" for none."""
    scim_type = str(error.details.get("scim_type") or "")
    if isinstance(error, Malformed):
        return 400, scim_type or "invalidSyntax"
    if isinstance(error, Invalid):
        return 400, scim_type or "invalidValue"
    if isinstance(error, Conflict):
        return 409, scim_type or "uniqueness"
    status = error.details.get("status")
    return status if isinstance(status, int) else error_bodies.status_and_code(error)[0], scim_type


def body(error: HelpdeskError) -> dict[str, Any]:
    """Returns the payload of an error."""
    status, scim_type = status_and_type(error)
    payload: dict[str, Any] = {"schemas": [ERROR], "status": str(status), "detail": str(error.message)}
    return payload | ({"scimType": scim_type} if scim_type else {})


def headers(error: HelpdeskError) -> dict[str, str]:
    """Returns the headers of the response to an error."""
    if isinstance(error, NotAuthenticated):
        return {"WWW-Authenticate": 'Bearer realm="scim"'}
    return error_bodies.headers(error)
