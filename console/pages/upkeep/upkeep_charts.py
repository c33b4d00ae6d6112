"""Charts of the maintenance pages: jobs by the hour, waiting jobs, and the use of storage."""

from datetime import datetime
from pathlib import Path

from markupsafe import Markup

from console.html import charts
from console.html.charts import Series
from console.html.ui import bytes_text
from console.http.visit import Visit
from server.errors import HelpdeskError
from server.translation import N_, _
from server.upkeep import backups, health, scheduled_jobs

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
    settings = visit.service.settings
    whole, files = health.stored_bytes(visit.service)
    rows = [(N_("Records and indexes"), max(whole - files, 0), ""), (N_("Files and original emails"), files, "")]
    if settings.backup_folder and visit.service.store.path is not None:
        try:
            size = sum(each.bytes for each in backups.list_all_backups(settings))
        except HelpdeskError:  # its own page says why
            size = 0
        rows.append((N_("Backups"), size, "/admin/backups"))
    return charts.rows(
        _("Storage, {free} free", free=bytes_text(health.free_bytes(Path(settings.data)))), rows, bytes_text
    )
