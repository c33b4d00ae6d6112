"""Endpoints of the records API."""

import dataclasses
from typing import Any
from urllib.parse import urlencode

from server.errors import Invalid, nearest
from server.records import records
from server.store.transaction import Transaction
from server.web import entity_tags, envelope
from server.web.endpoint_call import EndpointCall, Response
from server.web.form_data import encoded
from server.web.openapi import shapes
from server.web.routes import Parameter, endpoint

EXPAND = Parameter("expand", "string", "Keys to expand, separated by commas, such as custom_,owner_,watchers.")
FIELDS = Parameter("fields[]", "map", "One fields[<name>] for each field.", required=True)
KEYS = Parameter(
    "fields",
    "string",
    "Keys of records to return, separated by commas, such as id,subject. All others are omitted, "
    "even those that the schema requires.",
)
META = Parameter("show_meta", "boolean", "1 adds labels and types of the keys under _meta.")
SEARCH = (
    Parameter("q", "string", "A search: <filter>:<value> terms, bare words, sort:, limit:, page:."),
    Parameter("query", "string", "An alternative name for q; q takes precedence."),
    Parameter("limit", "integer", "Results on a page, 1 to 500; 10 when absent."),
    Parameter("page", "integer", "The page, counted from 1."),
    Parameter(
        "cursor", "string", "From the Link header of an earlier page: the results after it, instead of a page number."
    ),
    EXPAND,
    Parameter("subtotals[]", "string", "Names to count the matches by; may be repeated."),
    Parameter("show_results", "boolean", "0 omits the results; the total is still returned."),
    KEYS,
    META,
)
MAX_SUBTOTALS = 20
# Without `show_results` there are the total and the counts that were asked for.
PAGE = shapes.keys(
    {
        "results": shapes.list_of(shapes.RECORD),
        "count": shapes.COUNT,
        "limit": shapes.COUNT,
        "page": shapes.COUNT,
        "total": shapes.COUNT,
        "subtotals": shapes.map_of(shapes.list_of(shapes.component("Subtotal"))),
        "notes": shapes.list_of(shapes.TEXT),
    }
)
FOUND = shapes.Success(PAGE, may_have={"Link": "The next page, as rel=next; the last one has none."})
IF_MATCH = Parameter(
    "If-Match",
    "string",
    "The ETag of the record as it was read: 412 with the current record if it has changed.",
    place="header",
)
IF_NONE_MATCH = Parameter(
    "If-None-Match",
    "string",
    "The ETag of the record that the client has: 304 if it is still the same.",
    place="header",
)
IF_NEW = Parameter("If-None-Match", "string", "*: create the record, or 412 if the query finds one.", place="header")
ETAG = {"ETag": "The ETag of the record in this response."}
SHOWN = shapes.Success(shapes.RECORD, headers=ETAG)
CREATED = shapes.Success(shapes.RECORD, headers={"Location": "The path of the new record.", **ETAG})
UNCHANGED = shapes.Success(status=304, headers=ETAG, note="The client already has it.")
# Hashed, decoded, rendered or checked before the write, on a thread.
SLOW_FIELDS = frozenset((
    "password", "content", "script", "policy_kata", "automations_kata", "automation_kata", "toolbar_kata", "scopes",
))  # fmt: skip


def is_small(call: EndpointCall) -> bool:
    """Whether the request needs no slow work before the write."""
    fields = call.params.tree.get("fields")
    return not isinstance(fields, dict) or SLOW_FIELDS.isdisjoint(fields)


@endpoint(
    "GET",
    "records/{uri}/{id}",
    "Retrieve a record.",
    "read",
    EXPAND,
    KEYS,
    META,
    IF_NONE_MATCH,
    response=(SHOWN, UNCHANGED),
    operation="retrieve",
)
def retrieve(call: EndpointCall) -> Response:
    record = records.retrieve(call.ctx, call.uri, call.id, expand_of(call, call.uri))
    return _tagged(call, _sparse(call, [record])[0])


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
    response=CREATED,
    operation="create",
)
def create(call: EndpointCall) -> Response:
    record = records.create(call.ctx, call.uri, sent_fields(call), expand_of(call, call.uri))
    return _tagged(call, record, {"Location": location(call, record)})


@endpoint(
    "PUT",
    "records/{uri}/{id}",
    "Change a record.",
    "small write",
    FIELDS,
    EXPAND,
    META,
    IF_MATCH,
    size="file",
    is_small=is_small,
    response=SHOWN,
    operation="update",
    may_fail=(412,),
)
def update(call: EndpointCall) -> Response:
    # Programs send a record back with the envelope that it came in.
    fields = {name: value for name, value in sent_fields(call).items() if name not in envelope.KEYS}
    records.require_fields(call.ctx, call.uri, call.id, fields, "fields is required: send fields[<name>]=<value>")
    record = records.update(call.ctx, call.uri, call.id, fields, expand_of(call, call.uri), _condition(call))
    return _tagged(call, record)


@endpoint(
    "PATCH", "records/{uri}/upsert", "Change the one record that a query finds, or create it.", "small write",
    Parameter("query", "string", "A search that matches at most one record.", required=True),
    Parameter("q", "string", "An alternative name for query."), FIELDS, EXPAND, META, IF_MATCH, IF_NEW,
    size="file", is_small=is_small, response=SHOWN, operation="create", may_fail=(412,),
)  # fmt: skip
def upsert(call: EndpointCall) -> Response:
    query, fields = call.params.text("query", "") or call.params.text("q", ""), sent_fields(call)
    record = records.upsert(call.ctx, call.uri, query, fields, expand_of(call, call.uri), _condition(call))
    return _tagged(call, record)


@endpoint(
    "DELETE",
    "records/{uri}/{id}",
    "Delete a record.",
    "small write",
    Parameter("confirm", "boolean", "1: delete an address even if other records use it, as listed in the 409."),
    IF_MATCH,
    response=shapes.NOTHING,
    operation="delete",
    may_fail=(412,),
)
def delete(call: EndpointCall) -> dict[str, Any]:
    is_confirmed = call.params.flag("confirm")
    records.delete(call.ctx, call.uri, call.id, is_confirmed=is_confirmed, condition=_condition(call))
    return {}


@endpoint("GET", "records/{uri}/search", "Search records.", "read", *SEARCH, response=FOUND, operation="search")
def search(call: EndpointCall) -> Response:
    request = search_request(call, call.params.text("query", ""))
    expand_of(call, call.uri)
    page = records.search(
        call.ctx, call.uri, dataclasses.replace(request, cursor=call.params.text("cursor", ""), has_next_cursor=True)
    )
    cursor = page.pop("next", "")
    if "results" in page:
        page["results"] = _sparse(call, page["results"])
    headers = {"Link": f'<{_next_page(call, cursor)}>; rel="next"'} if cursor else {}
    return Response(with_meta(call, call.uri, page), headers=headers)


def _next_page(call: EndpointCall, cursor: str) -> str:
    """Returns the path of the next page. For a POST, the body must be sent again."""
    parameters = {name: value for name, value in call.params.tree.items() if name not in ("page", "cursor")}
    return f"{call.path}?{urlencode([*(encoded(parameters) if call.method == 'GET' else []), ('cursor', cursor)])}"


@endpoint(
    "POST",
    "records/{uri}/search",
    "Search records, with a long query.",
    "read",
    *SEARCH,
    response=FOUND,
    operation="search",
)
def search_by_post(call: EndpointCall) -> Response:
    return search(call)


def expand_of(call: EndpointCall, uri: str) -> str:
    """Returns the parameter `expand`, with a note for each key that records of this type do not have."""
    expand = call.params.text("expand", "")
    for key in records.opens_nothing(call.ctx, uri, expand) if expand else ():
        call.params.note("expand", f"expand: {key}")
    return expand


def search_request(call: EndpointCall, query: str = "") -> records.SearchRequest:
    """Returns the search that the parameters describe. query: used without `q`. Raises Invalid."""
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
    """Returns the map `fields`, {} when absent. Raises Invalid unless it is a map."""
    return dict(call.params.map("fields"))


def location(call: EndpointCall, record: dict[str, Any]) -> str:
    """Returns the API path of a record."""
    return f"/rest/records/{record['_type']}/{record['id']}.json"


def _sparse(call: EndpointCall, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the records with the requested keys only. Adds a note for a key that none of them has."""
    if isinstance(call.params.tree.get("fields"), dict):
        call.params.note("fields", "fields: a search takes keys separated by commas, such as fields=id,subject")
        return found
    keys = [each.strip() for each in call.params.text("fields", "").split(",") if each.strip()]
    if not keys or not found:
        return found
    there = {name for each in found for name in each}
    for name in keys:
        if name not in there:
            call.params.note("fields", f"fields: '{name[:80]}' is not a key of these records{nearest(name, there)}")
    return [{name: each[name] for name in keys if name in each} for each in found]


def _tagged(call: EndpointCall, record: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
    """Returns the response with a record and its entity tag."""
    return Response(with_meta(call, call.uri, record), headers=headers or {}, view=entity_tags.view_of(call.params))


def _condition(call: EndpointCall) -> records.Condition | None:
    """Returns the conditions that the headers set for the record to change."""
    conditions = entity_tags.conditions(call.headers)
    if conditions is None:
        return None
    record_type = call.ctx.service.registry.type(call.uri)

    def require(tx: Transaction, id: int) -> None:
        def show(expand: str, has_meta: bool) -> dict[str, Any]:
            record = records.shown(call.ctx, tx, record_type, id, expand)
            return record | {"_meta": records.meta(call.ctx, call.uri)} if has_meta else record

        conditions.require(show if id else None)

    return require


def with_meta(call: EndpointCall, uri: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Returns the payload with `_meta` when show_meta=1: labels and type codes of the keys, two levels of links."""
    if not call.params.flag("show_meta", False):
        return payload
    return payload | {"_meta": records.meta(call.ctx, uri)}
