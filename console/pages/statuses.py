"""Names of ticket statuses: those of each state in order, with their tickets, and a form to name and color one."""

from console.forms.controls import Control
from console.forms.record_form import OpenForm, RecordForm
from console.forms.record_pages import RecordPages, declare_pages
from console.html.form import sentence
from console.html.rendering import render
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup
from console.lists.list_moves import move_entry
from console.pages.tags import COLORS
from server.automation.rules import rule_losses
from server.errors import Conflict
from server.records import records
from server.tickets import ticket_statuses
from server.tickets.types.ticket_parts import status_names
from server.translation import N_, N_pgettext, _, shown

URI, BASE = ticket_statuses.URI, "/admin/statuses"
STATES = (N_pgettext("status", "Open"), N_("Waiting"), N_("Closed"), N_("Deleted"))  # index: status number
COLOR = Control("color", N_("Color"), "", options=tuple(COLORS.items()))
GROUP = Control("group_id", N_("Group"), N_("Other groups are not offered the name."), none=N_("All groups"))
CLOCK = Control(
    "clock",
    N_("Clock of service targets"),
    options=(
        ("", N_("As its state: runs while open, paused while waiting")),
        (status_names.RUNS, N_("Always runs")),
        (status_names.PAUSED, N_("Always paused")),
    ),
)
NAME = Control("name", N_("Name"), N_("Saved searches and automations still find a status by its former name."))
FORM = RecordForm(URI, (NAME, COLOR, GROUP, CLOCK))
NEW_FORM = RecordForm(
    URI,
    (
        Control("name", N_("Name"), ""),
        Control(
            "status_id",
            N_("State"),
            N_("Cannot be changed later. Scripts see the state, and may read the name beside it."),
            "choice",
            options=tuple((str(number), word) for number, word in enumerate(STATES)),
        ),
        COLOR,
        GROUP,
        CLOCK,
    ),
)


@page("GET", BASE, "admin")
def show_list(visit: Visit) -> PageResponse:
    """The names of each state."""
    rows = lookup.search(visit, URI, "sort:position", "num_tickets,group_")
    sections = [
        (state, shown(word), [each for each in rows if each["status_id"] == state]) for state, word in enumerate(STATES)
    ]
    return render(visit, "statuses.html", sections=sections)


def _fill(visit: Visit, fields: OpenForm) -> OpenForm:
    state = visit.query.text("state", "1")
    return fields if fields.id or state not in "0123" else fields.fill(status_id=state)


def _show(visit: Visit, fields: OpenForm) -> PageResponse:
    count = records.retrieve(visit.ctx, URI, fields.id, "num_tickets")["num_tickets"] if fields.id else 0
    return fields.render("ticket_status.html", tickets=count, state=shown(STATES[fields.stored.get("status_id", 0)]))


declare_pages(
    RecordPages(
        BASE,
        FORM,
        _show,
        fill=_fill,
        new_form=NEW_FORM,
        deleted="",
    )
)


@page("POST", f"{BASE}/{{id}}/delete", "admin")
def delete(visit: Visit) -> PageResponse:
    """Deletes a name, with an undo that also switches on the rules that the deletion switches off."""
    status = lookup.record(visit, URI, visit.id)
    rules = rule_losses.naming(visit.ctx, URI, visit.id)
    undo = f"{BASE}/{visit.id}/restore" if ticket_statuses.delete(visit.ctx, visit.id, rules=rules) else ""
    visit.flash(_("{name} deleted. Its tickets keep their state.", name=status["name"]), undo)
    return see(BASE)


@page("POST", f"{BASE}/{{id}}/restore", "admin")
def restore(visit: Visit) -> PageResponse:
    """Restores a name that the worker has deleted."""
    try:
        name, more = ticket_statuses.restore(visit.ctx, visit.id)
        rule_losses.switch_on(visit.ctx, more["rules"])
        visit.flash(_("{name} restored.", name=name))
    except Conflict as error:
        visit.flash(_("Not restored: {problem}", problem=sentence(error.message)))
    return see(f"{BASE}#status-{visit.id}")


@page("POST", f"{BASE}/{{id}}/move", "admin")
def move(visit: Visit) -> PageResponse:
    """Moves a name up or down: by one, or by as many as it was dragged."""
    status = lookup.record(visit, URI, visit.id)
    move_entry(visit, str(status["name"]), lambda by: ticket_statuses.move(visit.ctx, visit.id, by))
    return see(f"{BASE}#status-{visit.id}")
