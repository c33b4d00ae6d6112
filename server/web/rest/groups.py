"""Changes of groups and of their members."""

from typing import Any

from server.people import groups
from server.web.endpoint_call import EndpointCall
from server.web.openapi import shapes
from server.web.rest.legacy.families import FAMILIES
from server.web.rest.legacy.single import META, fields_of, is_small, shape, update_record
from server.web.rest.records import EXPAND
from server.web.routes import Parameter, endpoint

[GROUPS] = [each for each in FAMILIES if each.uri == "group"]
ROSTERS = 'A JSON object: {"groups": {"<group id>": {"workers": {"<worker id>": "manager, member or remove"}}}}.'


@endpoint(
    "PUT",
    "groups/members",
    "Change the rosters of several groups in one transaction.",
    "small write",
    Parameter("json", "json", ROSTERS, required=True),
    response=shapes.NOTHING,
)
def change_members(call: EndpointCall) -> dict[str, Any]:
    groups.change_members(call.ctx, call.params.json("json", required=True))
    return {}


@endpoint(
    "PUT",
    "groups/{id}",
    "Change a group; with json, also rosters, as in groups/members.",
    "small write",
    Parameter("json", "json", ROSTERS),
    fields_of(GROUPS),
    EXPAND,
    META,
    size="file",
    is_small=is_small,
    response=shapes.any_of(shape(GROUPS), shapes.NOTHING),
)
def update_group(call: EndpointCall) -> dict[str, Any]:
    """Clients send rosters to both addresses, whichever group the path names."""
    if "json" in call.params:
        return change_members(call)
    return update_record(call, GROUPS)
