"""A worker's own drafts, and their email that is sent later."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from console.forms import record_parts
from console.html import ui
from console.http import navigation
from console.http.page_response import PageResponse
from console.http.routes import page
from console.http.visit import Visit
from console.lists import worklist
from console.lists.worklist import BulkAction, Worklist, declare
from console.lists.worklist_columns import ListColumn
from server.outbox import delivery
from server.outbox.delivery import Delivery
from server.record_types.shared import paths
from server.record_types.shared.sending_addresses import COMPOSE, FORWARD
from server.tickets import reply_drafts
from server.translation import N_, N_ngettext, _

URI, PATH = "draft", navigation.DRAFTS.path
Deliveries = dict[int, Delivery]  # {draft: its waiting email}


def _load(visit: Visit, rows: list[dict[str, Any]]) -> Deliveries:
    return {each.draft_id: each for each in delivery.of_worker(visit.ctx, visit.actor.worker_id)}


def _subject(visit: Visit, row: Mapping[str, Any], more: Deliveries) -> str:
    return ui.link(_path(row, more), str(row["subject"] or row.get("ticket__label") or _("(no subject)")))


def _path(row: Mapping[str, Any], more: Deliveries) -> str:
    """The form that a draft is continued in; where its email waits on the ticket, once it is queued."""
    mask = row.get("ticket_mask")
    if mask and row["id"] in more:
        return f"{paths.ticket(mask)}#draft{row['id']}"
    if mask:
        kind = "forward" if row["type"] == FORWARD else "reply"
        return f"{paths.ticket(mask)}?answer={kind}&resume={row['id']}#answer"
    if row["type"] == COMPOSE and row["id"] not in more:
        return f"/compose?draft={row['id']}"
    return paths.record(URI, row["id"])


def _state(visit: Visit, row: Mapping[str, Any], more: Deliveries) -> str:
    queued = more.get(row["id"])
    return record_parts.delivery(visit, queued) if queued is not None else ui.badge("muted", N_("draft"))


def _cancel(visit: Visit, id: str) -> None:
    """Turns email that is not sent yet back into a draft. Raises Conflict once it was sent."""
    reply_drafts.take_back(visit.ctx, int(id))


LIST = declare(Worklist(
    URI, PATH, navigation.DRAFTS.label, ("_label", "to", "state", "updated"), sort="-updated", changes="worker",
    own=(
        ListColumn("_label", N_("Subject"), _subject, "subject", "main", value=lambda row, more: row["subject"]),
        ListColumn("state", N_("State"), _state,
                   value=lambda row, more: more[row["id"]].state if row["id"] in more else "draft"),
    ),
    load=_load, expand="ticket_",
    quick=((N_("Drafts"), "is.queued:no"), (N_("Sent later"), "is.queued:yes")), by=("type",),
    actions=(
        BulkAction("cancel", N_("Cancel sending"), run=_cancel,
                   says=N_ngettext("Sending cancelled. Your draft is back.",
                                   "Sending of {count} emails cancelled. Your drafts are back.")),
        BulkAction("delete", N_("Delete"), deletes=True, key="#",
                   confirm=N_("Delete the selected drafts? Email among them is not sent. This cannot be undone."),
                   says=N_ngettext("Draft deleted.", "{count} drafts deleted.")),
    ),
    none=N_("No draft matches."),
    empty=N_("Nothing unsent. Replies that you begin, and email that is sent later, wait here."),
    new=("/compose", N_("New ticket")),
))  # fmt: skip


@page("GET", PATH)
def show(visit: Visit) -> PageResponse:
    """The worker's own, the newest first."""
    return worklist.page(visit, replace(LIST, own_query=f"worker.id:{visit.actor.worker_id}"))
