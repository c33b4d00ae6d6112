"""Timers of automations: which automation runs, and when."""

from dataclasses import replace
from typing import Any

from console.forms.controls import Control
from console.forms.record_form import OpenForm, RecordForm
from console.forms.record_pages import RecordPages, declare_pages
from console.html import ui
from console.html.form import Form
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup, worklist
from console.lists.cells import DrawnColumns
from console.lists.worklist import BulkAction, Worklist, declare, switching
from console.pages.automation.jobs import TABS, TIMERS
from server.automation import timers
from server.automation.binding_edits import with_entry
from server.automation.recurrence_words import in_words
from server.automation.repeats import DAYS, ONCE, OWN, REPEATS, schedule
from server.automation.timers import TRIGGER, URI
from server.errors import Invalid, Required
from server.translation import N_, N_ngettext, N_pgettext, _

BASE = TIMERS
WHEN = (
    Control("repeat", N_pgettext("timer", "Runs"), kind="choice", options=REPEATS, is_own=True),
    Control("time", N_("Time"),
            N_("For once, a date and time such as tomorrow 8:00 or 2027-01-31 09:00. For repeats, a time of day such "
               "as 08:30."),
            attributes={"autocomplete": "off"}, is_own=True, also=("next_run_at",)),
    Control("day", N_("Day"), N_("For timers that run every week."), "choice", DAYS, is_own=True),
    Control("recurring_patterns", N_("Schedule"),
            N_("For a custom schedule: minute, hour, day of the month, month, day of the week, one pattern "
               "per line, such as 0 8 * * mon-fri; or @hourly, @daily, @weekly, @monthly, @yearly."), "code",
               attributes={"rows": 3},
            is_own=True),
    Control("recurring_timezone", N_("Time zone"), N_("Of the schedule."), "zone", is_own=True),
)  # fmt: skip
AUTOMATION = Control("automation", N_("Automation"), N_("Runs when the timer is due."), "choice", is_own=True)
NEW = RecordForm(URI, (Control("name", N_("Name"), hint=""), AUTOMATION, *WHEN))
FORM = RecordForm(
    URI,
    (
        Control("name", N_("Name"), hint=""),
        Control(
            "automations_kata", N_("Automations"), N_("The automation to run, as KATA."), "code", attributes={"rows": 4}
        ),
        *WHEN,
    ),
)


def _fill(visit: Visit, fields: OpenForm) -> OpenForm:
    """The schedule of a timer; a new one runs every day."""
    each = fields.stored
    if not each:
        automations = lookup.search(visit, "automation", f"trigger:{TRIGGER} sort:name")
        options = [("", N_("Choose one")), *((row["name"], row["name"]) for row in automations)]
        zone = visit.actor.timezone or "UTC"
        fields.fill(repeat="daily", day="mon", time="08:00", recurring_timezone=zone)
        return fields.change(replace(AUTOMATION, options=options))
    return fields.fill(
        automations_kata=timers.text_of(visit.ctx, visit.id),
        day="mon",
        time=ui.time_text(visit, 0 if each["is_recurring"] else each["next_run_at"]),
        repeat=OWN if each["is_recurring"] else ONCE,
        recurring_patterns=each["recurring_patterns"],
        recurring_timezone=each["recurring_timezone"] or "UTC",
    )


def _more(visit: Visit, fields: OpenForm, form: Form) -> dict[str, Any]:
    """When a timer runs, and of a new one the automation that was chosen. Raises Required, Invalid."""
    if fields.id:
        return schedule(form.values)
    if not form.get("automation"):
        raise Required(_("automation: choose the one that runs"), field="automation")
    return schedule(form.values) | {"automations_kata": with_entry("", "run", form.get("automation"))}


def _form(visit: Visit, fields: OpenForm) -> PageResponse:
    has_some = bool(fields.id) or len(fields.control("automation").options) > 1
    return fields.render(
        "timer.html",
        each=fields.stored,
        has_some=has_some,
        trigger=TRIGGER,
    )


declare_pages(
    RecordPages(
        BASE,
        FORM,
        _form,
        new_form=NEW,
        fill=_fill,
        more=_more,
        switched_off=N_("{name} switched off. It no longer runs."),
    )
)


def _words(visit: Visit, rows: list[dict[str, Any]]) -> dict[int, str]:
    """When timers repeat, in words."""
    return {row["id"]: in_words(row["recurring_patterns"]) for row in rows if row["is_recurring"]}


_column = DrawnColumns("timers")
LIST = declare(Worklist(
    URI, BASE, N_("Timers"), ("_label", "state", "next_run_at", "last_ran_at", "again", "run"),
    own=(
        _column("state", N_("State"), "isDisabled", value=lambda row, more: "off" if row["is_disabled"] else "on"),
        _column("again", N_("Repeats"), value=lambda row, more: row["recurring_patterns"]),
        _column("run", N_("Action")),
    ),
    row=BASE + "/{id}", load=_words, sort="name", placeholder=N_("name, or isRecurring:yes"),
    quick=((N_("Off"), "isDisabled:yes"),),
    actions=(
        *switching(N_ngettext("Timer switched off.", "{count} timers switched off."),
                   N_ngettext("Timer switched on.", "{count} timers switched on.")),
        BulkAction("delete", N_("Delete"), deletes=True,
                   confirm=N_("Delete the selected timers? Their automations are not deleted."),
                   says=N_ngettext("Timer deleted.", "{count} timers deleted.")),
    ),
    subtitle=N_("Automations that run at set times"), none=N_("No timer matches."),
    empty=N_("There are no timers yet. A timer runs an automation at a set time, once or repeatedly."),
    new=(f"{BASE}/new", N_("New timer")), tabs=TABS, tabs_label=N_("Scheduler"),
))  # fmt: skip


@page("GET", BASE, "admin")
def show(visit: Visit) -> PageResponse:
    """All timers, with when they run."""
    return worklist.page(visit, LIST, "timers.html")


@page("POST", f"{BASE}/{{id}}/run", "admin")
def run(visit: Visit) -> PageResponse:
    """Runs a timer now; its schedule continues from there."""
    try:
        name = timers.run_now(visit.ctx, visit.id)
        visit.flash(_("{name} is due now. The automation log shows the result.", name=name))
    except Invalid as error:
        visit.flash(error.message)
    return see(BASE)
