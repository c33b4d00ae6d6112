"""The worker who owns the token, and absences of workers."""

from typing import Any

from server.people import profile
from server.record_types.shared import absence
from server.records import records
from server.web.endpoint_call import EndpointCall
from server.web.openapi import shapes
from server.web.rest.legacy.single import META, named_shape, with_names
from server.web.rest.records import EXPAND, expand_of
from server.web.routes import Parameter, endpoint


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


@endpoint(
    "PUT",
    "workers/{id}/absence",
    "Change the absence of a worker: one's own, that of a member of a group that one manages, or, as an administrator, "
    "anybody's.",
    "small write",
    Parameter("away_from", "time", "When the absence starts; 0 for no start."),
    Parameter("away_until", "time", "When it ends; 0 until further notice. If both are 0, there is none."),
    Parameter("away_stand_in_id", "integer", "Worker who is notified of customers' messages meanwhile; 0 for nobody."),
    EXPAND,
    META,
    response=named_shape(shapes.record("worker")),
)
def change_absence(call: EndpointCall) -> dict[str, Any]:
    sent = {name: call.params.text(name, "") for name in absence.FIELDS if name in call.params}
    profile.change_absence(call.ctx, call.id, sent)
    return with_names(call, "worker", records.retrieve(call.ctx, "worker", call.id, expand_of(call, "worker")))
