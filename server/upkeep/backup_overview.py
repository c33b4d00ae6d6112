"""The state of backups at a glance: which there are, when they are made and kept, and what goes wrong."""

from dataclasses import field
from pathlib import Path

from server.context import Context
from server.dataclass import dataclass
from server.errors import HelpdeskError
from server.translation import _
from server.upkeep import backup_plan, backups, restoring, scheduled_jobs
from server.upkeep.backups import Backup, BackupFailure
from server.upkeep.restoring import Restore
from server.upkeep.scheduled_jobs import ScheduledJob

LATE_SECONDS = 7 * 86400  # without a backup of the service until a warning


@dataclass(frozen=True)
class BackupOverview:
    """trouble: why backups cannot be listed, "" if they can. folder: "" while backups are not set up. schedule,
    retention: in words. next_at: Unix seconds. job: that makes one; progress: bytes copied, and of how many. failure:
    of the last one. is_late: whether the service has made none for LATE_SECONDS. restore: the last one. data: the
    folder of the data. steps: what is done with backups that are verified."""

    stored: list[Backup]
    trouble: str
    folder: str
    schedule: str
    retention: str
    next_at: int
    job: ScheduledJob | None
    progress: tuple[int, int] | None
    failure: BackupFailure | None
    is_same_disk: bool
    is_late: bool
    restore: Restore | None
    data: str
    steps: list[tuple[str, str]] = field(default_factory=list)

    @property
    def is_made(self) -> bool:
        """Whether a backup is being made."""
        return self.job is not None and self.job.state in ("due", "running") and not self.job.error


def overview(ctx: Context) -> BackupOverview:
    """Returns the state of backups. Raises AdminOnly."""
    settings, stored, trouble = ctx.service.settings, list[Backup](), ""
    try:
        stored = backups.list_all_backups(settings)
    except HelpdeskError as error:
        trouble = error.message
    except OSError as error:  # one may be removed while they are listed
        trouble = _("The folder has changed: {reason}.", reason=error.strerror)
    own = next((each for each in stored if not each.is_sent), None)
    return BackupOverview(
        stored,
        trouble,
        settings.backup_folder,
        backup_plan.schedule_text(settings),
        backup_plan.retention_text(settings),
        backup_plan.next_at(settings, ctx.now),
        scheduled_jobs.find_only_job(ctx, backups.KIND),
        backups.progress(ctx),
        backups.failure(ctx),
        backup_plan.is_on_same_disk(settings),
        own is None or own.at < ctx.now - LATE_SECONDS,
        restoring.last(ctx),
        str(Path(settings.data).absolute()),
        sorted(backups.steps(ctx).items()),
    )
