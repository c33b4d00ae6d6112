"""Timers made and changed: which automation runs, and when. Their list is on a page of the scheduler. Source: ours."""

import re
from datetime import datetime
from typing import Any

from console import lists
from console.forms import Form
from console.page_response import PageResponse, see
from console.patterns import in_words
from console.rendering import render
from console.routes import page
from console.visit import Visit
from server.automation import timers
from server.desk import records
from server.errors import HelpdeskError, Invalid, Required
from server.translation import N_, _

URI, TRIGGER = "automation_timer", "svc.trigger.automation.timer"
BASE = "/admin/jobs/timers"
FIELDS = ("name", "automation", "automations_kata", "repeat", "day", "time", "recurring_patterns", "recurring_timezone")
LABELS = {
    "name": N_("Name"),
    "automation": N_("Automation"),
    "automations_kata": N_("Automations"),
    "repeat": N_("Runs"),
    "day": N_("Day"),
    "time": N_("Time"),
    "recurring_patterns": N_("Schedule"),
    "recurring_timezone": N_("Time zone"),
}
ONCE, OWN = "once", "own"
REPEATS = [
    (ONCE, N_("Once")), ("hourly", N_("Every hour")), ("daily", N_("Every day")), ("weekdays", N_("Monday to Friday")),
    ("weekly", N_("Every week")), ("monthly", N_("On the first of every month")), (OWN, N_("By a schedule of its own")),
]  # fmt: skip
DAYS = [
    ("mon", N_("Monday")),
    ("tue", N_("Tuesday")),
    ("wed", N_("Wednesday")),
    ("thu", N_("Thursday")),
    ("fri", N_("Friday")),
    ("sat", N_("Saturday")),
    ("sun", N_("Sunday")),
]
PATTERNS = {
    "daily": "{0} * * *", "weekdays": "{0} * * mon-fri", "weekly": "{0} * * {1}", "monthly": "{0} 1 * *",
}  # fmt: skip
KATA = "automation/run:\n  uri: svc:automation:{}\n"
_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")


@page("GET", f"{BASE}/new", "admin")
def show_new(visit: Visit) -> PageResponse:
    """The form for a new timer."""
    zone = visit.actor.timezone or "UTC"
    return _form(visit, Form.of({"repeat": "daily", "day": "mon", "time": "08:00", "recurring_timezone": zone}), None)


@page("POST", f"{BASE}/new", "admin")
def create(visit: Visit) -> PageResponse:
    """Make a timer."""
    form = Form.sent(visit.form, FIELDS)
    try:
        if not form.get("automation"):
            raise Required(_("automation: choose the one that runs"), field="automation")
        records.create(visit.ctx, URI, _fields(visit, form) | {"automations_kata": KATA.format(form.get("automation"))})
    except HelpdeskError as error:
        return _form(visit, form.refuse(error, names={"next_run_at": "time"}), None)
    visit.tell(_("{name} is created.", name=form.text("name")))
    return see(BASE)


@page("GET", f"{BASE}/{{id}}", "admin")
def show(visit: Visit) -> PageResponse:
    """One timer to be changed."""
    each = lists.record(visit, URI, visit.id)
    once = each["next_run_at"] if not each["is_recurring"] else 0
    at = datetime.fromtimestamp(once, visit.ctx.tz).strftime("%Y-%m-%d %H:%M") if once else ""
    return _form(visit, Form.of({
        "name": each["name"], "automations_kata": timers.text_of(visit.ctx, visit.id), "day": "mon", "time": at,
        "repeat": OWN if each["is_recurring"] else ONCE, "recurring_patterns": each["recurring_patterns"],
        "recurring_timezone": each["recurring_timezone"] or "UTC",
    }), each)  # fmt: skip


@page("POST", f"{BASE}/{{id}}", "admin")
def change(visit: Visit) -> PageResponse:
    """Change a timer."""
    each, form = lists.record(visit, URI, visit.id), Form.sent(visit.form, FIELDS)
    try:
        text = form.get("automations_kata").replace("\r\n", "\n")
        records.update(visit.ctx, URI, visit.id, _fields(visit, form) | {"automations_kata": text})
    except HelpdeskError as error:
        return _form(visit, form.refuse(error, names={"next_run_at": "time"}), each)
    visit.tell(_("{name} is saved.", name=form.text("name")))
    return see(BASE)


@page("POST", f"{BASE}/{{id}}/delete", "admin")
def delete(visit: Visit) -> PageResponse:
    """Remove a timer; its automation stays."""
    each = lists.remove(visit, URI)
    visit.tell(_("{name} is deleted.", name=each["name"]))
    return see(BASE)


def _fields(visit: Visit, form: Form) -> dict[str, Any]:
    """The fields of a timer. Raises Required, Invalid at the field that says when."""
    repeat, fields = form.get("repeat"), {"name": form.text("name")}
    if repeat == ONCE:
        if not form.text("time"):
            raise Required(_("time: say when it runs, such as tomorrow 8:00"), field="time")
        return fields | {"is_recurring": "0", "recurring_patterns": "", "next_run_at": form.text("time")}
    zone = {"recurring_timezone": form.text("recurring_timezone") or "UTC"}
    return fields | {"is_recurring": "1", "recurring_patterns": _patterns(form, repeat)} | zone


def _patterns(form: Form, repeat: str) -> str:
    if repeat == OWN:
        if not form.text("recurring_patterns"):
            raise Required(
                _("recurring_patterns: say when it runs, such as 0 8 * * mon-fri"), field="recurring_patterns"
            )
        return form.get("recurring_patterns").replace("\r\n", "\n")
    if repeat == "hourly":
        return "@hourly"
    clock = _CLOCK.fullmatch(form.text("time"))
    if clock is None:
        raise Invalid(_("time: give a time of the day, such as 08:30"), field="time")
    if repeat not in PATTERNS:
        raise Invalid(_("repeat: choose how often it runs"), field="repeat")
    if repeat == "weekly" and form.get("day") not in dict(DAYS):
        raise Invalid(_("day: choose the day of the week"), field="day")
    return PATTERNS[repeat].format(f"{int(clock[2])} {int(clock[1])}", form.get("day"))


def _form(visit: Visit, form: Form, each: dict[str, Any] | None) -> PageResponse:
    found = records.search(visit.ctx, "automation", records.SearchRequest(q=f"trigger:{TRIGGER} sort:name", limit=500))
    return render(
        visit,
        "timer.html",
        form.status,
        form=form,
        labels=LABELS,
        repeats=REPEATS,
        days=DAYS,
        path=visit.path,
        each=each and {name: each[name] for name in ("id", "name", "is_disabled", "next_run_at", "last_ran_at")},
        automations=[("", N_("Choose one")), *((row["name"], row["name"]) for row in found["results"])],
        trigger=TRIGGER,
        in_words=in_words,
        new=f"{BASE}/new",
    )
