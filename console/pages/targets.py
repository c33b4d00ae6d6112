"""Service targets: the times within which tickets are to be answered and closed."""

from console.forms.controls import Control
from console.forms.record_form import OpenForm, RecordForm
from console.forms.record_pages import RecordPages, declare_pages
from console.html.rendering import render
from console.http.page_response import PageResponse
from console.http.visit import Visit
from console.lists.worklist import Worklist, declare
from console.pages.people import TABS
from server.translation import N_

URI, BASE = "service_target", "/admin/targets"
LIST = declare(Worklist(
    URI, BASE, N_("Service targets"),
    ("_label", "group_id", "importance_min", "response_minutes", "resolution_minutes", "calendar_id", "is_disabled"),
    sort="name", none=N_("No service target matches."),
    empty=N_("Say how soon tickets are to be answered and closed. Lists then show what is due, and workers are told "
             "before it is late."),
    new=(f"{BASE}/new", N_("New service target")), row=f"{BASE}/{{id}}", tabs=TABS, tabs_label=N_("People"),
))  # fmt: skip
FORM = RecordForm(URI, (
    Control("name", N_("Name"), ""),
    Control("group_id", N_("Tickets of"), none=N_("Every group")),
    Control("importance_min", N_("From importance"), N_("0 to 100. Of several targets that fit a ticket, one of its "
            "group goes before one of every group, then the higher importance.")),
    Control("response_minutes", N_("First response"), N_("In minutes. Blank or 0: no target.")),
    Control("resolution_minutes", N_("Resolution"), N_("In minutes that the ticket is open. Blank or 0: no target.")),
    Control("calendar_id", N_("Hours"), N_("Only the available hours of the calendar count."), none=N_("All hours")),
    Control("warning_minutes", N_("Warn (minutes before)"), N_("Minutes before it is late that the owner and the "
            "watchers are told; where nobody owns the ticket, the managers of its group.")),
    Control("is_disabled", N_("Disabled")),
))  # fmt: skip


def _form(visit: Visit, fields: OpenForm) -> PageResponse:
    return render(visit, "service_target.html", fields.status, form=fields.values, fields=fields, each=fields.stored)


declare_pages(
    RecordPages(
        BASE,
        FORM,
        _form,
        LIST,
        created=N_("{name} is created. Open tickets get it within a minute."),
        saved=N_("{name} is saved. Open tickets get it within a minute."),
    )
)
