"""The list that a ticket was opened from: the previous and the next ticket, and on a wide screen the list next to the
ticket."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from console.html import ui
from console.html.templates import fragment
from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit, own_path
from console.tickets import inbox, list_place
from server.context import Context
from server.dataclass import dataclass
from server.errors import BadQuery
from server.record_types.shared import paths
from server.records import records
from server.records.records import SearchRequest
from server.tickets import list_neighbours
from server.tickets.list_neighbours import ListedTicket, ListPlace
from server.translation import _

TICKET = "ticket"
PATH = "/-/beside"
ROWS = 50  # rows of the list next to a ticket
LAST_PLACE = 10**6
LIST = ("in", "at", "from", "before", "after")  # parameters that describe the list


@dataclass(frozen=True, slots=True)
class OpenedFrom:
    """The list in the address of a ticket. q: its search. at: the place of the ticket, from 1. come_from: its path.
    before, after: the masks of the tickets around it, as the worker saw the list."""

    q: str
    at: int
    come_from: str
    before: str
    after: list[str]

    @property
    def path(self) -> str:
        back = self.come_from or f"/search/{TICKET}?{urlencode({'q': self.q})}"
        return back if back.startswith((inbox.PATH, "/search/")) else inbox.PATH

    def find_place(self, ctx: Context, mask: str) -> ListPlace:
        """Returns the current place of the ticket in the list. Raises BadQuery."""
        return list_neighbours.find_place(ctx, self.q, self.at, mask, self.before, self.after)

    def path_of(self, ticket: ListedTicket) -> str:
        """Returns the path of a ticket in this list."""
        return list_place.path(ticket, self.q, self.come_from)


def neighbours(visit: Visit, mask: str) -> dict[str, Any] | None:
    """Returns the neighbours of the ticket in the list in the address, None without a list. at, total: its position,
    from 1, and the length of the list. before, after: the paths of its neighbours, "" for none. back: the path of the
    list. rows: the path of the list for a wide screen."""
    listed = _list_in_address(visit)
    if listed is None:
        return None
    try:
        found = listed.find_place(visit.ctx, mask)
    except BadQuery:
        return None
    return {
        "at": found.place,
        "total": found.total,
        "before": listed.path_of(found.before) if found.before else "",
        "after": listed.path_of(found.after) if found.after else "",
        "back": listed.path,
        "rows": ui.address(PATH, **{"in": listed.q, "at": listed.at, "from": listed.come_from}),
    }


def has_list(visit: Visit) -> bool:
    """Whether the ticket of this page, or of the submitted form, was opened from a list."""
    if visit.is_post:
        return _list_in(_submitted(visit)[1]) is not None
    return _list_in_address(visit) is not None


def next_page(visit: Visit, mask: str, destination: str = "") -> tuple[str, str]:
    """Returns the page that follows a closed ticket or a sent reply, and a sentence for its message, which may be "".
    A ticket that was not opened from a list is followed by itself.

    destination: one of preferences.DESTINATIONS, "" for the worker's preference."""
    here, destination = paths.ticket(mask), destination or visit.preferences.destination
    path, params = _submitted(visit)
    listed = _list_in(params) if path == here else None
    if destination == "list":
        return listed.path if listed is not None else inbox.PATH, ""
    if destination == "stay" or listed is None:
        return path_with_list(visit, here), ""
    try:
        after = listed.find_place(visit.ctx, mask).after
    except BadQuery:
        return path_with_list(visit, here), ""
    if after is None:
        return listed.path, _("That was the last ticket of this list.")
    return listed.path_of(after), ""


@page("GET", PATH)
def rows(visit: Visit) -> PageResponse:
    """Renders the part of the list with the ticket, as a fragment. Raises BadQuery."""
    q, at = visit.query.text("in", ""), visit.query.integer("at", 1, 1, LAST_PLACE)
    number = (at - 1) // ROWS
    result = records.search(visit.ctx, TICKET, SearchRequest(q, ROWS, number + 1, "requesters,owner_"))
    listed = list_neighbours.in_order([str(each["mask"]) for each in result["results"]], number * ROWS + 1)
    more = inbox.TicketRows(visit, result["results"])
    ticket_list = OpenedFrom(q, at, visit.query.text("from", ""), "", [])
    rows_beside = [
        (ticket_list.path_of(each), row, inbox.row_lines(visit, row, more, ui.name(row["subject"])))
        for each, row in zip(listed, result["results"], strict=True)
    ]
    html = fragment(
        "parts/beside.html",
        visit=visit,
        rows=rows_beside,
        shown=at,
        first=number * ROWS + 1,
        total=result["total"],
        back=ticket_list.path,
    )
    return PageResponse(html)


def path_with_list(visit: Visit, here: str, **more: str) -> str:
    """Returns the path of a ticket with the list it was opened from, as in the submitted form. more: further
    parameters."""
    path, sent = _submitted(visit)
    params = urlencode({name: sent[name] for name in LIST if name in sent and path == here} | more)
    return f"{here}?{params}" if params else here


def _submitted(visit: Visit) -> tuple[str, dict[str, str]]:
    """Returns the path and the parameters of the page with the submitted form: its field `back`, else the page that the
    request came from."""
    back = own_path(visit.form.text("back", "")) if "back" in visit.form else visit.referring_path
    path, _mark, query = back.partition("?")
    return path, dict(parse_qsl(query, keep_blank_values=True))


def _list_in_address(visit: Visit) -> OpenedFrom | None:
    """Returns the list in the address of the page, None for none."""
    return _list_in({name: visit.query.text(name, "") for name in LIST})


def _list_in(params: Mapping[str, str]) -> OpenedFrom | None:
    """Returns the list that parameters of a ticket describe, None for none."""
    at = params.get("at", "")
    if not (at.isdecimal() and 0 < int(at[:9]) <= LAST_PLACE):
        return None
    after = [mask for mask in params.get("after", "").split(",") if mask]
    return OpenedFrom(params.get("in", ""), int(at[:9]), params.get("from", ""), params.get("before", ""), after)
