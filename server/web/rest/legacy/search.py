"""Searches of one type by separate endpoints: q, parallel lists of criteria, order, pages, counts."""

from typing import Any

from server.errors import BadQuery
from server.records import criteria as conditions
from server.records import records
from server.records.criteria import Criteria, Criterion
from server.web.endpoint_call import EndpointCall
from server.web.openapi import shapes
from server.web.rest.legacy.families import FAMILIES, Family
from server.web.rest.legacy.single import twinned
from server.web.rest.records import EXPAND, search_request
from server.web.routes import Parameter, endpoint

ASKED = (
    Parameter("q", "string", "A search: <filter>:<value> terms and bare words."),
    Parameter("limit", "integer", "Results on a page, 1 to 500; 10 when absent."),
    Parameter("page", "integer", "The page, counted from 1."),
    Parameter("sortBy", "string", "The sort key: the name of a filter or a field."),
    Parameter("sortAsc", "boolean", "0 sorts in descending order."),
    Parameter("subtotals[]", "string", "Names to count the matches by."),
    Parameter("show_results", "boolean", "0 omits the results."),
    EXPAND,
    Parameter("show_meta", "boolean", "1 adds labels and types of the keys, as results_meta."),
)
SEARCH = (
    *ASKED,
    Parameter("criteria[]", "string", "Names of filters or fields to compare."),
    Parameter("oper[]", "string", f"Their operators, in the same order: {', '.join(conditions.OPERATORS)}."),
    Parameter("value[]", "mixed", "Their values, in the same order."),
)
LISTED = {"count": shapes.COUNT, "limit": shapes.COUNT, "page": shapes.COUNT, "total": shapes.COUNT}
COUNTED = {
    "subtotals": shapes.map_of(shapes.list_of(shapes.component("Subtotal"))),
    "results_meta": shapes.keys(labels=shapes.OBJECT, types=shapes.OBJECT),
}


def page(family: Family) -> shapes.Schema:
    """Returns the schema of results(). Without `show_results` it has only the requested counts."""
    return shapes.keys({"results": shapes.list_of(family.shape), **LISTED, **COUNTED})


def results(call: EndpointCall, family: Family, sent: Criteria) -> dict[str, Any]:
    """Returns one page of results in the format of these endpoints."""
    page = conditions.search(call.ctx, family.uri, search_request(call), sent)
    if family.twins and "results" in page:
        page["results"] = [twinned(family, each) for each in page["results"]]
    if call.params.flag("show_meta", False):
        page["results_meta"] = records.meta(call.ctx, family.uri)
    return page


def sent_criteria(call: EndpointCall, family: Family) -> Criteria:
    """Returns criteria[], oper[], value[], sortBy and sortAsc, with the additions of the family."""
    params = call.params
    names, operators = params.text_list("criteria"), params.text_list("oper")
    values = params.tree.get("value", [])
    values = values if isinstance(values, list) else [values]
    if max(len(operators), len(values)) > len(names):
        raise BadQuery("criteria: each oper and value stands in the place of a name", field="criteria")
    listed = [
        Criterion(
            name,
            operators[place] if place < len(operators) else "=",
            values[place] if place < len(values) and values[place] is not None else "",
        )
        for place, name in enumerate(names)
    ]
    return Criteria(listed, params.text("sortBy", ""), params.flag("sortAsc", True), family.only, family.order)


def _search(family: Family) -> None:
    @endpoint(
        "POST",
        f"{family.path}/search",
        f"Search records of the type {family.name}.",
        "read",
        *SEARCH,
        response=page(family),
    )
    @family.named
    def search(call: EndpointCall) -> dict[str, Any]:
        return results(call, family, sent_criteria(call, family))


def _list(family: Family) -> None:
    @endpoint(
        "GET", f"{family.path}/list", f"List records of the type {family.name}.", "read", *ASKED, response=page(family)
    )
    @family.named
    def listed(call: EndpointCall) -> dict[str, Any]:
        sent = Criteria((), call.params.text("sortBy", ""), call.params.flag("sortAsc", True))
        return results(call, family, sent)


for each in FAMILIES:
    if "search" in each.operations:
        _search(each)
    if "list" in each.operations:
        _list(each)
