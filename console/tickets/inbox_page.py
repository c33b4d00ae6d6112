"""The inbox: where a worker's day begins; and the numbers of its lists, for every page."""

from console.html import ui
from console.html.rail import DRAFTS
from console.http import ticket_lists
from console.http.live import latest_cursor, stream
from console.http.page_response import PageResponse, json_response
from console.http.routes import page
from console.http.visit import Visit
from console.lists import worklist
from console.tickets import inbox
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
    a stream of such cursors, one whenever a number may have changed."""
    since = latest_cursor(visit, 1)
    if since is not None:
        return stream(changes.CHANNEL, (COUNTS,), since, _news)
    lists = ticket_lists.read(visit.ctx, counts_all=True)
    counts = {each.name: ui.number(visit, each.count) for each in lists.all if each.count is not None}
    counts[DRAFTS] = ui.number(visit, lists.drafts or 0)
    return json_response({"at": lists.at, "counts": counts})


def _news(ctx: Context, cursor: int) -> News:
    has_changed, upto = list_counts.changed_since(ctx.service, cursor)
    return News([(upto, {"at": upto})] if has_changed else [], upto)
