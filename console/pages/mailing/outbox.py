"""Unsent mail with the reason. Raises Invalid for an unknown state."""

from dataclasses import asdict, replace

from console.html import ui
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import row_view
from console.lists.cells import DrawnColumns
from console.lists.rows import RowFilter, RowPage, RowQuery, RowSource, id_of
from console.lists.worklist import BulkAction, Worklist, declare
from console.pages.mailing.mail_overview import OUTBOX, tabs
from server.errors import NotFound
from server.outbox import mail_queue
from server.translation import N_, N_ngettext, _

STATES = {
    "failed": ("err", N_("given up")),
    "parked": ("warn", N_("no mail transport")),
    "sending": ("info", N_("being sent")),
    "held": ("warn", N_("server cannot be reached")),
    "failing": ("warn", N_("retried")),
    "partly": ("err", N_("not sent to everyone")),
    "later": ("muted", N_("scheduled")),
    "queued": ("ok", N_("queued")),
}
SHOWN = [
    ("", N_("All unsent email")),
    ("failed", N_("Given up")),
    ("parked", N_("Without mail transport")),
    ("held", N_("Waiting for their server")),
    ("failing", N_("Retried")),
    ("queued", N_("Queued")),
]


def _rows(visit: Visit, query: RowQuery) -> RowPage:
    mails, total = mail_queue.list_queue(visit.ctx, query.filters["state"], query.limit, query.page, query.sort)
    return RowPage([asdict(each) | {"_label": each.subject or _("(no subject)")} for each in mails], total)


_column = DrawnColumns("outbox")
LIST = declare(Worklist(
    "outbox", OUTBOX, N_("Outbox"), ("mail", "state", "reason", "due_at", "do"),
    own=(
        _column("mail", N_("Mail"), "subject", value=lambda row, more: row["subject"]),
        _column("to", N_("To"), "to"),
        _column("state", N_("State")),
        _column("fails", N_("Failed attempts"), "fails", "number"),
        _column("reason", N_("Reason")),
        _column("due_at", N_("Next attempt"), "due_at"),
        _column("updated", N_("Updated"), "updated", is_time=True),
        _column("do", N_("Action")),
    ),
    load=lambda visit, rows: STATES,
    actions=(
        BulkAction("send", N_("Send now"), run=lambda visit, key: mail_queue.send_again(visit.ctx, id_of(key)),
                   says=N_ngettext("Sending now.", "{count} emails are being sent now.")),
        BulkAction("drop", N_("Drop"), deletes=True, run=lambda visit, key: mail_queue.drop(visit.ctx, id_of(key)),
                   confirm=N_("Drop the selected emails? They will not be sent. This cannot be undone."),
                   says=N_ngettext("Email dropped.", "{count} emails dropped.")),
    ),
    heading=N_("Mail"), subtitle=N_("Email that has not been sent yet"),
    empty=N_("The outbox is empty: all email has been sent."),
    none=N_("No email matches."), tabs_label=N_("Mail"),
    source=RowSource(
        _rows, (RowFilter("state", N_("Show"), lambda visit: SHOWN),),
        ui.Sample("GET", "/rest/records/draft/search.json", [("q", "is.queued:yes")]),
    ),
))  # fmt: skip


@page("GET", OUTBOX, "admin")
def show_outbox(visit: Visit) -> PageResponse:
    """Lists email that has not left, with the reasons. Raises Invalid for an unknown state."""
    return row_view.page(visit, replace(LIST, tabs=tuple(tabs(visit))))


@page("GET", f"{OUTBOX}/{{id}}", "admin")
def show_letter(visit: Visit) -> PageResponse:
    """One mail that has not left."""
    mail = mail_queue.letter(visit.ctx, visit.id)
    return render(visit, "outbox_mail.html", tabs=tabs(visit), found=mail, badges=STATES)


@page("POST", f"{OUTBOX}/{{id}}/send", "admin")
def send_again(visit: Visit) -> PageResponse:
    """Tries to send a mail at once."""
    try:
        mail_queue.send_again(visit.ctx, visit.id)
        visit.flash(_("Trying to send the email. Reload this page to see whether it was sent."))
    except NotFound as error:
        visit.flash(error.message)
    return see(OUTBOX)


@page("POST", f"{OUTBOX}/{{id}}/drop", "admin")
def drop(visit: Visit) -> PageResponse:
    """Remove a mail: it is not sent."""
    try:
        visit.flash(_("'{id}' dropped. It will not be sent.", id=mail_queue.drop(visit.ctx, visit.id)[:200]))
    except NotFound as error:
        visit.flash(error.message)
    return see(OUTBOX)
