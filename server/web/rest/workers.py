"""The worker who owns the token."""

from typing import Any

from server.records import records
from server.web.endpoint_call import EndpointCall
from server.web.openapi import shapes
from server.web.rest.legacy.single import META, named_shape, with_names
from server.web.rest.records import EXPAND, expand_of
from server.web.routes import endpoint


@endpoint(
    "GET",
    "workers/me",
    "Retrieve the worker who owns the token.",
    "read",
    EXPAND,
    META,
    response=named_shape(shapes.record("worker")),
)
def me(call: EndpointCall) -> dict[str, Any]:
    worker = records.retrieve(call.ctx, "worker", call.ctx.actor.worker_id, expand_of(call, "worker"))
    return with_names(call, "worker", worker)
