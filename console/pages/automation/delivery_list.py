"""The calls of all webhooks, the newest first: of one of them, or those that failed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from console.html import ui
from console.html.ui import Option
from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup, row_view
from console.lists.cells import DrawnColumns
from console.lists.rows import RowFilter, RowPage, RowQuery, RowSource
from console.lists.worklist import Worklist, declare
from server.automation.webhooks import received_calls
from server.digits import id_in
from server.translation import N_, _

PATH = "/automations/webhooks/deliveries"
ANSWERS: Sequence[Option] = (
    ("", N_("Any response")),
    ("done", N_("Succeeded")),
    ("failed", N_("Failed (400 or more)")),
)


def _rows(visit: Visit, query: RowQuery) -> RowPage:
    webhook = id_in(query.filters["webhook"]) or 0
    page, total = received_calls.all_of(
        visit.ctx, webhook, query.filters["answer"], query.limit, query.page - 1, query.sort
    )
    return RowPage([each | {"_label": _("Delivery {id}", id=each["id"])} for each in page], total)


def _names(visit: Visit, rows: list[dict[str, Any]]) -> dict[int, str]:
    """{webhook: its name}."""
    ids = ",".join(sorted({str(row["listener_id"]) for row in rows}))
    return {each["id"]: str(each[lookup.LABEL]) for each in lookup.search(visit, "webhook_listener", f"id:[{ids}]")}


SOURCE = RowSource(
    _rows,
    (
        RowFilter("webhook", N_("Webhook"), uri="webhook_listener"),
        RowFilter("answer", N_("Response"), lambda visit: ANSWERS),
    ),
)
_column = DrawnColumns("deliveries")
LIST = declare(Worklist(
    "deliveries", PATH, N_("Deliveries"), ("at", "webhook", "request", "answer", "automation", "ms"),
    own=(
        _column("at", N_("When"), "at"),
        _column("webhook", N_("Webhook"), value=lambda row, more: more.get(row["listener_id"], "")),
        _column("request", N_("Request"), value=lambda row, more: f"{row['method']} /{row['path']}"),
        _column("answer", N_("Response"), "status", value=lambda row, more: row["status"]),
        _column("automation", N_("Automation")),
        _column("client", N_("From")),
        _column("size", N_("Size"), "size", "number"),
        _column("ms", N_("ms"), "ms", "number"),
        _column("run", N_("Log"), value=lambda row, more: row["run_id"] or ""),
    ),
    load=_names, sort="-at", changes="admin",
    subtitle=N_("Requests to webhooks, and the responses"),
    empty=N_("No deliveries yet. Each request to a webhook appears here, with its response."),
    none=N_("No delivery matches."),
    source=SOURCE,
))  # fmt: skip


@page("GET", PATH, "admin")
def show(visit: Visit) -> PageResponse:
    """A page of deliveries. Raises Invalid for an unknown filter value."""
    webhook, answer = visit.query.text("webhook", ""), visit.query.text("answer", "")
    fields = [(name, text) for name, text in (("webhook_id", webhook), ("answer", answer)) if text]
    source = replace(SOURCE, sample=ui.Sample("GET", "/rest/webhooks/deliveries.json", fields))
    return row_view.page(visit, replace(LIST, source=source))
