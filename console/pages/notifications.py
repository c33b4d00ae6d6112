"""The address of a notification: it counts as read, and leads on to what it is about. Source: Records, `url_markread`;
where it leads when that is elsewhere is ours."""

from console.page_response import PageResponse, see
from console.routes import page
from console.visit import Visit
from server.desk import records
from server.records.shared import paths

NOTIFICATION = "notification"


@page("GET", "/notifications/{id}")
def follow(visit: Visit) -> PageResponse:
    """Mark a notification of one's own as read and go on. Raises NotFound, Forbidden.

    What leads to another site, or nowhere, is shown first: whoever wrote it chose where it leads."""
    found = records.retrieve(visit.ctx, NOTIFICATION, visit.id)
    if found["assignee_id"] == visit.actor.worker_id and not found["is_read"]:
        records.update(visit.ctx, NOTIFICATION, visit.id, {"is_read": "1"})
    own = f"{visit.service.base_url}/"
    if found["url"].startswith(own):
        return see("/" + found["url"].removeprefix(own))
    return see(paths.record(NOTIFICATION, visit.id))
