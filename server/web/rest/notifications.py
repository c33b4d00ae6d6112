"""The caller's own notifications. They are marked as read by PUT with is_read=1, at their address here or in the
records API."""

from typing import Any

from server.records.criteria import Criteria
from server.search.ast import Node, SearchValue, Sort, Term
from server.web.endpoint_call import EndpointCall
from server.web.rest.legacy.families import FAMILIES
from server.web.rest.legacy.search import ASKED, page, results
from server.web.routes import Parameter, endpoint

[NOTIFICATIONS] = [each for each in FAMILIES if each.uri == "notification"]
UNREAD = Term("isRead", SearchValue("no", False, 0), False, 0)
NEWEST_FIRST = (Sort("id", True, 0),)


@endpoint(
    "GET",
    "notifications/list",
    "List the notifications of the caller, newest first.",
    "read",
    Parameter("unread", "boolean", "1 lists only unread notifications."),
    *ASKED,
    response=page(NOTIFICATIONS),
)
def list_own(call: EndpointCall) -> dict[str, Any]:
    params = call.params
    own: list[Node] = [Term("worker.id", SearchValue(str(call.ctx.actor.worker_id), False, 0), False, 0)]
    only = [*own, UNREAD] if params.flag("unread", False) else own
    sent = Criteria((), params.text("sortBy", ""), params.flag("sortAsc", True), only, NEWEST_FIRST)
    return results(call, NOTIFICATIONS, sent)
