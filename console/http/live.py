"""Live parts of pages: a stream announces news, and the page fetches the part again."""

from collections.abc import Callable, Hashable

from console.http.page_response import PageResponse, json_response
from console.http.visit import Visit
from server.context import Context
from server.digits import id_in
from server.web.endpoint_call import Feed, News
from server.web.streams import LAST_ID, MEDIA_TYPE, wants_events


def latest(visit: Visit, channel: str, newest: Callable[[Context], int], about: Hashable = "") -> PageResponse:
    """Responds with {id} of the newest record of a kind, 0 for none; or with a stream of these ids as they appear.

    channel: the channel that announces news. newest: returns the id of the newest record that a caller may see; raises
    HelpdeskError. about: whatever else in the address the newest record depends on. A stream begins after `since`, or
    after the last event that the browser received."""
    id = newest(visit.ctx)
    headers = visit.request.headers
    if not wants_events(headers.get("Accept", "")):
        return json_response({"id": id})
    since = id_in(headers.get(LAST_ID, "") or visit.query.text("since", ""))

    def news(ctx: Context, cursor: int) -> News:
        newest_id = newest(ctx)
        return News([(newest_id, {"id": newest_id})] if newest_id > cursor else [], max(newest_id, cursor))

    return stream(channel, (visit.path, about), id if since is None else since, news)


def latest_cursor(visit: Visit, unit: int) -> int | None:
    """Returns the cursor at which a stream starts: of the last event that the browser received, or else of `since` in
    the address, which counts in `unit`s. None if the request is for no stream."""
    headers = visit.request.headers
    if not wants_events(headers.get("Accept", "")):
        return None
    return id_in(headers.get(LAST_ID, "")) or (id_in(visit.query.text("since", "")) or 0) * unit


def stream(channel: str, about: Hashable, since: int, news: Callable[[Context, int], News]) -> PageResponse:
    """A stream of news. about: streams that are about the same share what they read."""
    return PageResponse(content_type=MEDIA_TYPE, feed=Feed(channel, about, since, news))
