"""Tokens created by administrators through the API. An addition of this service: the specification has this only in the
browser."""

from typing import Any

from server.apps import app_tokens
from server.web.endpoint_call import EndpointCall
from server.web.openapi import shapes
from server.web.routes import Parameter, endpoint


@endpoint(
    "POST",
    "oauth/tokens/create",
    "Create tokens for a worker. For administrators.",
    "write",
    Parameter("worker_id", "integer", "The worker that requests act as.", required=True),
    Parameter("app_id", "integer", "The OAuth app; the built-in one when omitted."),
    Parameter("scopes", "string", "Scopes of the app, separated by spaces; api when absent."),
    Parameter("expires", "string", "Lifetime, such as 1 hour or 30 days."),
    Parameter("label", "string", "Its purpose."),
    response=shapes.keys(
        access_token=shapes.TEXT, refresh_token=shapes.TEXT, expires_in=shapes.COUNT, scope=shapes.TEXT
    ),
)
def create_tokens(call: EndpointCall) -> dict[str, Any]:
    params = call.params
    found = app_tokens.create(
        call.ctx,
        params.id("worker_id", required=True),
        params.id("app_id", 0) or 0,
        params.text("scopes", "") or "api",
        params.text("expires", "") or "1 hour",
        params.text("label", ""),
    )
    return {
        "access_token": found.access_token,
        "refresh_token": found.refresh_token,
        "expires_in": found.expires_in,
        "scope": found.scope,
    }
