"""A worker's own reminders: open, completed, postponed."""

from dataclasses import replace

from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import worklist
from console.lists.worklist import BulkAction, Worklist, declare
from server.records import records
from server.translation import N_, N_ngettext, N_pgettext, _

URI, BASE = "reminder", "/reminders"
LIST = declare(Worklist(
    URI, BASE, N_("Reminders"), ("_label", "remind_at", "is_closed"), sort="remindAt", changes="worker",
    quick=((N_pgettext("status", "Open"), "closed:no"), (N_pgettext("status", "Done"), "closed:yes")), by=("closed",),
    actions=(
        BulkAction("done", N_pgettext("act", "Done"), {"is_closed": "1"}, key="e", restores=("is_closed",),
                   says=N_ngettext("Reminder completed.", "{count} reminders completed.")),
        BulkAction("later", N_("Remind me on"), {"is_closed": "0"}, key="w", restores=("is_closed", "remind_at"),
                   field="remind_at", hint=N_("mon 9am"), is_time=True,
                   says=N_ngettext("Reminder set for {value}.", "{count} reminders set for {value}.")),
    ),
    none=N_("No reminder matches."),
    empty=N_("Tickets and all other records can have reminders: choose Remind me on the record's page."),
    is_followed=True,
))  # fmt: skip


@page("GET", BASE)
def show(visit: Visit) -> PageResponse:
    """The worker's own, the next one first."""
    return worklist.page(visit, replace(LIST, own_query=f"worker.id:{visit.actor.worker_id}"))


@page("POST", f"{BASE}/{{id}}/drop")
def drop(visit: Visit) -> PageResponse:
    """Delete a reminder that was just made. Raises NotFound, Forbidden."""
    records.delete(visit.ctx, URI, visit.id)
    visit.flash(_("Reminder deleted."))
    return see(BASE)
