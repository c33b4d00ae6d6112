"""Runs behaviors of bots. The bots themselves are read like other records: legacy/families.py."""

from server.automation.behaviors import behavior_service
from server.web import envelope
from server.web.endpoint_call import EndpointCall, Response
from server.web.openapi import shapes
from server.web.openapi.shapes import JSON
from server.web.rest.records import EXPAND
from server.web.routes import Parameter, endpoint

DICTIONARY = shapes.map_of(shapes.ANY) | {
    "description": "The dictionary at the end: behavior_*, va_*, var_*, _response, and what the behavior set.",
}


@endpoint(
    "POST",
    "bots/behavior/{behavior}/run",
    "Run a behavior with a custom API request, and return its final dictionary.",
    "write",
    Parameter("behavior", "string", "The id of the behavior, or its uri."),
    Parameter("var_*", "mixed", "Its public variables, all of them: texts, numbers, dates, 0 or 1, ids, JSON lists."),
    EXPAND,
    Parameter("show_meta", "boolean", "1 shows keys that end in _labels, _types and _loaded too."),
    response=DICTIONARY,
)
def run_behavior(call: EndpointCall) -> Response:
    params = call.params
    found = behavior_service.run_request(
        call.ctx, call.arguments["behavior"], params, params.text("expand", ""), shows_meta=params.flag("show_meta")
    )
    # The order of records in a map is that in which they were found.
    return Response(body=envelope.success_in_order(found), content_type=f"{JSON}; charset=utf-8")
