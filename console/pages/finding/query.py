"""Requests that scripts send while somebody types into the search of a list."""

from console.http.page_response import PageResponse, json_response
from console.http.routes import page
from console.http.visit import Visit
from server.errors import NotOffered
from server.records.search_help.query_help import QueryHelp
from server.search.query_parser import MAX_QUERY_CHARS
from server.translation import _

BASE = "/-/query"


@page("GET", f"{BASE}/{{type}}")
def help_while_typing(visit: Visit) -> PageResponse:
    """Returns what QueryHelp.while_typing returns for the text `q` and the caret after `at` characters. Raises
    NotFound, NotOffered."""
    record_type = visit.service.registry.type(visit.arguments["type"])
    if not record_type.operations["search"]:
        raise NotOffered(_("{type} cannot be searched.", type=record_type.label_names[1]))
    q = visit.query.text("q", "")
    at = visit.query.integer("at", min(len(q), MAX_QUERY_CHARS), 0, MAX_QUERY_CHARS)
    return json_response(QueryHelp(visit.ctx, record_type).while_typing(q, at))
