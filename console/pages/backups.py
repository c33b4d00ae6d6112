"""Backups: which there are, when the next one is made, making one now. Putting one back is for the command line, since
no server may run then. Source: ours."""

from dataclasses import dataclass
from pathlib import Path

from console.rendering import render
from console.routes import page
from console.shown import Shown, see
from console.ui import bytes_text
from console.visit import Visit
from server.desk import backups, scheduled
from server.errors import HelpdeskError
from server.settings import Settings

BASE = "/admin/backups"
MAX_SHOWN = 200  # of the newest
KEPT = (("backup_keep_last", "the newest {}"), ("backup_keep_days", "the last one of {} days"),
        ("backup_keep_weeks", "the last one of {} weeks"), ("backup_keep_months", "the last one of {} months"))


@dataclass(frozen=True)
class Listed:
    """A backup as it is shown. size: in words."""

    name: str
    at: int
    size: str


@page("GET", BASE, "admin")
def show(visit: Visit) -> Shown:
    """All backups, the newest first."""
    settings, wrong = visit.service.settings, ""
    found: list[Listed] = []
    try:
        found = [
            Listed(each.path.name, each.at, bytes_text(each.bytes)) for each in backups.listed(settings)[:MAX_SHOWN]
        ]
    except (HelpdeskError, OSError) as error:  # one may be removed while they are listed
        wrong = error.message if isinstance(error, HelpdeskError) else f"The folder has changed: {error.strerror}."
    return render(
        visit, "backups.html", found=found, wrong=wrong, folder=settings.backup_folder, kept=_kept(settings),
        hours=settings.backup_hours, next_at=_next(visit), job=scheduled.only(visit.ctx, backups.KIND),
        is_same_disk=_is_same_disk(settings), data=str(Path(settings.data).absolute()), shown=MAX_SHOWN,
    )  # fmt: skip


@page("POST", BASE, "proven admin")
def make(visit: Visit) -> Shown:
    """Make one now; the scheduler does it, while the service goes on."""
    backups.start(visit.ctx)
    visit.tell("A backup is being made. Load this page again to see it.")
    return see(BASE)


def _next(visit: Visit) -> int:
    settings = visit.service.settings
    return backups.slot_of(visit.now, settings) + settings.backup_hours * backups.HOUR_SECONDS


def _kept(settings: Settings) -> str:
    """The rules of what is kept, in words."""
    rules = [told.format(getattr(settings, name)) for name, told in KEPT if getattr(settings, name)]
    return ", ".join(rules)


def _is_same_disk(settings: Settings) -> bool:
    """Whether one disk holds the backups and the database."""
    try:
        return Path(settings.backup_folder).stat().st_dev == Path(settings.data).stat().st_dev
    except OSError:  # it is made with the first backup
        return False
