"""Endpoints for one record of a type: read, create, change, delete. Fields are at the top level."""

from typing import Any

from server.errors import Required
from server.records import records
from server.web.endpoint_call import EndpointCall, Response
from server.web.openapi import shapes
from server.web.params import Upload
from server.web.rest.legacy.families import FAMILIES, Family
from server.web.rest.records import EXPAND, SLOW_FIELDS, expand_of, location
from server.web.routes import Parameter, endpoint

META = Parameter("show_meta", "boolean", "1 adds labels and types of the keys, as _labels and _types.")
NOT_FIELDS = frozenset((EXPAND.name, META.name))
DELETED = shapes.keys(id=shapes.ID)
NAMES: shapes.Schema = {"properties": {"_labels": shapes.OBJECT, "_types": shapes.OBJECT}}


def is_small(call: EndpointCall) -> bool:
    """Whether the request needs no slow work before the write."""
    return SLOW_FIELDS.isdisjoint(call.params.names())


def sent_fields(call: EndpointCall, also: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Returns all parameters as fields, except those of the endpoint and `also`."""
    params = call.params
    names = [name for name in params.names() if name in params and name not in NOT_FIELDS | also]
    return {
        name: params.text(name) if isinstance(params.tree[name], bytes | Upload) else params.tree[name]
        for name in names
    }


def legacy_dictionary(call: EndpointCall, family: Family, found: dict[str, Any]) -> dict[str, Any]:
    """Returns a record in the format of these endpoints: with second names and, for show_meta=1, _labels and _types."""
    return with_names(call, family.uri, twinned(family, found))


def with_names(call: EndpointCall, uri: str, found: dict[str, Any]) -> dict[str, Any]:
    """Returns a record, for show_meta=1 with _labels and _types."""
    if not call.params.flag("show_meta", False):
        return found
    meta = records.meta(call.ctx, uri)
    return found | {"_labels": meta["labels"], "_types": meta["types"]}


def named_shape(shape: shapes.Schema) -> shapes.Schema:
    """Returns the schema of with_names()."""
    return {"allOf": [shape], **NAMES}


def twinned(family: Family, found: dict[str, Any]) -> dict[str, Any]:
    """Returns a record with its second names."""
    return found | {twin: found[key] for twin, key in family.twins}


def update_record(call: EndpointCall, family: Family) -> dict[str, Any]:
    """Changes the record of the path."""
    fields = sent_fields(call)
    records.require_fields(call.ctx, family.uri, call.id, fields, _lacks_fields(family))
    record = records.update(call.ctx, family.uri, call.id, fields, expand_of(call, family.uri))
    return legacy_dictionary(call, family, record)


def shape(family: Family) -> shapes.Schema:
    """Returns the schema of one record in the response."""
    return named_shape(family.shape)


def fields_of(family: Family) -> Parameter:
    """Returns the fields of a type as a parameter of its endpoints."""
    return Parameter("*", "mixed", f"The fields of the {family.name}, each by its name, and custom_<id>.")


def _lacks_fields(family: Family) -> str:
    return f"send the fields of the {family.name}, each by its name"


def _one(name: str) -> str:
    """Returns a name with its article."""
    return f"{'an' if name[0] in 'aeio' else 'a'} {name}"


def _retrieve(family: Family) -> None:
    @endpoint(
        "GET", f"{family.path}/{{id}}", f"Retrieve {_one(family.name)}.", "read", EXPAND, META, response=shape(family)
    )
    @family.named
    def retrieve(call: EndpointCall) -> dict[str, Any]:
        record = records.retrieve(call.ctx, family.uri, call.id, expand_of(call, family.uri))
        return legacy_dictionary(call, family, record)


def _create(family: Family) -> None:
    @endpoint(
        "POST",
        f"{family.path}/create",
        f"Create {_one(family.name)}.",
        "small write",
        fields_of(family),
        EXPAND,
        META,
        size="file",
        is_small=is_small,
        response=shapes.Success(shape(family), headers={"Location": "The path of the new record."}),
    )
    @family.named
    def create(call: EndpointCall) -> Response:
        fields = sent_fields(call)
        if not fields:
            raise Required(_lacks_fields(family))
        record = records.create(call.ctx, family.uri, fields, expand_of(call, family.uri))
        return Response(legacy_dictionary(call, family, record), headers={"Location": location(call, record)})


def _update(family: Family) -> None:
    @endpoint(
        "PUT",
        f"{family.path}/{{id}}",
        f"Change {_one(family.name)}.",
        "small write",
        fields_of(family),
        EXPAND,
        META,
        size="file",
        is_small=is_small,
        response=shape(family),
    )
    @family.named
    def update(call: EndpointCall) -> dict[str, Any]:
        return update_record(call, family)


def _delete(family: Family) -> None:
    @endpoint("DELETE", f"{family.path}/{{id}}", f"Delete {_one(family.name)}.", "small write", response=DELETED)
    @family.named
    def delete(call: EndpointCall) -> dict[str, Any]:
        records.delete(call.ctx, family.uri, call.id)
        return {"id": call.id}


DECLARE = {"retrieve": _retrieve, "create": _create, "update": _update, "delete": _delete}

for each in FAMILIES:
    for operation in each.operations:
        if operation in DECLARE:
            DECLARE[operation](each)
