"""Backups: which there are and whether they are sound, making one, sending and fetching one, and putting one back."""

from pathlib import Path
from typing import Any

from markupsafe import Markup

from console.html import ui
from console.html.form import Form
from console.html.rendering import render
from console.html.ui import bytes_text
from console.http.page_response import PageResponse, again, file, see
from console.http.routes import SMALL_FORM_BYTES, page
from console.http.visit import Visit
from console.lists import worklist
from console.lists.row_view import RowView
from console.lists.rows import Row, RowPage, RowQuery, RowSource, of_all
from console.lists.worklist import BulkAction, Worklist, declare
from console.lists.worklist_columns import ListColumn
from server.dataclass import dataclass
from server.errors import HelpdeskError, Invalid
from server.settings import Settings
from server.translation import N_, N_ngettext, _, listed, ngettext
from server.upkeep import backups, restoring, scheduled_jobs
from server.upkeep.backups import MAX_UPLOAD_BYTES, Backup, BackupCheck

BASE = "/admin/backups"
RESTORE = f"{BASE}/restore"
WARN_SECONDS = 7 * 86400  # time without a backup until a warning
MAX_TIMES = 6  # times of a day that are listed
AGAIN_SECONDS = 2  # until a page with progress reloads itself
KEPT = (
    ("backup_keep_last", N_("the newest {count}")),
    ("backup_keep_days", N_("the last of each of {count} days")),
    ("backup_keep_weeks", N_("the last of each of {count} weeks")),
    ("backup_keep_months", N_("the last of each of {count} months")),
)
STAGES = {
    "copying": N_("The backup is copied next to the database. The service keeps running."),
    "checking": N_("The whole copy is read to verify it. The service keeps running."),
    "stopping": N_("Running work is finished; then the service is unavailable for a moment."),
}
FIELDS, LABELS = ("typed",), {"typed": N_("Name of the backup"), "file": N_("File")}


@dataclass(frozen=True)
class BackupEntry:
    """A backup for display. name: of its file. path: of its page. size: in words. look: None if it has not been
    verified in its present state. is_read: whether it is about to be verified."""

    name: str
    path: str
    at: int
    bytes: int
    size: str
    look: BackupCheck | None
    is_read: bool
    is_sent: bool


@page("GET", BASE, "admin")
def show(visit: Visit) -> PageResponse:
    """All backups, the newest first."""
    return _all(visit, Form())


@page("POST", BASE, "proven admin", creates=True)
def make(visit: Visit) -> PageResponse:
    """Back up now; the scheduler does it, while the service goes on."""
    backups.start(visit.ctx)
    visit.flash(_("A backup is being created."))
    return see(BASE)


@page("POST", f"{BASE}/set-up", "proven admin", creates=True)
def set_up(visit: Visit) -> PageResponse:
    """Make them from now on, inside the data folder, and the first one now."""
    backups.set_up(visit.ctx)
    visit.flash(_("Backups are set up. The first one is being created."))
    return see(BASE)


@page("POST", f"{BASE}/send", "proven admin", form_bytes=MAX_UPLOAD_BYTES + SMALL_FORM_BYTES)
def send(visit: Visit) -> PageResponse:
    """Put a backup of one's own into the folder."""
    form = Form({"file": ""})
    try:
        upload = visit.form.upload("file")
        if upload is None or not upload.content:
            raise Invalid(_("choose a backup first"), field="file")
        stored = backups.store_upload(visit.ctx, upload.content)
    except HelpdeskError as error:
        where = error if error.details.get("field") else Invalid(error.message, field="file")
        return _all(visit, form.refuse(where))
    visit.flash(_("Upload verified and stored as {name}.", name=stored.path.name))
    return see(_path(stored))


@page("GET", RESTORE, "admin")
def show_restore(visit: Visit) -> PageResponse:
    """How far the last restore is."""
    last = restoring.last(visit.ctx)
    page = render(visit, "restore.html", last=last, stages=STAGES)
    return again(page, AGAIN_SECONDS) if last is not None and last.is_under_way else page


@page("GET", f"{BASE}/{{name}}", "admin")
def show_one(visit: Visit) -> PageResponse:
    """A backup: its content, and its actions."""
    return _one(visit, Form.from_values({"typed": ""}))


@page("POST", f"{BASE}/{{name}}/verify", "admin")
def verify(visit: Visit) -> PageResponse:
    """Verifies a backup in the background."""
    name = visit.arguments["name"]
    backups.verify(visit.ctx, name)
    return see(f"{BASE}/{name}")


@page("GET", f"{BASE}/{{name}}/download", "proven admin")
def download(visit: Visit) -> PageResponse:
    """Downloads the file. A request for its headers alone is not logged, since nothing leaves."""
    take = backups.find_backup if visit.request.method == "HEAD" else backups.fetch
    backup = take(visit.ctx, visit.arguments["name"])
    return file(backup.path, "application/octet-stream", backup.bytes)


@page("POST", f"{BASE}/{{name}}/remove", "proven admin")
def remove(visit: Visit) -> PageResponse:
    """Remove it for good."""
    backups.remove(visit.ctx, visit.arguments["name"])
    visit.flash(_("{name}.db removed.", name=visit.arguments["name"]))
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


def _rows(visit: Visit, query: RowQuery) -> RowPage:
    looks = backups.checks(visit.ctx)
    rows = [_listed(each, looks, set()) for each in backups.list_all_backups(visit.service.settings)]
    return of_all([_row(each) for each in rows], query)


def _row(each: BackupEntry) -> dict[str, Any]:
    state = "" if each.look is None else "damaged" if each.look.problem else "sound"
    return {
        "id": each.path.rpartition("/")[2],
        "_label": each.name,
        "name": each.name,
        "path": each.path,
        "at": each.at,
        "bytes": each.bytes,
        "size": each.size,
        "version": each.look.program if each.look else "",
        "state": state,
        "verified_at": each.look.at if each.look else 0,
        "is_sent": each.is_sent,
    }


def _created(visit: Visit, row: Row, more: Any) -> str:
    sent = ui.muted(_("sent")) if row["is_sent"] else ""
    return Markup("<div>{} {}</div>").format(ui.when(visit, row["at"]), sent)


def _verified(visit: Visit, row: Row, more: Any) -> str:
    if not row["state"]:
        return ui.muted(_("not verified yet"))
    badge = ui.badge("err", N_("damaged")) if row["state"] == "damaged" else ui.badge("ok", N_("valid"))
    return Markup('<div>{} <span class="muted">{}</span></div>').format(badge, ui.when(visit, row["verified_at"]))


LIST = declare(Worklist(
    "backups", BASE, N_("Backups"), ("name", "at", "bytes", "version", "state"),
    own=(
        ListColumn("name", N_("File"),
                   lambda visit, row, more: ui.link(row["path"], html=ui.code(row["name"])), "name"),
        ListColumn("at", N_("Created"), _created, "at"),
        ListColumn("bytes", N_("Size"), lambda visit, row, more: row["size"], "bytes", "number"),
        ListColumn("version", N_("Version"), lambda visit, row, more: row["version"]),
        ListColumn("state", N_("Verified"), _verified, "state"),
    ),
    actions=(
        BulkAction("verify", N_("Verify"), run=lambda visit, key: backups.verify(visit.ctx, key),
                   says=N_ngettext("Integrity check started.", "{count} integrity checks started.")),
        BulkAction("remove", N_("Remove"), deletes=True, run=lambda visit, key: backups.remove(visit.ctx, key),
                   confirm=N_("Permanently remove the selected backups?"),
                   says=N_ngettext("Backup removed.", "{count} backups removed.")),
    ),
    changes="proven admin", empty=N_("No backups yet."), source=RowSource(_rows),
))  # fmt: skip


def _all(visit: Visit, form: Form) -> PageResponse:
    if not backups.can_be_made(visit.service):
        return render(visit, "backups_elsewhere.html", form.status, form=form, labels=LABELS)
    ctx, settings, trouble = visit.ctx, visit.service.settings, ""
    all_backups: list[Backup] = []
    try:
        all_backups = backups.list_all_backups(settings)
    except (HelpdeskError, OSError) as error:  # one may be removed while they are listed
        trouble = (
            error.message
            if isinstance(error, HelpdeskError)
            else _("The folder has changed: {reason}.", reason=error.strerror)
        )
    view = RowView(visit, LIST) if settings.backup_folder and not trouble else None
    job, last = scheduled_jobs.find_only_job(ctx, backups.KIND), restoring.last(ctx)
    is_made = job is not None and job.state in ("due", "running") and not job.error
    own = next((each for each in all_backups if not each.is_sent), None)
    values = {
        "form": form,
        "labels": LABELS,
        "rows": len(all_backups),
        "trouble": trouble,
        "folder": settings.backup_folder,
        "kept": _kept(settings),
        "made": told_times(settings),
        "next_at": _next(visit),
        "job": job,
        "progress": backups.progress(ctx),
        "failure": backups.failure(ctx),
        "is_same_disk": _is_same_disk(settings),
        "last": last,
        "is_late": own is None or own.at < visit.now - WARN_SECONDS,
        "data": str(Path(settings.data).absolute()),
        "steps": sorted(backups.steps(ctx).items()),
        "most": bytes_text(MAX_UPLOAD_BYTES),
    }
    if view is not None:
        page = worklist.page_of(visit, view, "backups.html", form.status, **values)
    else:
        page = render(visit, "backups.html", form.status, view=None, worklist=LIST, **values)
    return again(page, AGAIN_SECONDS) if is_made and not form.is_wrong else page


def _one(visit: Visit, form: Form) -> PageResponse:
    backup = backups.find_backup(visit.ctx, visit.arguments["name"])
    each = _listed(backup, backups.checks(visit.ctx), backups.being_verified(visit.ctx))
    last = restoring.last(visit.ctx)
    step = backups.steps(visit.ctx).get(each.name, "")
    page = render(visit, "backup.html", form.status, form=form, labels=LABELS, each=each, last=last, step=step)
    return again(page, AGAIN_SECONDS) if each.is_read and not form.is_wrong and not form.get("typed") else page


def _listed(each: Backup, looks: dict[str, BackupCheck], read: set[str]) -> BackupEntry:
    name = each.path.name
    size = bytes_text(each.bytes)
    return BackupEntry(name, _path(each), each.at, each.bytes, size, looks.get(name), name in read, each.is_sent)


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
    """The rules of retention, in words."""
    rules = [_(message, count=getattr(settings, name)) for name, message in KEPT if getattr(settings, name)]
    return ", ".join(rules)


def _is_same_disk(settings: Settings) -> bool:
    """Whether one disk holds the backups and the database."""
    try:
        return Path(settings.backup_folder).stat().st_dev == Path(settings.data).stat().st_dev
    except OSError:  # it is made with the first backup
        return False
