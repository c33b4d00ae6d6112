"""Mail that could not be processed: the reason, another attempt, and discarding it."""

from dataclasses import asdict, replace
from pathlib import Path

from console.html import ui
from console.html.rendering import render
from console.http.page_response import PageResponse, file, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import row_view
from console.lists.cells import DrawnColumns
from console.lists.rows import RowPage, RowQuery, RowSource, of_all
from console.lists.worklist import BulkAction, Worklist, declare
from console.pages.mailing.mail_overview import FAILED, PARSER, tabs
from server.errors import HelpdeskError, NotFound
from server.mailroom.mailboxes import dead_letters, failed_mails
from server.translation import N_, N_ngettext, _


def _rows(visit: Visit, query: RowQuery) -> RowPage:
    mails = failed_mails.list_letters(visit.ctx)
    return of_all([asdict(each) | {"id": each.key, "_label": each.name} for each in mails], query)


_column = DrawnColumns("failed_mail")
LIST = declare(Worklist(
    "failed-mail", FAILED, N_("Failed mail"), ("name", "why", "at", "bytes", "do"),
    own=(
        _column("name", N_("Mail"), "name"),
        _column("why", N_("Reason"), "why"),
        _column("at", N_("Kept"), "at", is_time=True),
        _column("bytes", N_("Size"), "bytes", "number"),
        _column("do", N_("Action")),
    ),
    sort="-at",
    actions=(
        BulkAction("take", N_("Process now"), run=lambda visit, key: failed_mails.take(visit.ctx, key),
                   says=N_ngettext("Email processed.", "{count} emails processed.")),
        BulkAction("discard", N_("Discard"), deletes=True, run=lambda visit, key: failed_mails.discard(visit.ctx, key),
                   confirm=N_("Discard the selected emails? They are permanently deleted."),
                   says=N_ngettext("Email discarded.", "{count} emails discarded.")),
    ),
    heading=N_("Mail"), subtitle=N_("Failed mail"), tabs_label=N_("Mail"),
    empty=N_("No failed email: everything that was fetched became a ticket."),
    source=RowSource(_rows, sample=ui.Sample("POST", PARSER, [("message", "From: ...")])),
))  # fmt: skip


@page("GET", FAILED, "admin")
def show_failed(visit: Visit) -> PageResponse:
    """Mails that could not be taken, and why."""
    folder = Path(visit.service.settings.data).absolute() / dead_letters.FOLDER
    intro = _("Email that could not be processed stays in {folder} until you process or discard it.", folder=folder)
    return row_view.page(visit, replace(LIST, tabs=tuple(tabs(visit)), intro=intro))


@page("GET", f"{FAILED}/{{name}}", "admin")
def show_failed_mail(visit: Visit) -> PageResponse:
    """One of them as it came."""
    mail = failed_mails.open_letter(visit.ctx, visit.arguments["name"])
    return render(visit, "failed_mail.html", tabs=tabs(visit), found=mail)


@page("GET", f"{FAILED}/{{name}}/source", "admin")
def send_failed_mail(visit: Visit) -> PageResponse:
    """Its file."""
    letter, path = failed_mails.file_of(visit.ctx, visit.arguments["name"])
    return file(path, "message/rfc822", letter.bytes)


@page("POST", f"{FAILED}/{{name}}/take", "admin")
def take_failed_mail(visit: Visit) -> PageResponse:
    """Processes the mail again."""
    name = visit.arguments["name"]
    try:
        received = failed_mails.take(visit.ctx, name)
    except NotFound as error:
        visit.flash(error.message)
        return see(FAILED)
    except HelpdeskError as error:
        visit.flash(_("The email could not be processed: {message}", message=error.message))
        return see(f"{FAILED}/{name}")
    visit.flash(
        _("The email is now on ticket {mask}.", mask=received.mask)
        if received.mask
        else _("The email was processed and ignored.")
    )
    return see(FAILED)


@page("POST", f"{FAILED}/{{name}}/discard", "admin")
def discard_failed_mail(visit: Visit) -> PageResponse:
    """Forget it for good."""
    try:
        visit.flash(_("{name} discarded.", name=failed_mails.discard(visit.ctx, visit.arguments["name"])))
    except NotFound as error:
        visit.flash(error.message)
    return see(FAILED)
