"""The calls of all webhooks, the newest first: of one of them, or those that failed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from console.html import ui
from console.html.ui import Option
from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup, row_view
from console.lists.rows import Row, RowFilter, RowPage, RowQuery, RowSource
from console.lists.worklist import Worklist, declare
from console.lists.worklist_columns import ListColumn
from server.automation.webhooks import received_calls
from server.digits import id_in
from server.translation import N_, _

PATH = "/automations/webhooks/deliveries"
ANSWERS: Sequence[Option] = (
    ("", N_("Any response")),
    ("done", N_("Succeeded")),
    ("failed", N_("Failed (400 or more)")),
)
MESSAGE_CHARS = 60  # characters of an error message that are shown


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


def _when(visit: Visit, row: Row, more: Any) -> str:
    link = Markup('<a href="{}/{}">{}</a>').format(PATH, row["id"], ui.when(visit, row["at"]))
    return Markup("<div>{} {}</div>").format(link, ui.badge("info", N_("replay"))) if row["replay_of"] else link


def _request(visit: Visit, row: Row, more: Any) -> str:
    return Markup("<div>{} {}</div>").format(row["method"], ui.code("/" + row["path"]))


def _answer(visit: Visit, row: Row, more: Any) -> str:
    badge = ui.badge("ok" if row["status"] < received_calls.FAILED else "err", str(row["status"]))
    return (
        Markup("<div>{} {}</div>").format(badge, ui.muted(row["message"][:MESSAGE_CHARS])) if row["message"] else badge
    )


def _webhook(visit: Visit, row: Row, more: dict[int, str]) -> str:
    return ui.link(f"/automations/webhooks/{row['listener_id']}", more.get(row["listener_id"], ""))


def _run(visit: Visit, row: Row, more: Any) -> str:
    return ui.link(f"/automations/log?run={row['run_id']}", _("Run")) if row["run_id"] else ""


SOURCE = RowSource(
    _rows,
    (
        RowFilter("webhook", N_("Webhook"), uri="webhook_listener"),
        RowFilter("answer", N_("Response"), lambda visit: ANSWERS),
    ),
)
LIST = declare(Worklist(
    "deliveries", PATH, N_("Deliveries"), ("at", "webhook", "request", "answer", "automation", "ms"),
    own=(
        ListColumn("at", N_("When"), _when, "at"),
        ListColumn("webhook", N_("Webhook"), _webhook, value=lambda row, more: more.get(row["listener_id"], "")),
        ListColumn("request", N_("Request"), _request, value=lambda row, more: f"{row['method']} /{row['path']}"),
        ListColumn("answer", N_("Response"), _answer, "status", value=lambda row, more: row["status"]),
        ListColumn("automation", N_("Automation"), lambda visit, row, more: (
            ui.breakable(row["automation"]) if row["automation"] else ui.muted(_("none")))),
        ListColumn("client", N_("From"), lambda visit, row, more: row["client"]),
        ListColumn("size", N_("Size"), lambda visit, row, more: ui.bytes_text(row["size"]), "size", "number"),
        ListColumn("ms", N_("ms"), lambda visit, row, more: str(row["ms"]), "ms", "number"),
        ListColumn("run", N_("Log"), _run, value=lambda row, more: row["run_id"] or ""),
    ),
    load=_names, sort="-at", changes="admin",
    subtitle=N_("Requests to webhooks, and the responses"),
    empty=N_("No deliveries yet."), none=N_("No delivery matches."),
    source=SOURCE,
))  # fmt: skip


@page("GET", PATH, "admin")
def show(visit: Visit) -> PageResponse:
    """A page of deliveries. Raises Invalid for an unknown filter value."""
    webhook, answer = visit.query.text("webhook", ""), visit.query.text("answer", "")
    fields = [(name, text) for name, text in (("webhook_id", webhook), ("answer", answer)) if text]
    source = replace(SOURCE, sample=ui.Sample("GET", "/rest/webhooks/deliveries.json", fields))
    return row_view.page(visit, replace(LIST, source=source))
