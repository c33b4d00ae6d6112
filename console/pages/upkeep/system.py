"""The service itself: whether it is well, what waits, its settings, and the log of who did what."""

from console.html.rendering import render
from console.html.ui import address
from console.http import live
from console.http.page_response import PageResponse, see
from console.http.routes import page
from console.http.visit import Visit
from console.lists import worklist
from console.lists.cells import DrawnColumns
from console.lists.worklist import Worklist, declare
from console.pages.upkeep import upkeep_charts
from server import log
from server import settings as table
from server.context import Context
from server.errors import Invalid, nearest
from server.record_types.shared.points import POINTS
from server.records import activity, live_settings
from server.translation import N_, _
from server.upkeep import backups, database_check, health, scheduled_jobs, service_report, verdict
from server.web import request_findings
from server.web.streams import LOG_CHANNEL

BASE, SETTINGS, AUDIT, CHECKUP, LOG = (
    "/admin/system",
    "/admin/system/settings",
    "/admin/system/audit",
    "/admin/system/checkup",
    "/admin/system/log",
)
TABS = [
    (BASE, N_("System")),
    (CHECKUP, N_("Check-up")),
    (SETTINGS, N_("Settings")),
    (AUDIT, N_("Audit log")),
    (LOG, N_("Log")),
]
# The list of what waits, by the name of its number.
WAITING_LISTS = {
    "jobs_due": "/admin/jobs?state=due",
    "jobs_later": "/admin/jobs?state=waiting",
    "jobs_failed": "/admin/jobs?state=failed",
    "mail_queued": "/admin/mail/outbox?state=queued",
    "mail_failing": "/admin/mail/outbox?state=failing",
    "mail_parked": "/admin/mail/outbox?state=parked",
    "mail_held": "/admin/mail/outbox?state=held",
    "mail_given_up": "/admin/mail/outbox?state=failed",
}
MAX_LINES, MAX_TROUBLES = 180, 5  # lines of the log, newest first; lines about problems, beside the health
SEES_LOG = "see the log"  # what administrators alone may
LINE_BADGES = {"debug": "muted", "info": "muted", "warning": "warn", "error": "err", "critical": "err"}
MAX_EVENTS = 500  # in the list to choose from


@page("GET", BASE, "admin")
def show(visit: Visit) -> PageResponse:
    """How the service is, versions, the database, what waits."""
    watched = health.running_watch(visit.service)
    backlog, facts = health.waiting(visit.ctx), service_report.facts(visit.ctx, watched)
    return render(
        visit,
        "system.html",
        tabs=TABS,
        judged=visit.verdict,
        facts=facts,
        started_at=watched.started_at,
        waiting=[
            (label, getattr(backlog, name), WAITING_LISTS.get(name, "")) for name, label in service_report.WAITING
        ],
        backlog=backlog,
        running=watched.jobs_running(),
        look=database_check.last(visit.ctx),
        job=scheduled_jobs.find_only_job(visit.ctx, database_check.KIND),
        report=service_report.report(facts, watched.look(health.TRUSTED_SECONDS).checks(), backlog),
        troubles=log.matching_lines("warning", "")[:MAX_TROUBLES],
        badges=LINE_BADGES,
        names=log.NAMES,
        storage=upkeep_charts.storage(visit),
        is_file=backups.can_be_made(visit.service),
    )


@page("POST", f"{BASE}/database", "admin")
def check_database(visit: Visit) -> PageResponse:
    """Checks the whole database in the background."""
    database_check.start(visit.ctx)
    visit.flash(_("The database is being read. Reload this page to see the result."))
    return see(BASE)


@page("GET", CHECKUP, "admin")
def show_checkup(visit: Visit) -> PageResponse:
    """Every part of the setup, with what to do; mail servers are asked, too."""
    visit.verdict = verdict.refresh(visit.service, visit.now)
    return render(
        visit,
        "checkup.html",
        tabs=TABS,
        judged=visit.verdict,
        of_request=list(request_findings.of_request(visit.request, visit.service.base_url)),
    )


@page("GET", LOG, "admin")
def show_log(visit: Visit) -> PageResponse:
    """The last lines of the log. Raises Invalid for an unknown level."""
    level, q = _asked_of_log(visit)
    lines = log.matching_lines(level, q)
    return render(
        visit,
        "system_log.html",
        tabs=TABS,
        found=lines[:MAX_LINES],
        total=len(lines),
        level=level,
        q=q,
        levels=[("", N_("All levels")), *((name, _("{level} and above", level=name)) for name in log.LEVELS)],
        badges=LINE_BADGES,
        names=log.NAMES,
        is_live=visit.query.flag("live"),
        shown_level=visit.service.settings.log_level,
        last=_newest(level, q),
        latest=address(f"{LOG}/latest", level=level, q=q),
    )


@page("GET", f"{LOG}/latest", "admin")
def show_latest(visit: Visit) -> PageResponse:
    """Returns when the newest line was logged, or a stream of these times. Raises Invalid."""
    level, q = _asked_of_log(visit)

    def newest(ctx: Context) -> int:
        ctx.require_admin(SEES_LOG)
        return _newest(level, q)

    return live.latest(visit, LOG_CHANNEL, newest, (level, q))


def _asked_of_log(visit: Visit) -> tuple[str, str]:
    """Level and text that the lines are narrowed down to."""
    level = visit.query.text("level", "")
    if level and level not in log.LEVELS:
        raise Invalid(
            _(
                "level: '{level}' is not a valid level{LEVELS}; use one of {LEVELS2}",
                level=level[:60],
                LEVELS=nearest(level, log.LEVELS),
                LEVELS2=", ".join(log.LEVELS),
            )
        )
    return level, visit.query.text("q", "").strip()


def _newest(level: str, q: str) -> int:
    """The time of the newest matching line, in microseconds; 0 for none. Lines about this page do not count, since each
    look would be news."""
    return next((int(each.at * 1_000_000) for each in log.matching_lines(level, q) if LOG not in each.text), 0)


@page("GET", SETTINGS, "admin")
def show_settings(visit: Visit) -> PageResponse:
    """All settings of the process: meaning, value, and source."""
    q = visit.query.text("q", "").strip().lower()
    rows = [each for each in live_settings.shown_settings(visit.service) if each.fits(q)]
    return render(visit, "settings.html", tabs=TABS, rows=rows, q=q, file=table.FILE_NAME, prefix=table.PREFIX)


_column = DrawnColumns("audit")
AUDIT_LIST = declare(Worklist(
    "activity_log", AUDIT, N_("Audit log"), ("created", "who", "_label", "event"),
    own=(
        _column("created", N_("When"), "created", is_time=True),
        _column("who", N_("Who"), value=lambda row, more: activity.actor_name(row["params"])),
        _column("_label", N_("What")),
        _column("event", N_("Event"), value=lambda row, more: row["activity_point"]),
    ),
    sort="-created,-id", subtitle=N_("Who did what, and when"), none=N_("No matches."),
    empty=N_("No activity yet."),

    placeholder=N_('activity:record.deleted actor:worker created:"-1 day to now"'),
    quick=((N_("Administrative actions"), "administrative:yes"),), tabs=tuple(TABS), tabs_label=N_("System"),
))  # fmt: skip


@page("GET", AUDIT, "admin")
def show_audit(visit: Visit) -> PageResponse:
    """The activity log, newest first."""
    events = sorted((point.name, point.id) for point in POINTS.values())[:MAX_EVENTS]
    return worklist.page(visit, AUDIT_LIST, "audit.html", events=events)
