"""The list that a ticket was opened from: the tickets before and after it, and, on a wide screen, the list beside it.
Source: ours."""

from typing import Any
from urllib.parse import parse_qsl, urlencode

from console import ui
from console.desk import inbox
from console.page_response import PageResponse, fragment
from console.routes import page
from console.visit import Visit, own_path
from server.dataclass import dataclass
from server.desk import records
from server.desk.records import SearchRequest
from server.errors import BadQuery
from server.records.shared import paths
from server.translation import Words

TICKET = "ticket"
PATH = "/-/beside"
ROWS = 50  # of the list beside a ticket
LAST_PLACE = 10**6
LIST = ("in", "at", "from")  # what an address says of the list


@dataclass(frozen=True, slots=True)
class Neighbours:
    """at, total: the ticket's place in the list, from 1. before, after: paths of the tickets beside it, "" for none.
    back: of the list. rows: of the list as it is shown beside the ticket."""

    at: int
    total: int
    before: str
    after: str
    back: str
    rows: str


@dataclass(frozen=True, slots=True)
class RowBeside:
    """A ticket of the list. who: its requesters. badge: of its status, where that is another than open."""

    path: str
    subject: str
    who: str
    updated: int
    badge: tuple[str, Words] | None
    is_shown: bool


def neighbours(visit: Visit) -> Neighbours | None:
    """The tickets beside the one of the page in the list that the address names; None where it names none."""
    q, at = visit.query.text("in", ""), visit.query.integer("at", 0, 0, LAST_PLACE)
    if not at:
        return None
    try:
        before = _at(visit, q, at - 1)[0] if at > 1 else ""
        after, total = _at(visit, q, at + 1)
    except BadQuery:
        return None
    return Neighbours(at, total, before, after, _back(visit, q), f"{PATH}?{_query(visit, q, at)}")


@page("GET", PATH)
def rows(visit: Visit) -> PageResponse:
    """The part of the list that the ticket stands in, as a fragment. Raises BadQuery."""
    q, at = visit.query.text("in", ""), visit.query.integer("at", 1, 1, LAST_PLACE)
    number = (at - 1) // ROWS
    found = records.search(visit.ctx, TICKET, SearchRequest(q, ROWS, number + 1, "requesters"))
    listed = [_row(visit, q, each, number * ROWS + place, at) for place, each in enumerate(found["results"], 1)]
    html = fragment("parts/beside.html", visit=visit, ui=ui, rows=listed, total=found["total"], back=_back(visit, q))
    return PageResponse(html)


def kept(visit: Visit, here: str, **more: str) -> str:
    """The path of a ticket with the list that one came from, as the form says by `back`. more: for the address."""
    path, _mark, query = own_path(visit.form.text("back", "")).partition("?")
    told = [(name, value) for name, value in parse_qsl(query) if name in LIST] if path == here else []
    asked = urlencode([*told, *more.items()])
    return f"{here}?{asked}" if asked else here


def _row(visit: Visit, q: str, row: dict[str, Any], place: int, at: int) -> RowBeside:
    who = [each.get("name") or each["email"] for each in list((row.get("requesters") or {}).values())[:2]]
    badge = inbox.STATUS_BADGES[row["status"]] if row["status"] != "open" else None
    path = f"{paths.ticket(row['mask'])}?{_query(visit, q, place)}"
    return RowBeside(path, str(row["subject"]), ", ".join(who), row["updated"], badge, place == at)


def _at(visit: Visit, q: str, at: int) -> tuple[str, int]:
    """The path of the ticket at a place of a search, and how many that finds."""
    found = records.search(visit.ctx, TICKET, SearchRequest(q, 1, at))
    results = found["results"]
    return (f"{paths.ticket(results[0]['mask'])}?{_query(visit, q, at)}" if results else ""), found["total"]


def _query(visit: Visit, q: str, at: int) -> str:
    """What an address says of the list."""
    come_from = visit.query.text("from", "")
    return urlencode({"in": q, "at": at, **({"from": come_from} if come_from else {})})


def _back(visit: Visit, q: str) -> str:
    """The path of the list."""
    back = visit.query.text("from", "") or f"/search/{TICKET}?{urlencode({'q': q})}"
    return back if back.startswith((inbox.PATH, "/search/")) else inbox.PATH
