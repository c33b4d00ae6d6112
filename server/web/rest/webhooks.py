"""Deliveries of webhooks: list, replay; new URLs of webhooks."""

from typing import Any

from server.automation.webhooks import received_calls, webhook_tokens
from server.automation.webhooks.webhook_tokens import DEFAULT_OVERLAP_SECONDS, MAX_OVERLAP_SECONDS
from server.digits import MAX_ID
from server.records.records import MAX_PAGE
from server.web.endpoint_call import EndpointCall
from server.web.openapi import shapes
from server.web.routes import Parameter, endpoint
from server.web.webhook_site import replay

LIMIT, MOST = 25, 250
BRIEF = shapes.keys(
    id=shapes.ID, at=shapes.TIME, method=shapes.TEXT, path=shapes.TEXT, size=shapes.COUNT, client=shapes.TEXT,
    replay_of=shapes.ID, automation=shapes.TEXT, state=shapes.TEXT, message=shapes.TEXT, ms=shapes.COUNT,
    status=shapes.INTEGER, run_id=shapes.ID,
)  # fmt: skip
BRIEF_OF_ALL = {**BRIEF, "properties": {"webhook_id": shapes.ID, **BRIEF["properties"]}}
WHOLE = shapes.keys(
    id=shapes.ID, webhook_id=shapes.ID, at=shapes.TIME, client_ip=shapes.TEXT, replay_of=shapes.ID,
    automation=shapes.TEXT, state=shapes.TEXT, message=shapes.TEXT, ms=shapes.COUNT, run_id=shapes.ID,
    request=shapes.OBJECT,
    response=shapes.OBJECT, trace=shapes.ANY,
)  # fmt: skip


@endpoint(
    "GET",
    "webhooks/{id}/deliveries",
    "Deliveries of a webhook, newest first. For administrators.",
    "read",
    Parameter("limit", "integer", f"Results on a page, 1 to {MOST}; {LIMIT} when absent."),
    Parameter("page", "integer", "The page, counted from 0."),
    response=shapes.page(BRIEF),
)
def list_deliveries(call: EndpointCall) -> dict[str, Any]:
    call.ctx.require_admin(received_calls.DOING)
    params = call.params
    limit, page = params.integer("limit", LIMIT, 1, MOST), params.integer("page", 0, 0, MAX_PAGE)
    results, total = received_calls.of_listener(call.ctx, call.id, limit, page)
    return {"results": results, "count": len(results), "total": total, "page": page, "limit": limit}


@endpoint(
    "GET",
    "webhooks/deliveries",
    "Deliveries of all webhooks, newest first. For administrators.",
    "read",
    Parameter("webhook_id", "integer", "The webhook; all of them when absent."),
    Parameter(
        "answer",
        "string",
        "`failed` for responses with a status of 400 or more, `done` for the others; both when omitted.",
    ),
    Parameter("limit", "integer", f"Results on a page, 1 to {MOST}; {LIMIT} when absent."),
    Parameter("page", "integer", "The page, counted from 0."),
    response=shapes.page(BRIEF_OF_ALL),
)
def list_all_deliveries(call: EndpointCall) -> dict[str, Any]:
    params = call.params
    limit, page = params.integer("limit", LIMIT, 1, MOST), params.integer("page", 0, 0, MAX_PAGE)
    webhook, answer = params.integer("webhook_id", 0, 0, MAX_ID), params.text("answer", "")
    rows, total = received_calls.all_of(call.ctx, webhook, answer, limit, page)
    results = [{"webhook_id": each.pop("listener_id"), **each} for each in rows]
    return {"results": results, "count": len(results), "total": total, "page": page, "limit": limit}


@endpoint(
    "GET",
    "webhooks/deliveries/{id}",
    "One delivery: request, response and the steps of the automation. Secrets are hidden. For administrators.",
    "read",
    response=WHOLE,
)
def show_delivery(call: EndpointCall) -> dict[str, Any]:
    return received_calls.one(call.ctx, call.id)


@endpoint(
    "POST",
    "webhooks/deliveries/{id}/replay",
    "Replay a delivery with the automation that is bound now; returns the new delivery. For administrators.",
    "write",
    response=WHOLE,
)
def replay_delivery(call: EndpointCall) -> dict[str, Any]:
    return received_calls.one(call.ctx, replay(call.ctx, call.id))


@endpoint(
    "POST",
    "webhooks/{id}/rotate",
    "Replace the URL of a webhook; the previous one keeps working for a while. For administrators.",
    "write",
    Parameter(
        "overlap_seconds",
        "integer",
        f"Seconds for which the previous URL works, 0 to {MAX_OVERLAP_SECONDS}; {DEFAULT_OVERLAP_SECONDS} when absent.",
    ),
    response=shapes.keys(id=shapes.ID, guid=shapes.TEXT, url=shapes.TEXT, old_until=shapes.TIME),
)
def rotate(call: EndpointCall) -> dict[str, Any]:
    seconds = call.params.integer("overlap_seconds", DEFAULT_OVERLAP_SECONDS, 0, MAX_OVERLAP_SECONDS)
    return webhook_tokens.rotate(call.ctx, call.id, seconds)
