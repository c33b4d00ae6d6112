"""The OpenAPI 3.1 document of the REST API, built from the record types and the endpoints.

Not by apispec, which reads schemas of marshmallow: every record type would have to be declared a second time."""

from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from server.record_types.registry import Registry
from server.settings import VERSION
from server.web import oauth
from server.web.openapi import errors, success_responses, type_schemas
from server.web.openapi.operations import Paths, tags
from server.web.routes import Endpoint

ABOUT = """\
Every response is JSON with `__status`, `__version` and `__build` besides its payload. Errors also have `__error` and
`message`.

POST, PUT and PATCH accept parameters as a form, as multipart or as JSON. They also accept them in the query string; the
body takes precedence. In forms, write lists as `name[]=a&name[]=b` and maps as `name[key]=value`; yes and no are 1 and
0. Times are Unix seconds, or phrases such as `+2 hours` where a text is allowed.

A record type can be named by its plural, its other aliases and its full context as well.
Where the setting `rest_errors_as_200` is on, errors have the status 200, except 401.

HEAD returns what GET does, without a body; OPTIONS returns the methods of a path. A single slash at the end is ignored.
"""


def document(
    registry: Registry, endpoints: Iterable[Endpoint], base_url: str = "", *, only_json: bool = False
) -> dict[str, Any]:
    """Returns the document. base_url: of the service. only_json: omits other types of bodies, for client generators
    that support one for each operation."""
    found = Paths(sorted(endpoints, key=attrgetter("path", "method")), registry, only_json)
    schemas = {
        "Envelope": success_responses.ENVELOPE,
        "Error": errors.ERROR,
        "Meta": success_responses.META,
        "Subtotal": success_responses.SUBTOTAL,
    }
    for each in registry:
        schemas |= type_schemas.schemas(each)
    return {
        "openapi": "3.1.0",
        "info": _info(base_url),
        "servers": [{"url": base_url or "/"}],
        "security": [{"token": []}, {"login": []}],
        "tags": [*tags(registry), *found.tags()],
        "paths": found.paths,
        "components": {
            "schemas": schemas | found.schemas,
            "responses": errors.responses(),
            "headers": {
                "RequestId": {
                    "description": "The name of this request in the log.",
                    "schema": {"type": "string"},
                },
            },
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An access token; what it may do is bounded by its scopes and its worker.",
                },
                "login": _login(base_url),
            },
        },
    }


def _info(base_url: str) -> dict[str, Any]:
    return {
        "title": "Helpdesk",
        "version": VERSION,
        "description": ABOUT,
        "contact": {"name": "The administrators of this service"} | ({"url": base_url} if base_url else {}),
        "license": {"name": "As agreed with the administrators", "identifier": "LicenseRef-as-agreed"},
    }


def _login(base_url: str) -> dict[str, Any]:
    """Describes how an app gets an access token from a worker. Each app has its own scopes, so none are listed."""
    return {
        "type": "oauth2",
        "description": "The same token, got by a login with a code; S256 is needed where an app has no secret. More is "
        f"told at {oauth.SERVER_METADATA}.",
        "flows": {
            "authorizationCode": {
                "authorizationUrl": base_url + oauth.AUTHORIZE,
                "tokenUrl": base_url + oauth.TOKEN,
                "refreshUrl": base_url + oauth.TOKEN,
                "scopes": {},
            },
            "clientCredentials": {"tokenUrl": base_url + oauth.TOKEN, "scopes": {}},
        },
    }
