"""Parts of pages that stay as they would be if the page was loaded again: a stream tells them that there is something
new, and they ask for the page."""

import json
from collections.abc import Callable, Hashable

from console.http.page_response import PageResponse
from console.http.visit import Visit
from server.context import Context
from server.digits import id_in
from server.web.call import Feed, News
from server.web.streams import LAST_ID, MEDIA_TYPE, wants_events


def latest(visit: Visit, channel: str, newest: Callable[[Context], int], about: Hashable = "") -> PageResponse:
    """{id} of the newest of something, 0 for none; for who asks for a stream, that each time when there is a newer one.

    newest: of those that a caller may see; raises HelpdeskError. channel: what tells that there may be one; `since`, or
    what a stream was told before: the last that the page knows. about: of the address, what else the newest depends
    on."""
    id = newest(visit.ctx)
    headers = visit.request.headers
    if not wants_events(headers.get("Accept", "")):
        return PageResponse(json.dumps({"id": id}), content_type="application/json")
    since = id_in(headers.get(LAST_ID, "") or visit.query.text("since", ""))

    def news(ctx: Context, cursor: int) -> News:
        found = newest(ctx)
        return News([(found, {"id": found})] if found > cursor else [], max(found, cursor))

    feed = Feed(channel, (visit.path, about), id if since is None else since, news)
    return PageResponse(content_type=MEDIA_TYPE, feed=feed)
