"""Service targets: the times within which tickets are to be answered and closed."""

from console.forms.controls import Control
from console.forms.record_form import RecordForm
from console.forms.record_pages import RecordPages, declare_pages
from console.lists.worklist import Worklist, declare
from console.pages.people import TABS
from server.translation import N_

URI, BASE = "service_target", "/admin/targets"
LIST = declare(Worklist(
    URI, BASE, N_("Service targets"),
    ("_label", "group_id", "importance_min", "response_minutes", "next_response_minutes", "resolution_minutes",
     "calendar_id", "is_disabled"),
    sort="name", none=N_("No service target matches."),
    empty=N_("Define how soon tickets must be answered and closed. Lists then show what is due, and "
             "workers are warned in time."),
    new=(f"{BASE}/new", N_("New service target")), row=f"{BASE}/{{id}}", tabs=TABS, tabs_label=N_("People"),
))  # fmt: skip
FORM = RecordForm(URI, (
    Control("name", N_("Name"), ""),
    Control("group_id", N_("Tickets of"), none=N_("All groups")),
    Control("importance_min", N_("Minimum importance"),
            N_("0 to 100. If several targets match a ticket, a target of its group wins over one of all "
                                                           "groups, then the higher importance.")),
    Control("response_minutes", N_("First response"), N_("In minutes. Blank or 0: no target."), heading=N_("Times")),
    Control("next_response_minutes", N_("Next response"),
            N_("In minutes from a customer's message until the next reply. Blank or 0: no target.")),
    Control("resolution_minutes", N_("Resolution"),
            N_("In minutes, without the time in which its clock is paused. Blank or 0: no target.")),
    Control("calendar_id", N_("Hours"), N_("Only the available time of the calendar counts."),
            none=N_("Around the clock"), heading=N_("Hours and warnings")),
    Control("warning_minutes", N_("Warn (minutes before)"),
            N_("How long before the deadline the owner and the watchers are notified. For unassigned "
                                                               "tickets, the managers of the group are.")),
    Control("is_disabled", N_("Disabled")),
))  # fmt: skip


declare_pages(
    RecordPages(
        BASE,
        FORM,
        "service_target.html",
        LIST,
        created=N_("{name} created. It applies to open tickets within a minute."),
        saved=N_("{name} saved. It applies to open tickets within a minute."),
    )
)
