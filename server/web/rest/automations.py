"""What automations wrote down. Source: Endpoints, Automation logs."""

from typing import Any

from server.automation import automation_log
from server.desk.records import MAX_PAGE
from server.web.call import EndpointCall
from server.web.openapi import shapes
from server.web.routes import Parameter, endpoint

LIMIT, MOST = 25, 250
ENTRY = shapes.keys(
    id=shapes.ID, automation_name=shapes.TEXT, automation_node=shapes.TEXT, created_at=shapes.TIME,
    level=shapes.INTEGER, level__label=shapes.TEXT, message=shapes.TEXT,
)  # fmt: skip


@endpoint(
    "GET", "automations/logs/search", "Search what automations wrote down, newest first. For administrators.", "read",
    Parameter("q", "string", "A search: automation:(name:... node:...), created:, id:, level:, message:."),
    Parameter("limit", "integer", f"Results on a page, 1 to {MOST}; {LIMIT} when absent."),
    Parameter("page", "integer", "The page, counted from 0."),
    aliases=("automation/logs/search",), answer=shapes.page(ENTRY),
)  # fmt: skip
def search_logs(call: EndpointCall) -> dict[str, Any]:
    params = call.params
    limit, page = params.integer("limit", LIMIT, 1, MOST), params.integer("page", 0, 0, MAX_PAGE)
    return automation_log.search(call.ctx, params.text("q", ""), limit, page)
