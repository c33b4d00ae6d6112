"""The list that a ticket was opened from: the previous and the next ticket, and on a wide screen the list next to the
ticket."""

from typing import Any
from urllib.parse import parse_qsl, urlencode

from console.html import ui
from console.html.environment import fragment
from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit, own_path
from console.tickets import inbox, list_place
from console.tickets.list_place import ListPart
from server.errors import BadQuery
from server.records import records
from server.records.records import SearchRequest
from server.tickets.masks import ticket_id

TICKET = "ticket"
PATH = "/-/beside"
ROWS = 50  # rows of the list next to a ticket
LAST_PLACE = 10**6
LIST = ("in", "at", "from", "before", "after")  # parameters that describe the list
AROUND = 10  # tickets read at once to find neighbours
REACH = 3  # places of the list that are read on either side of a ticket


def neighbours(visit: Visit, mask: str) -> dict[str, Any] | None:
    """Returns the neighbours of the ticket in the list in the address, None without a list. at, total: its position,
    from 1, and the length of the list. before, after: the paths of its neighbours, "" for none. back: the path of the
    list. rows: the path of the list for a wide screen.

    They are the neighbours from when the worker saw the list: a ticket that was closed or assigned since may have left
    the list or moved in it, but the next one stays the same."""
    q, at = visit.query.text("in", ""), visit.query.integer("at", 0, 0, LAST_PLACE)
    if not at:
        return None
    try:
        part = _part(visit, q, at)
    except BadQuery:
        return None
    seen_before, seen_after = _seen(visit, "before"), _seen(visit, "after")
    after = seen_after if seen_after in part.masks else part.after(mask) or part.at(at)
    before = seen_before or part.before(mask) or part.at(at - 1)
    after, before = (each if each != mask else "" for each in (after, before))
    place = part.place(mask) or at
    onward = _path(visit, q, part.place(after) or at + 1, after, mask, part.after(after, mask)) if after else ""
    back = _path(visit, q, part.place(before) or max(at - 1, 1), before, part.before(before, mask), mask)
    return {
        "at": place,
        "total": part.total,
        "before": back if before else "",
        "after": onward,
        "back": _back(visit, q),
        "rows": ui.address(PATH, **{"in": q, "at": at, "from": visit.query.text("from", "")}),
    }


@page("GET", PATH)
def rows(visit: Visit) -> PageResponse:
    """Renders the part of the list with the ticket, as a fragment. Raises BadQuery."""
    q, at = visit.query.text("in", ""), visit.query.integer("at", 1, 1, LAST_PLACE)
    number = (at - 1) // ROWS
    result = records.search(visit.ctx, TICKET, SearchRequest(q, ROWS, number + 1, "requesters"))
    first = number * ROWS + 1
    around = list_place.beside([str(each["mask"]) for each in result["results"]])
    rows_beside = [
        (_path(visit, q, place, str(each["mask"]), *ends), each, place == at)
        for place, (each, ends) in enumerate(zip(result["results"], around, strict=True), first)
    ]
    html = fragment(
        "parts/beside.html",
        visit=visit,
        rows=rows_beside,
        badges=inbox.STATUS_BADGES,
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


def _part(visit: Visit, q: str, at: int) -> ListPart:
    """Returns the list around a place. Raises BadQuery."""
    pages = range((max(at - REACH, 1) - 1) // AROUND, (at + REACH - 1) // AROUND + 1)
    masks: list[str] = []
    total = 0
    for number in pages:
        result = records.search(visit.ctx, TICKET, SearchRequest(q, AROUND, number + 1))
        masks += [str(each["mask"]) for each in result["results"]]
        total = result["total"]
    return ListPart(masks, pages[0] * AROUND + 1, total)


def _seen(visit: Visit, name: str) -> str:
    """Returns the mask of a neighbour from when the worker saw the list, "" for none."""
    mask = visit.query.text(name, "")
    id = ticket_id(visit.ctx, mask) if mask else None
    return mask if id and records.may_read(visit.ctx, TICKET, id) else ""


def _path(visit: Visit, q: str, place: int, mask: str, before: str, after: str) -> str:
    """Returns the path of a ticket at a place of the list, with its neighbours."""
    return list_place.path(mask, q, place, visit.query.text("from", ""), before, after)


def _back(visit: Visit, q: str) -> str:
    """Returns the path of the list."""
    back = visit.query.text("from", "") or f"/search/{TICKET}?{urlencode({'q': q})}"
    return back if back.startswith((inbox.PATH, "/search/")) else inbox.PATH
