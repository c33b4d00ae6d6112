"""Record types, activity events and entries, links."""

from typing import Any

from server.record_types.shared.points import POINTS
from server.records import activity_entries, relations, type_descriptions
from server.web.endpoint_call import EndpointCall
from server.web.openapi import shapes
from server.web.routes import Parameter, endpoint

ON = Parameter("on", "string", "The record, as <type>:<id>.", required=True)
TARGETS = Parameter("targets", "json", 'A JSON list of records, such as ["org:5","worker:2"].', required=True)

TEXTS = shapes.map_of(shapes.TEXT)
DESCRIBED = shapes.keys(
    context=shapes.TEXT,
    context_id=shapes.ID,
    meta=shapes.keys(
        {"owner_id": shapes.ID}, id=shapes.ID, name=shapes.TEXT, permalink=shapes.TEXT, updated=shapes.TIME
    ),
)
LINKED = shapes.keys(on=DESCRIBED, targets=shapes.list_of(DESCRIBED))
CONTEXT = shapes.keys(
    {"custom_fields": shapes.list_of(shapes.record("custom_field"))},
    id=shapes.TEXT,
    name=shapes.TEXT,
    plugin_id=shapes.TEXT,
    alias=shapes.TEXT,
    params=shapes.keys(names=TEXTS, acl=shapes.list_of(shapes.TEXT), options=shapes.list_of(shapes.TEXT)),
    custom_fieldsets=shapes.list_of(shapes.record("custom_fieldset")),
)
EVENT = shapes.keys(
    id=shapes.TEXT,
    name=shapes.TEXT,
    options=shapes.list_of(shapes.TEXT),
    text=shapes.keys(key=shapes.TEXT, value=shapes.TEXT),
)
ENTRY = shapes.keys(
    id=shapes.ID,
    activity_point=shapes.TEXT,
    variables=TEXTS,
    urls=TEXTS,
    message=shapes.keys(plaintext=shapes.TEXT, html=shapes.TEXT),
)


@endpoint(
    "GET",
    "contexts/list",
    "Every record type, with its custom fields and fieldsets.",
    "read",
    response=shapes.keys(results=shapes.list_of(CONTEXT)),
)
def list_contexts(call: EndpointCall) -> dict[str, Any]:
    return {"results": type_descriptions.list_contexts(call.ctx)}


@endpoint(
    "GET",
    "contexts/activity/events",
    "Every activity event, with the sentence of its entries.",
    "read",
    response=shapes.keys(results=shapes.list_of(EVENT)),
)
def list_events(call: EndpointCall) -> dict[str, Any]:
    return {"results": [each.describe() for each in POINTS.values()]}


@endpoint(
    "POST",
    "contexts/activity/create",
    "Add an entry to the activity log of a record.",
    "small write",
    ON,
    Parameter("activity_point", "string", "The id of an activity event.", required=True),
    Parameter(
        "variables", "json", "A JSON object: a text for each placeholder of the event, except actor.", required=True
    ),
    Parameter("urls", "json", "A JSON object: links of the placeholders: http, https, or ctx://<type>:<id>."),
    response=shapes.keys(entry=ENTRY),
)
def create_entry(call: EndpointCall) -> dict[str, Any]:
    params = call.params
    entry = activity_entries.create(
        call.ctx,
        params.text("on", ""),
        params.text("activity_point", ""),
        lambda: call.params.json("variables", {}),
        lambda: call.params.json("urls", {}),
    )
    return {"entry": entry}


@endpoint("POST", "contexts/link", "Link a record with others.", "small write", ON, TARGETS, response=LINKED)
def link(call: EndpointCall) -> dict[str, Any]:
    return _change(call, adds=True)


@endpoint("POST", "contexts/unlink", "Remove links of a record.", "small write", ON, TARGETS, response=LINKED)
def unlink(call: EndpointCall) -> dict[str, Any]:
    return _change(call, adds=False)


def _change(call: EndpointCall, *, adds: bool) -> dict[str, Any]:
    on = call.params.text("on", required=True)
    return relations.change(call.ctx, on, call.params.json("targets", required=True), adds=adds)
