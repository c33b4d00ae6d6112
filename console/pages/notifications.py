"""A worker's notifications: the list, and the address of each, which marks it as read and redirects to its subject."""

import json
from dataclasses import replace

from console.html import ui
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import worklist
from console.lists.cells import DrawnColumns
from console.lists.worklist import BulkAction, Worklist, declare
from server.context import Context
from server.digits import id_in
from server.people import unread
from server.record_types.notification import CHANNEL
from server.record_types.shared import paths
from server.records import records
from server.translation import N_, N_ngettext, ngettext
from server.web.endpoint_call import Feed, News
from server.web.streams import LAST_ID, MEDIA_TYPE, wants_events

NOTIFICATION, BASE = "notification", "/notifications"


_column = DrawnColumns("notifications")
LIST = declare(Worklist(
    NOTIFICATION, BASE, N_("Notifications"), ("_label", "created"), sort="-created", changes="worker",
    own=(_column("_label", N_("Notification"), kind="main"),),
    quick=((N_("Unread"), "isRead:no"),), by=("activity", "isRead"),
    actions=(
        BulkAction("read", N_("Mark as read"), {"is_read": "1"}, key="e", restores=("is_read",),
                   says=N_ngettext("Marked as read.", "{count} notifications marked as read.")),
        BulkAction("unread", N_("Mark as unread"), {"is_read": "0"}, restores=("is_read",),
                   says=N_ngettext("Marked as unread.", "{count} notifications marked as unread.")),
    ),
    none=N_("No notification matches."),
    empty=N_("Notifications appear here when a ticket is assigned to you, when somebody mentions you with @, and when "
             "something happens to what you own or watch."), is_followed=True,
))  # fmt: skip


@page("GET", BASE)
def show(visit: Visit) -> PageResponse:
    """The worker's own, newest first."""
    own = replace(LIST, own_query=f"worker.id:{visit.actor.worker_id}")
    return worklist.page(visit, own, "notifications.html", count=unread.count(visit.ctx))


@page("GET", f"{BASE}/unread")
def show_unread(visit: Visit) -> PageResponse:
    """Responds with {html, newest}: the current bell, and the newest unread notification as {id, text, age in seconds},
    null for none; or streams {count} whenever the number of unread ones changes. since: the number that the page
    shows; a stream that continues sends it as the id of its last event."""
    count, headers = unread.count(visit.ctx), visit.request.headers
    if not wants_events(headers.get("Accept", "")):
        news = {"html": ui.bell(visit, count), "newest": unread.newest(visit.ctx) if count else None}
        return PageResponse(json.dumps(news), content_type="application/json")
    since = id_in(headers.get(LAST_ID, "") or visit.query.text("since", ""))
    feed = Feed(CHANNEL, visit.path, count if since is None else since, _another_count)
    return PageResponse(content_type=MEDIA_TYPE, feed=feed)


def _another_count(ctx: Context, last: int) -> News:
    count = unread.count(ctx)
    return News([(count, {"count": count})] if count != last else [], count)


@page("POST", f"{BASE}/read")
def read_all(visit: Visit) -> PageResponse:
    """Mark all as read."""
    ids = unread.read_all(visit.ctx)
    visit.flash(ngettext("{count} notification marked as read.", "{count} notifications marked as read.", len(ids)))
    return see(BASE)


@page("GET", "/notifications/{id}")
def follow(visit: Visit) -> PageResponse:
    """Mark a notification of one's own as read and go on. Raises NotFound, Forbidden.

    What leads to another site, or nowhere, is shown first: whoever wrote it chose where it leads."""
    notification = records.retrieve(visit.ctx, NOTIFICATION, visit.id)
    if notification["assignee_id"] == visit.actor.worker_id and not notification["is_read"]:
        records.update(visit.ctx, NOTIFICATION, visit.id, {"is_read": "1"})
    own = f"{visit.service.base_url}/"
    if notification["url"].startswith(own):
        return see("/" + notification["url"].removeprefix(own))
    return see(paths.record(NOTIFICATION, visit.id))
