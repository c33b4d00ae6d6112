"""Deliveries of outgoing webhooks: list, replay, test. The webhooks themselves are records."""

from typing import Any

from server.errors import Required
from server.outgoing import courier, deliveries
from server.records.records import MAX_PAGE
from server.web.endpoint_call import EndpointCall
from server.web.openapi import shapes
from server.web.routes import Parameter, endpoint

LIMIT, MOST = 25, 250
BRIEF = shapes.keys(
    id=shapes.ID, webhook_id=shapes.ID, message_id=shapes.TEXT, event=shapes.TEXT, record_id=shapes.ID, at=shapes.TIME,
    state={"type": "string", "enum": list(deliveries.STATES)}, attempts=shapes.COUNT, due_at=shapes.TIME,
    tried_at=shapes.TIME, status=shapes.INTEGER, ms=shapes.COUNT, error=shapes.TEXT,
)  # fmt: skip
WHOLE = {
    **BRIEF,
    "properties": {
        **BRIEF["properties"],
        "request": shapes.keys(method=shapes.TEXT, url=shapes.TEXT, body=shapes.TEXT),
        "response": shapes.keys(body=shapes.TEXT),
    },
    "required": [*BRIEF["required"], "request", "response"],
}
PAGING = (
    Parameter("state", "string", "waiting, sent or failed; all of them when absent."),
    Parameter("limit", "integer", f"Results on a page, 1 to {MOST}; {LIMIT} when absent."),
    Parameter("page", "integer", "The page, counted from 0."),
)


@endpoint(
    "GET",
    "outgoing_webhooks/deliveries",
    "Deliveries of all outgoing webhooks, newest first. For administrators.",
    "read",
    *PAGING,
    response=shapes.page(BRIEF),
)
def list_all(call: EndpointCall) -> dict[str, Any]:
    return _listed(call, 0)


@endpoint(
    "GET",
    "outgoing_webhooks/{id}/deliveries",
    "Deliveries of an outgoing webhook, newest first. For administrators.",
    "read",
    *PAGING,
    response=shapes.page(BRIEF),
)
def list_of_one(call: EndpointCall) -> dict[str, Any]:
    return _listed(call, call.id)


@endpoint(
    "GET",
    "outgoing_webhooks/deliveries/{id}",
    "One delivery, with the body that was sent and the response to the last attempt. For administrators.",
    "read",
    response=WHOLE,
)
def show(call: EndpointCall) -> dict[str, Any]:
    return deliveries.one(call.ctx, call.id)


@endpoint(
    "POST",
    "outgoing_webhooks/deliveries/{id}/replay",
    "Send a delivery again, under the same id. For administrators.",
    "write",
    response=WHOLE,
)
def replay(call: EndpointCall) -> dict[str, Any]:
    return deliveries.replay(call.ctx, call.id)


@endpoint(
    "POST",
    "outgoing_webhooks/{id}/replay",
    "Resend everything that changed since a time, including changes while the webhook was off. For administrators.",
    "write",
    Parameter("since", "time", "The start time.", required=True),
    response=shapes.keys(again=shapes.COUNT),
    may_fail=(410,),
)
def replay_since(call: EndpointCall) -> dict[str, Any]:
    since = call.time("since")
    if since is None:
        raise Required("'since' is missing or empty; send a time, such as -2 hours", field="since")
    return {"again": deliveries.replay_since(call.ctx, call.id, since)}


@endpoint(
    "POST",
    "outgoing_webhooks/{id}/test",
    "Send a test to an outgoing webhook, even if it is disabled; returns the result. For administrators.",
    "write",
    response=WHOLE,
)
def test(call: EndpointCall) -> dict[str, Any]:
    return courier.tried(call.ctx, call.id)


def _listed(call: EndpointCall, webhook_id: int) -> dict[str, Any]:
    params = call.params
    limit, page = params.integer("limit", LIMIT, 1, MOST), params.integer("page", 0, 0, MAX_PAGE)
    results, total = deliveries.listed(call.ctx, webhook_id, params.text("state", ""), limit, page)
    return {"results": results, "count": len(results), "total": total, "page": page, "limit": limit}
