"""The scheduler: jobs that wait, run and failed, how they went, what runs from time to time, and timers of
automations."""

import re
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from console.html import ui
from console.html.rendering import render
from console.html.ui import PAGE_ROWS
from console.http.page_response import PageResponse, again, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import lookup, worklist
from console.lists.worklist import BulkAction, Worklist, declare
from console.lists.worklist_columns import ListColumn
from server import log
from server.automation.recurrence_words import in_words
from server.errors import HelpdeskError, Invalid, NotFound
from server.jobs import job_queue
from server.records import records
from server.translation import N_, N_ngettext, _
from server.upkeep import scheduled_jobs

BASE, RUNS, SCANS, TIMERS = "/admin/jobs", "/admin/jobs/runs", "/admin/jobs/scans", "/admin/jobs/timers"
TIMER = "automation_timer"
TABS = [(BASE, N_("Jobs")), (RUNS, N_("History")), (SCANS, N_("Maintenance tasks")), (TIMERS, N_("Timers"))]
BADGES = {"running": "info", "due": "warn", "waiting": "muted", "failed": "err"}
STATES = [
    ("", N_("All states")),
    ("running", N_("Running")),
    ("due", N_("Due")),
    ("waiting", N_("Waiting")),
    ("failed", N_("Failed")),
]
# What jobs of a kind do; another one is shown by its name alone.
DOES = {
    "backup": N_("Creates a backup of the database"),
    "backup.verify": N_("Reads a whole backup to verify it"),
    "behavior.run": N_("Runs a scheduled behavior"),
    "http.request": N_("Retries a request of an automation"),
    "login.address": N_("Sends the emails about a new sign-in address"),
    "login.locked": N_("Notifies a worker that sign-in was locked"),
    "csv.import": N_("Checks or imports the rows of a large CSV file"),
    "database.check": N_("Checks the whole database for damage"),
    "event": N_("Runs automations that wait for an event"),
    "mail.send": N_("Sends an email"),
    "mailbox.check": N_("Fetches email from a mailbox"),
    "notification.mail": N_("Emails a worker their unread notifications"),
    "password.link": N_("Sends a link for choosing a password"),
    "service.look": N_("Checks whether the mail servers can be reached"),
    "timer": N_("Runs an automation timer"),
}
# What is done by what runs from time to time, by its name.
SCANS_DO = {
    N_("old idempotency keys"): N_("Deletes the keys of API requests, and their responses, after a day."),
    N_("values of last runs"): N_(
        "Stores the input of the last run of each automation, so that you can try a change with it."
    ),
    N_("old outgoing deliveries"): N_("Deletes finished deliveries of outgoing webhooks after 14 days."),
    N_("old changes"): N_("Deletes entries of the change log that are older than the setting allows."),
    N_("automatic answers"): N_("Forgets automatic replies sent more than an hour ago."),
    N_("automation resources that expired"): N_("Removes them."),
    N_("automation timers"): N_("Adds a job for each one that is due."),
    N_("backups"): N_("Adds a job if a scheduled backup is missing."),
    N_("counts of automatic mail"): N_("Removes counts older than an hour."),
    N_("databases that restores put aside"): N_("Removes those that no retention rule for backups keeps."),
    N_("old undo of merges"): N_("Removes data older than a day."),
    N_("old undo of tickets"): N_("Removes data older than a day."),
    N_("old files to be imported"): N_("Deletes files that were uploaded for import but never imported."),
    N_("deleted custom fields"): N_("Removes fields that were deleted a week ago, with their values."),
    N_("deleted tickets"): N_("Removes tickets that were deleted long enough ago, with their messages."),
    N_("drafts that are due"): N_("Sends drafts that were scheduled, and tries again to send those that failed."),
    N_("gauges"): N_("Records the current value of each gauge."),
    N_("listener for mail that failed"): N_("Reopens it."),
    N_("mailboxes to look at"): N_("Adds a job for each one that is due."),
    N_("mail servers to look at"): N_("Adds a job if the last check was long ago."),
    N_("mail without an id"): N_("Forgets email that is too old to arrive twice."),
    N_("messages that nobody gets"): N_("Removes old messages from queues, and returns others to them."),
    N_("notes"): N_("Records when workers and tokens were last seen."),
    N_("what hung on deleted records"): N_(
        "Removes messages, comments and files of deleted records that had many of them."
    ),
    N_("words of older records"): N_("Adds them to new full-text indexes until they are complete."),
    N_("old automation log entries"): N_("Removes them."),
    N_("old continuations"): N_("Removes runs that nothing resumed."),
    N_("old accepted forms"): N_("Forgets forms that were processed a month ago."),
    N_("old drafts of forms"): N_("Removes them."),
    N_("old files to be imported"): N_("Removes them."),
    N_("old webhook deliveries"): N_("Removes deliveries that no retention rule keeps."),
    N_("files of webhooks that hang on nothing"): N_("Removes files that no automation attached within a day."),
    N_("old webhook tokens"): N_("Expires addresses that were replaced."),
    N_("records due to open"): N_("Opens tickets and tasks whose reopen date has come."),
    N_("answers of workers"): N_("Forgets email replies that are too old to arrive twice."),
    N_("signed names that were used"): N_(
        "Removes used names of emails to workers that are too old to be accepted again."
    ),
    N_("service targets"): N_("Assigns targets to open tickets, and notifies workers of those that are due."),
    N_("reminders due"): N_("Notifies their workers."),
    N_("sessions that are over"): N_("Removes them."),
    N_("spam lessons"): N_("Learns from what workers marked which email is spam."),
    N_("stored values that expired"): N_("Removes them."),
    N_("tokens of no use"): N_("Removes tokens that expired long ago."),
}
DAY_SECONDS = 86400
REFRESH_SECONDS = 2  # wait before the page of an unfinished job reloads itself
MAX_LINES = 100  # lines of the log about one job


@page("GET", f"{BASE}/{{id}}", "admin")
def show_one(visit: Visit) -> PageResponse:
    """A job that waits or runs, and its past runs. Raises NotFound if it left no trace."""
    job = scheduled_jobs.find_job(visit.ctx, visit.id)
    runs, total = scheduled_jobs.runs(visit.ctx, limit=PAGE_ROWS, job_id=visit.id)
    if job is None and not runs:
        raise NotFound(_("Job {id} no longer exists: it was dropped, or its history was deleted.", id=visit.id))
    kind = runs[0].kind if job is None else job.kind
    pattern = re.compile(rf"\bjob={visit.id}\b")
    lines = [each for each in log.recent_lines() if pattern.search(each.text) and each.at >= visit.now - DAY_SECONDS]
    page = render(
        visit,
        "job.html",
        job=job,
        runs=runs,
        total=total,
        kind=kind,
        does=DOES.get(kind, kind),
        badges=BADGES,
        most=job_queue.MAX_ATTEMPTS,
        lines=[each.text for each in lines[:MAX_LINES]],
        id=visit.id,
        tabs=TABS,
    )
    return again(page, REFRESH_SECONDS) if job is not None and job.state in ("due", "running") else page


@page("POST", f"{BASE}/{{id}}/run", "admin")
def run(visit: Visit) -> PageResponse:
    """Starts a job at once; its page shows the progress."""
    scheduled_jobs.run_now(visit.ctx, visit.id)
    return see(f"{BASE}/{visit.id}")


@page("POST", f"{BASE}/{{id}}/drop", "admin")
def drop(visit: Visit) -> PageResponse:
    """Removes a job without running it."""
    kind = scheduled_jobs.drop(visit.ctx, visit.id)
    visit.flash(_("Job {id} ({kind}) dropped. The audit log has its input.", id=visit.id, kind=kind))
    return see(BASE)


def _again(visit: Visit, row: Mapping[str, Any], more: Any) -> str:
    """When a timer runs again, in words."""
    if not row["is_recurring"]:
        return ui.muted(N_("once"))
    words = in_words(row["recurring_patterns"])
    return Markup("<div>{} {}<br>{}</div>").format(
        words, ui.muted(row["recurring_timezone"] or _("UTC")), ui.code(row["recurring_patterns"])
    )


def _buttons(visit: Visit, row: Mapping[str, Any], more: Any) -> str:
    """Run it, and switch it on or off."""
    question, path = _("Run {name} now? Its automations run for real.", name=row["_label"]), f"{TIMERS}/{row['id']}"
    run = ui.button(visit, f"{path}/run", N_("Run now"), "small", question)
    is_off = bool(row["is_disabled"])
    label = N_("Switch on") if is_off else N_("Switch off")
    return ui.row(run, ui.button(visit, f"{path}/switch", label, "link", off="0" if is_off else "1"))


TIMER_LIST = declare(
    Worklist(
        TIMER,
        TIMERS,
        N_("Timers"),
        ("_label", "state", "next_run_at", "last_ran_at", "again", "run"),
        own=(
            ListColumn(
                "state",
                N_("State"),
                lambda visit, row, more: ui.badge("muted", _("off")) if row["is_disabled"] else ui.badge("ok", _("on")),
                "isDisabled",
                value=lambda row, more: "off" if row["is_disabled"] else "on",
            ),
            ListColumn("again", N_("Repeats"), _again, value=lambda row, more: row["recurring_patterns"]),
            ListColumn("run", N_("Action"), _buttons, value=lambda row, more: ""),
        ),
        row=TIMERS + "/{id}",
        sort="name",
        placeholder=N_("name, or isRecurring:yes"),
        quick=((N_("Off"), "isDisabled:yes"),),
        actions=(
            BulkAction(
                "off",
                N_("Switch off"),
                {"is_disabled": "1"},
                undo="on",
                says=N_ngettext("Timer switched off.", "{count} timers switched off."),
            ),
            BulkAction(
                "on",
                N_("Switch on"),
                {"is_disabled": "0"},
                undo="off",
                says=N_ngettext("Timer switched on.", "{count} timers switched on."),
            ),
            BulkAction(
                "delete",
                N_("Delete"),
                deletes=True,
                confirm=N_("Delete the selected timers? Their automations are not deleted."),
                says=N_ngettext("Timer deleted.", "{count} timers deleted."),
            ),
        ),
        subtitle=N_("Automations that run at set times"),
        none=N_("No timer matches."),
        empty=N_("There are no timers yet. A timer runs an automation at a set time, once or repeatedly."),
        new=(f"{TIMERS}/new", N_("New timer")),
        tabs=tuple(TABS),
        tabs_label=N_("Scheduler"),
    )
)


@page("GET", TIMERS, "admin")
def show_timers(visit: Visit) -> PageResponse:
    """All timers, with when they run."""
    return worklist.page(visit, TIMER_LIST, "timers.html")


@page("POST", f"{TIMERS}/{{id}}/run", "admin")
def run_timer(visit: Visit) -> PageResponse:
    """Runs a timer now; its schedule continues from there."""
    timer = lookup.record(visit, TIMER, visit.id)
    try:
        if timer["is_disabled"]:
            raise Invalid(_("{name} is switched off; switch it on first", name=timer["name"]))
        records.update(visit.ctx, TIMER, visit.id, {"next_run_at": str(visit.now)})
        visit.flash(_("{name} is due now. The automation log shows the result.", name=timer["name"]))
    except HelpdeskError as error:
        visit.flash(error.message)
    return see(TIMERS)


@page("POST", f"{TIMERS}/{{id}}/switch", "admin")
def switch_timer(visit: Visit) -> PageResponse:
    """Switch a timer on or off."""
    timer = lookup.record(visit, TIMER, visit.id)
    is_off = visit.form.flag("off")
    records.update(visit.ctx, TIMER, visit.id, {"is_disabled": "1" if is_off else "0"})
    off, on = (
        _("{name} switched off. It no longer runs.", name=timer["name"]),
        _("{name} switched on.", name=timer["name"]),
    )
    visit.flash(off if is_off else on, f"{TIMERS}/{visit.id}/switch", off="0" if is_off else "1")
    return see(TIMERS)
