"""One stream for all windows of a browser: it carries the feeds of the pages that are open in them."""

import copy
from dataclasses import replace

from console.http import routes
from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit
from server.context import Context
from server.errors import HelpdeskError, NotFound
from server.translation import _
from server.web.endpoint_call import Feed, News
from server.web.streams import LAST_ID, MEDIA_TYPE, wants_events

PATH = "/-/stream"
MAX_FEEDS = 60  # feeds of one stream; a browser opens another stream for more


@page("GET", PATH)
def follow(visit: Visit) -> PageResponse:
    """The feeds of several pages in one stream. `feed[]`: the id of the last event that the browser knows of a feed,
    "" for none, a blank, and the address of the feed. Events name a feed by its number from 0. A feed that cannot be
    followed ends, and the others go on. Raises NotFound."""
    requested = [each.partition(" ") for each in visit.query.text_list("feed")[:MAX_FEEDS]]
    if not requested or not wants_events(visit.request.headers.get("Accept", "")):
        raise NotFound(_("There is no such page."))
    feeds = (
        replace(_feed(visit, address, last), name=str(number))
        for number, (last, _blank, address) in enumerate(requested)
    )
    return PageResponse(content_type=MEDIA_TYPE, feeds=tuple(feeds))


def _feed(visit: Visit, address: str, last: str) -> Feed:
    """The feed of the page at an address, else one that ends at once with the reason."""
    try:
        return _feed_of_page(visit, address, last)
    except HelpdeskError as error:
        reason = error

    def refuse(ctx: Context, cursor: int) -> News:
        raise reason

    return Feed("", (PATH, address), 0, refuse)


def _feed_of_page(visit: Visit, address: str, last: str) -> Feed:
    """A feed of a page. Raises the errors of the page, NotFound for a page without a feed."""
    request = copy.copy(visit.request)
    request.path, _mark, request.query = address.partition("?")
    request.headers = request.headers.copy()
    request.headers.pop(LAST_ID, None)
    if last:
        request.headers[LAST_ID] = last
    pages, arguments = routes.find(request.path)
    each = pages.get("GET")
    if each is None or request.path == PATH or each.access not in ("worker", "admin"):
        raise NotFound(_("There is no such page."))
    each.require(visit.actor)
    inner = Visit(visit.service, request, visit.now, arguments, visit.session, visit.preferences, visit.secret)
    feed = each.show(inner).feed
    if feed is None:
        raise NotFound(_("There is no such page."))
    return feed
