"""Merging contacts, organizations and tags."""

from typing import Any

from server.people import merging
from server.records import records
from server.tickets import tag_merge
from server.web.endpoint_call import EndpointCall
from server.web.openapi import shapes
from server.web.rest.records import EXPAND, META, expand_of, sent_fields, with_meta
from server.web.routes import Parameter, endpoint

PARAMETERS = (
    Parameter("target_id", "integer", "The target: the record that remains.", required=True),
    Parameter("source_ids[]", "array", "Up to 20 records to merge into the target; they are deleted.", required=True),
    Parameter("fields[]", "map", "Values to set: one fields[<name>] for each field."),
    EXPAND,
    META,
)


@endpoint(
    "POST",
    "contacts/merge",
    "Merge contacts. Addresses, comments, files and links move to the target.",
    "write",
    *PARAMETERS,
    response=shapes.record("contact"),
)
def merge_contacts(call: EndpointCall) -> dict[str, Any]:
    return _merge(call, "contact")


@endpoint(
    "POST",
    "orgs/merge",
    "Merge organizations. Tickets, contacts, addresses and all other references move to the target.",
    "write",
    *PARAMETERS,
    response=shapes.record("org"),
)
def merge_organizations(call: EndpointCall) -> dict[str, Any]:
    return _merge(call, "org")


@endpoint(
    "POST",
    "tags/merge",
    "Merge a tag into another one, which its tickets get. The name of the merged tag then finds the other one.",
    "write",
    Parameter("target_id", "integer", "The tag that remains.", required=True),
    Parameter("source_id", "integer", "The tag to merge into it; it is deleted.", required=True),
    EXPAND,
    META,
    response=shapes.record("tag"),
)
def merge_tags(call: EndpointCall) -> dict[str, Any]:
    target = call.params.id("target_id", required=True)
    tag_merge.merge(call.ctx, call.params.id("source_id", required=True), target)
    return with_meta(call, "tag", records.retrieve(call.ctx, "tag", target, expand_of(call, "tag")))


@endpoint(
    "POST",
    "tags/{id}/unmerge",
    "Undo the newest merge into a tag, within a day. The merged tag is created again, and its tickets get it back.",
    "write",
    response=shapes.keys(tag_id=shapes.ID, name=shapes.TEXT),
)
def unmerge_tags(call: EndpointCall) -> dict[str, Any]:
    id, name = tag_merge.undo(call.ctx, call.id)
    return {"tag_id": id, "name": name}


def _merge(call: EndpointCall, uri: str) -> dict[str, Any]:
    target = call.params.id("target_id", required=True)
    merging.merge(call.ctx, uri, target, call.params.id_list("source_ids", required=True), sent_fields(call))
    return with_meta(call, uri, records.retrieve(call.ctx, uri, target, expand_of(call, uri)))
