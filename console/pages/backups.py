"""Backups: which there are and whether they are sound, making one, sending and fetching one, and putting one back.

Source: ours."""

from dataclasses import dataclass
from pathlib import Path

from console.forms import Form
from console.page_response import PageResponse, again, file, see
from console.rendering import render
from console.routes import SMALL_FORM_BYTES, page
from console.ui import bytes_text
from console.visit import Visit
from server.errors import HelpdeskError, Invalid
from server.settings import Settings
from server.translation import N_, _, listed, ngettext
from server.upkeep import backups, restoring, scheduled_jobs
from server.upkeep.backups import MAX_UPLOAD_BYTES, Backup, BackupCheck

BASE = "/admin/backups"
RESTORE = f"{BASE}/restore"
MAX_SHOWN = 200  # of the newest
WARN_SECONDS = 7 * 86400  # without a backup
MAX_TIMES = 6  # of a day, told one by one
AGAIN_SECONDS = 2  # after which a page that shows how far something is loads itself again
KEPT = (
    ("backup_keep_last", N_("the newest {count}")),
    ("backup_keep_days", N_("the last one of {count} days")),
    ("backup_keep_weeks", N_("the last one of {count} weeks")),
    ("backup_keep_months", N_("the last one of {count} months")),
)
STAGES = {
    "copying": N_("The backup is copied beside the database. The service goes on meanwhile."),
    "checking": N_("All of the copy is read, to see that it is sound. The service goes on meanwhile."),
    "stopping": N_("What is under way is finished; then the service is away for a moment."),
}
FIELDS, LABELS = ("typed",), {"typed": N_("Name of the backup"), "file": N_("File")}


@dataclass(frozen=True)
class BackupEntry:
    """A backup as it is shown. name: of its file. path: of its page. size: in words. look: None when it was not read as
    it is now. is_read: whether it is to be read just now."""

    name: str
    path: str
    at: int
    size: str
    look: BackupCheck | None
    is_read: bool
    is_sent: bool


@page("GET", BASE, "admin")
def show(visit: Visit) -> PageResponse:
    """All backups, the newest first."""
    return _all(visit, Form())


@page("POST", BASE, "proven admin")
def make(visit: Visit) -> PageResponse:
    """Back up now; the scheduler does it, while the service goes on."""
    backups.start(visit.ctx)
    visit.tell("A backup is being made.")
    return see(BASE)


@page("POST", f"{BASE}/set-up", "proven admin")
def set_up(visit: Visit) -> PageResponse:
    """Make them from now on, inside the data folder, and the first one now."""
    backups.set_up(visit.ctx)
    visit.tell("Backups are set up. The first one is being made.")
    return see(BASE)


@page("POST", f"{BASE}/send", "proven admin", form_bytes=MAX_UPLOAD_BYTES + SMALL_FORM_BYTES)
def send(visit: Visit) -> PageResponse:
    """Put a backup of one's own into the folder."""
    form = Form({"file": ""})
    try:
        upload = visit.form.upload("file")
        if upload is None or not upload.content:
            raise Invalid(_("choose a backup first"), field="file")
        made = backups.keep_sent(visit.ctx, upload.content)
    except HelpdeskError as error:
        where = error if error.details.get("field") else Invalid(error.message, field="file")
        return _all(visit, form.refuse(where))
    visit.tell(_("It is sound, and kept as {name}.", name=made.path.name))
    return see(_path(made))


@page("GET", RESTORE, "admin")
def show_restore(visit: Visit) -> PageResponse:
    """How far the last restore is."""
    last = restoring.last(visit.ctx)
    shown = render(visit, "restore.html", last=last, stages=STAGES)
    return again(shown, AGAIN_SECONDS) if last is not None and last.is_under_way else shown


@page("GET", f"{BASE}/{{name}}", "admin")
def show_one(visit: Visit) -> PageResponse:
    """One backup: what it holds, and what can be done with it."""
    return _one(visit, Form.of({"typed": ""}))


@page("POST", f"{BASE}/{{name}}/verify", "admin")
def verify(visit: Visit) -> PageResponse:
    """Let the scheduler read all of it."""
    name = visit.arguments["name"]
    backups.verify(visit.ctx, name)
    return see(f"{BASE}/{name}")


@page("GET", f"{BASE}/{{name}}/download", "proven admin")
def download(visit: Visit) -> PageResponse:
    """The file. Who asks for its headers alone takes nothing out, and nothing is told of it."""
    take = backups.find_backup if visit.request.method == "HEAD" else backups.fetched
    found = take(visit.ctx, visit.arguments["name"])
    return file(found.path, "application/octet-stream", found.bytes)


@page("POST", f"{BASE}/{{name}}/remove", "proven admin")
def remove(visit: Visit) -> PageResponse:
    """Remove it for good."""
    backups.remove(visit.ctx, visit.arguments["name"])
    visit.tell(_("{name}.db is removed.", name=visit.arguments["name"]))
    return see(BASE)


@page("POST", f"{BASE}/{{name}}/restore", "proven admin")
def restore(visit: Visit) -> PageResponse:
    """Put it in the place of the database, once its name was typed."""
    form = Form.sent(visit.form, FIELDS)
    try:
        restoring.start(visit.ctx, visit.arguments["name"], form.get("typed"))
    except HelpdeskError as error:
        return _one(visit, form.refuse(error))
    return see(RESTORE)


def _all(visit: Visit, form: Form) -> PageResponse:
    ctx, settings, wrong = visit.ctx, visit.service.settings, ""
    found: list[Backup] = []
    looks: dict[str, BackupCheck] = {}
    try:
        found, looks = backups.list_all_backups(settings), backups.looks(ctx)
        rows = [_listed(each, looks, set()) for each in found[:MAX_SHOWN]]
    except (HelpdeskError, OSError) as error:  # one may be removed while they are listed
        wrong = (
            error.message
            if isinstance(error, HelpdeskError)
            else _("The folder has changed: {reason}.", reason=error.strerror)
        )
        rows = []
    job, last = scheduled_jobs.only(ctx, backups.KIND), restoring.last(ctx)
    is_made = job is not None and job.state in ("due", "running") and not job.error
    own = next((each for each in found if not each.is_sent), None)
    shown = render(
        visit, "backups.html", form.status, form=form, labels=LABELS, rows=rows, wrong=wrong,
        folder=settings.backup_folder, kept=_kept(settings), made=told_times(settings), next_at=_next(visit), job=job,
        progress=backups.progress(ctx), failure=backups.failure(ctx), is_same_disk=_is_same_disk(settings), last=last,
        is_late=own is None or own.at < visit.now - WARN_SECONDS, data=str(Path(settings.data).absolute()),
        steps=sorted(backups.steps(ctx).items()), shown=MAX_SHOWN, most=bytes_text(MAX_UPLOAD_BYTES),
    )  # fmt: skip
    return again(shown, AGAIN_SECONDS) if is_made and not form.is_wrong else shown


def _one(visit: Visit, form: Form) -> PageResponse:
    found = backups.find_backup(visit.ctx, visit.arguments["name"])
    each = _listed(found, backups.looks(visit.ctx), backups.being_verified(visit.ctx))
    last = restoring.last(visit.ctx)
    step = backups.steps(visit.ctx).get(each.name, "")
    shown = render(visit, "backup.html", form.status, form=form, labels=LABELS, each=each, last=last, step=step)
    return again(shown, AGAIN_SECONDS) if each.is_read and not form.is_wrong and not form.get("typed") else shown


def _listed(each: Backup, looks: dict[str, BackupCheck], read: set[str]) -> BackupEntry:
    name = each.path.name
    return BackupEntry(name, _path(each), each.at, bytes_text(each.bytes), looks.get(name), name in read, each.is_sent)


def _path(each: Backup) -> str:
    return f"{BASE}/{each.path.stem}"


def _next(visit: Visit) -> int:
    settings = visit.service.settings
    return backups.slot_of(visit.now, settings) + settings.backup_hours * backups.HOUR_SECONDS


def told_times(settings: Settings) -> str:
    """When backups are made, in words: at fixed times, whenever the last one was."""
    hours, at = settings.backup_hours, str(settings.backup_at)
    first, minutes = int(at[:2]), at[2:]
    if hours % 24 == 0:
        return ngettext("every day at {time} UTC", "every {count} days at {time} UTC", hours // 24, time=at)
    if 24 % hours == 0 and 24 // hours <= MAX_TIMES:
        times = [f"{each:02}{minutes}" for each in sorted((first + step) % 24 for step in range(0, 24, hours))]
        return _("every day at {times} UTC", times=listed(times))
    return ngettext(
        "every hour, counted from {time} UTC", "every {count} hours, counted from {time} UTC", hours, time=at
    )


def _kept(settings: Settings) -> str:
    """The rules of what is kept, in words."""
    rules = [_(told, count=getattr(settings, name)) for name, told in KEPT if getattr(settings, name)]
    return ", ".join(rules)


def _is_same_disk(settings: Settings) -> bool:
    """Whether one disk holds the backups and the database."""
    try:
        return Path(settings.backup_folder).stat().st_dev == Path(settings.data).stat().st_dev
    except OSError:  # it is made with the first backup
        return False
