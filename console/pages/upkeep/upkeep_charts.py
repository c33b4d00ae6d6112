"""Charts of the maintenance pages: jobs by the hour, waiting jobs, and the use of storage."""

from datetime import datetime

from markupsafe import Markup

from console.html import charts
from console.html.charts import Series
from console.html.ui import bytes_text
from console.http.visit import Visit
from server.translation import N_, _
from server.upkeep import scheduled_jobs, service_report

HOURS, HOUR_SECONDS = 24, 3600


def jobs(visit: Visit) -> list[Markup]:
    """The number of finished jobs in each of the last hours, and of waiting jobs by kind; none if there are no jobs."""
    since = visit.now - visit.now % HOUR_SECONDS - (HOURS - 1) * HOUR_SECONDS
    done, failed = scheduled_jobs.by_hour(visit.ctx, since, HOURS)
    markup = []
    if any(done) or any(failed):
        places = [_hour(visit, since + place * HOUR_SECONDS) for place in range(HOURS)]
        series = [Series(N_("Done"), done), Series(N_("Failed"), failed, "err")]
        markup.append(charts.columns(N_("Jobs per hour"), places, series, N_("Hour")))
    waiting = scheduled_jobs.kinds_waiting(visit.ctx)
    if waiting:
        rows = [(kind, count, f"/admin/jobs?kind={kind}") for kind, count in waiting]
        markup.append(charts.rows(N_("Unfinished jobs"), rows))
    return markup


def _hour(visit: Visit, at: int) -> str:
    return f"{datetime.fromtimestamp(at, visit.ctx.tz):%H:%M}"


def storage(visit: Visit) -> Markup:
    """The space that the database, the files in it and the backups take, and the free space."""
    parts = service_report.storage(visit.service)
    rows = [(N_("Records and indexes"), parts["records"], ""), (N_("Files and original emails"), parts["files"], "")]
    if "backups" in parts:
        rows.append((N_("Backups"), parts["backups"], "/admin/backups"))
    return charts.rows(_("Storage, {free} free", free=bytes_text(parts["free"])), rows, bytes_text)
