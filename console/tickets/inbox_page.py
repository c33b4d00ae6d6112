"""The inbox: where a worker's day begins; and the numbers of its lists, for every page."""

from typing import Any

from console.html.rail import DRAFTS
from console.http import ticket_lists
from console.http.live import latest_cursor, stream
from console.http.page_response import PageResponse, json_response
from console.http.routes import page
from console.http.ticket_lists import TicketLists
from console.http.visit import Visit
from console.lists import worklist
from console.tickets import inbox
from server import locales
from server.context import Context
from server.first_start import demo
from server.records import changes
from server.tickets import list_counts
from server.web.endpoint_call import News

COUNTS = "/-/lists"


@page("GET", inbox.PATH)
def show(visit: Visit) -> PageResponse:
    """Shows one of the worker's lists."""
    if not visit.is_by_itself:
        demo.welcome(visit.ctx)
    return worklist.page(visit, inbox.of_list(inbox.list_of(visit)), "inbox.html")


@page("GET", COUNTS)
def show_counts(visit: Visit) -> PageResponse:
    """The numbers of the worker's lists: {at: the cursor of the changes that they include, counts: {list: number}}; or
    a stream of them, whenever a number may have changed. is_stale: whether some are old, such as those of saved
    searches in the stream."""
    since = latest_cursor(visit, 1)
    if since is None:
        return json_response(_counts(visit.language, ticket_lists.read(visit.ctx, counts_late=True, counts_saved=True)))

    def news(ctx: Context, cursor: int) -> News:
        has_changed, upto = list_counts.changed_since(ctx.service, cursor)
        if not has_changed:
            return News([], upto)
        return News([(upto, _counts(visit.language, ticket_lists.read(ctx, counts_late=True)))], upto)

    return stream(changes.CHANNEL, (COUNTS, visit.language), since, news)


def _counts(language: str, lists: TicketLists) -> dict[str, Any]:
    number = locales.of(language).number
    counts = {each.name: number(each.count) for each in lists.all if each.count is not None}
    return {"at": lists.at, "counts": counts | {DRAFTS: number(lists.drafts or 0)}, "is_stale": lists.is_stale}
