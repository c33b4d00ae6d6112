"""Endpoints of the records API. Source: Endpoints, Records."""

from typing import Any

from server.desk import records
from server.errors import Invalid
from server.web import envelope
from server.web.call import Answer, EndpointCall
from server.web.openapi import shapes
from server.web.routes import Parameter, endpoint

EXPAND = Parameter("expand", "string", "Keys to open, with commas between, such as custom_,owner_,watchers.")
FIELDS = Parameter("fields[]", "map", "One fields[<name>] for each field.", required=True)
META = Parameter("show_meta", "boolean", "1 adds labels and types of the keys under _meta.")
SEARCH = (
    Parameter("q", "string", "A search: <filter>:<value> terms, bare words, sort:, limit:, page:."),
    Parameter("query", "string", "The same, for who knows it by this name; q wins."),
    Parameter("limit", "integer", "Results on a page, 1 to 500; 10 when absent."),
    Parameter("page", "integer", "The page, counted from 1."),
    EXPAND,
    Parameter("subtotals[]", "string", "Names to count the matches by; may be repeated."),
    Parameter("show_results", "boolean", "0 leaves the results out; the total stays."),
    META,
)
MAX_SUBTOTALS = 20
# Without `show_results` there are the total and the counts that were asked for.
PAGE = shapes.keys({
    "results": shapes.list_of(shapes.RECORD), "count": shapes.COUNT, "limit": shapes.COUNT, "page": shapes.COUNT,
    "total": shapes.COUNT, "subtotals": shapes.map_of(shapes.list_of(shapes.component("Subtotal"))),
    "notes": shapes.list_of(shapes.TEXT),
})  # fmt: skip
CREATED = shapes.Success(shapes.RECORD, headers={"Location": "The path of the new record."})
# Hashed, decoded, rendered or checked before the write, on a thread.
SLOW_FIELDS = frozenset((
    "password", "content", "script", "policy_kata", "automations_kata", "automation_kata", "toolbar_kata", "scopes",
))  # fmt: skip


def is_small(call: EndpointCall) -> bool:
    """Whether nothing that was sent costs time before the write."""
    fields = call.params.tree.get("fields")
    return not isinstance(fields, dict) or SLOW_FIELDS.isdisjoint(fields)


@endpoint("GET", "records/{uri}/{id}", "One record.", "read", EXPAND, META, answer=shapes.RECORD, operation="retrieve")
def retrieve(call: EndpointCall) -> dict[str, Any]:
    found = records.retrieve(call.ctx, call.uri, call.id, call.params.text("expand", ""))
    return with_meta(call, call.uri, found)


@endpoint(
    "POST",
    "records/{uri}/create",
    "Create a record.",
    "small write",
    FIELDS,
    EXPAND,
    META,
    size="file",
    is_small=is_small,
    answer=CREATED,
    operation="create",
)
def create(call: EndpointCall) -> Answer:
    found = records.create(call.ctx, call.uri, sent_fields(call), call.params.text("expand", ""))
    return Answer(with_meta(call, call.uri, found), headers={"Location": location(call, found)})


@endpoint(
    "PUT",
    "records/{uri}/{id}",
    "Change a record.",
    "small write",
    FIELDS,
    EXPAND,
    META,
    size="file",
    is_small=is_small,
    answer=shapes.RECORD,
    operation="update",
)
def update(call: EndpointCall) -> dict[str, Any]:
    # Programs send a record back with the envelope that it came in.
    fields = {name: value for name, value in sent_fields(call).items() if name not in envelope.KEYS}
    records.require_fields(call.ctx, call.uri, call.id, fields, "fields is required: send fields[<name>]=<value>")
    found = records.update(call.ctx, call.uri, call.id, fields, call.params.text("expand", ""))
    return with_meta(call, call.uri, found)


@endpoint(
    "PATCH", "records/{uri}/upsert", "Change the one record that a query finds, or create it.", "small write",
    Parameter("query", "string", "A search that finds no record or one.", required=True),
    Parameter("q", "string", "Accepted in place of query."), FIELDS, EXPAND, META,
    size="file", is_small=is_small, answer=shapes.RECORD, operation="create",
)  # fmt: skip
def upsert(call: EndpointCall) -> dict[str, Any]:
    query, fields = call.params.text("query", "") or call.params.text("q", ""), sent_fields(call)
    found = records.upsert(call.ctx, call.uri, query, fields, call.params.text("expand", ""))
    return with_meta(call, call.uri, found)


@endpoint(
    "DELETE", "records/{uri}/{id}", "Delete a record.", "small write",
    Parameter("confirm", "boolean", "1: delete an address although other records use it, as the 409 lists them."),
    answer=shapes.NOTHING, operation="delete",
)  # fmt: skip
def delete(call: EndpointCall) -> dict[str, Any]:
    records.delete(call.ctx, call.uri, call.id, is_confirmed=call.params.flag("confirm"))
    return {}


@endpoint("GET", "records/{uri}/search", "Search records.", "read", *SEARCH, answer=PAGE, operation="search")
def search(call: EndpointCall) -> dict[str, Any]:
    request = search_request(call, call.params.text("query", ""))
    return with_meta(call, call.uri, records.search(call.ctx, call.uri, request))


@endpoint(
    "POST",
    "records/{uri}/search",
    "Search records, for long queries.",
    "read",
    *SEARCH,
    answer=PAGE,
    operation="search",
)
def search_by_post(call: EndpointCall) -> dict[str, Any]:
    return search(call)


def search_request(call: EndpointCall, query: str = "") -> records.SearchRequest:
    """The search that the parameters describe. query: used without `q`. Raises Invalid."""
    params, settings = call.params, call.ctx.service.settings
    names = tuple(params.text_list("subtotals"))
    if len(names) > MAX_SUBTOTALS:
        raise Invalid(f"subtotals: at most {MAX_SUBTOTALS} names", field="subtotals")
    return records.SearchRequest(
        q=params.text("q", "") or query,
        limit=params.integer("limit", settings.search_limit_default, 1, settings.search_limit_max),
        page=params.integer("page", 1, 1, records.MAX_PAGE),
        expand=params.text("expand", ""),
        subtotals=names,
        show_results=params.flag("show_results", True),
    )


def sent_fields(call: EndpointCall) -> dict[str, Any]:
    """The map `fields`, {} when absent. Raises Invalid when it is something else."""
    return dict(call.params.map("fields"))


def location(call: EndpointCall, record: dict[str, Any]) -> str:
    """The API path of a record."""
    return f"/rest/records/{record['_type']}/{record['id']}.json"


def with_meta(call: EndpointCall, uri: str, payload: dict[str, Any]) -> dict[str, Any]:
    """The payload with `_meta` when show_meta=1: labels and type codes of the keys, two levels of links."""
    if not call.params.flag("show_meta", False):
        return payload
    return payload | {"_meta": records.meta(call.ctx, uri)}
