"""The list that a ticket was opened from: the previous and the next ticket, and on a wide screen the list next to the
ticket."""

from typing import Any
from urllib.parse import parse_qsl, urlencode

from console.html import ui
from console.html.templates import fragment
from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit, own_path
from console.tickets import inbox, list_place
from server.errors import BadQuery
from server.records import records
from server.records.records import SearchRequest
from server.tickets import list_neighbours
from server.tickets.list_neighbours import ListedTicket

TICKET = "ticket"
PATH = "/-/beside"
ROWS = 50  # rows of the list next to a ticket
LAST_PLACE = 10**6
LIST = ("in", "at", "from", "before", "after")  # parameters that describe the list


def neighbours(visit: Visit, mask: str) -> dict[str, Any] | None:
    """Returns the neighbours of the ticket in the list in the address, None without a list. at, total: its position,
    from 1, and the length of the list. before, after: the paths of its neighbours, "" for none. back: the path of the
    list. rows: the path of the list for a wide screen."""
    q, at = visit.query.text("in", ""), visit.query.integer("at", 0, 0, LAST_PLACE)
    if not at:
        return None
    try:
        seen = visit.query.text("before", ""), visit.query.text("after", "")
        found = list_neighbours.find_place(visit.ctx, q, at, mask, seen)
    except BadQuery:
        return None
    return {
        "at": found.place,
        "total": found.total,
        "before": _path(visit, q, found.before) if found.before else "",
        "after": _path(visit, q, found.after) if found.after else "",
        "back": _back(visit, q),
        "rows": ui.address(PATH, **{"in": q, "at": at, "from": visit.query.text("from", "")}),
    }


@page("GET", PATH)
def rows(visit: Visit) -> PageResponse:
    """Renders the part of the list with the ticket, as a fragment. Raises BadQuery."""
    q, at = visit.query.text("in", ""), visit.query.integer("at", 1, 1, LAST_PLACE)
    number = (at - 1) // ROWS
    result = records.search(visit.ctx, TICKET, SearchRequest(q, ROWS, number + 1, "requesters,owner_"))
    listed = list_neighbours.in_order([str(each["mask"]) for each in result["results"]], number * ROWS + 1)
    more = inbox.TicketRows(visit, result["results"])
    rows_beside = [
        (_path(visit, q, each), row, inbox.row_lines(visit, row, more, ui.name(row["subject"])))
        for each, row in zip(listed, result["results"], strict=True)
    ]
    html = fragment(
        "parts/beside.html",
        visit=visit,
        rows=rows_beside,
        shown=at,
        first=number * ROWS + 1,
        total=result["total"],
        back=_back(visit, q),
    )
    return PageResponse(html)


def path_with_list(visit: Visit, here: str, **more: str) -> str:
    """Returns the path of a ticket with the list it was opened from, as in the form field `back`. more: further
    parameters."""
    path, _mark, query = own_path(visit.form.text("back", "")).partition("?")
    list_params = [(name, value) for name, value in parse_qsl(query) if name in LIST] if path == here else []
    params = urlencode([*list_params, *more.items()])
    return f"{here}?{params}" if params else here


def _path(visit: Visit, q: str, ticket: ListedTicket) -> str:
    return list_place.path(ticket, q, visit.query.text("from", ""))


def _back(visit: Visit, q: str) -> str:
    """Returns the path of the list."""
    back = visit.query.text("from", "") or f"/search/{TICKET}?{urlencode({'q': q})}"
    return back if back.startswith((inbox.PATH, "/search/")) else inbox.PATH
