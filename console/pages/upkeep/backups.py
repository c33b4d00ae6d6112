"""Backups: which there are and whether they are sound, making one, sending and fetching one, and putting one back."""

from typing import Any

from console.html.form import Form
from console.html.rendering import render
from console.html.ui import bytes_text
from console.http.page_response import PageResponse, again, file, see
from console.http.routes import SMALL_FORM_BYTES, page
from console.http.visit import Visit
from console.lists import worklist
from console.lists.cells import DrawnColumns
from console.lists.row_view import RowView
from console.lists.rows import RowPage, RowQuery, RowSource, of_all
from console.lists.worklist import BulkAction, Worklist, declare
from server.errors import HelpdeskError, Invalid
from server.translation import N_, N_ngettext, _
from server.upkeep import backup_overview, backups, restoring
from server.upkeep.backups import MAX_UPLOAD_BYTES, Backup, BackupCheck

BASE = "/admin/backups"
RESTORE = f"{BASE}/restore"
AGAIN_SECONDS = 2  # interval in which a page with progress reloads
STAGES = {
    "copying": N_("The backup is copied next to the database. The service keeps running."),
    "checking": N_("The whole copy is read to verify it. The service keeps running."),
    "stopping": N_("Running work is finished; then the service is unavailable for a moment."),
}
FIELDS, LABELS = ("typed",), {"typed": N_("Name of the backup"), "file": N_("File")}


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
        return show(visit, form.refuse(where))
    visit.flash(_("Upload verified and stored as {name}.", name=stored.path.name))
    return see(_path(stored))


@page("GET", RESTORE, "admin")
def show_restore(visit: Visit) -> PageResponse:
    """How far the last restore is."""
    last = restoring.last(visit.ctx)
    page = render(visit, "restore.html", last=last, stages=STAGES)
    return again(page, AGAIN_SECONDS) if last is not None and last.is_under_way else page


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
        return show_one(visit, form.refuse(error))
    return see(RESTORE)


def _rows(visit: Visit, query: RowQuery) -> RowPage:
    checks = backups.checks(visit.ctx)
    rows = [_row(each, checks.get(each.path.name)) for each in backups.list_all_backups(visit.service.settings)]
    return of_all(rows, query)


def _row(each: Backup, check: BackupCheck | None) -> dict[str, Any]:
    return {
        "id": each.path.stem,
        "_label": each.path.name,
        "name": each.path.name,
        "path": _path(each),
        "at": each.at,
        "bytes": each.bytes,
        "version": check.program if check else "",
        "state": "" if check is None else "damaged" if check.problem else "sound",
        "verified_at": check.at if check else 0,
        "is_sent": each.is_sent,
    }


_column = DrawnColumns("backups")
LIST = declare(Worklist(
    "backups", BASE, N_("Backups"), ("name", "at", "bytes", "version", "state"),
    own=(
        _column("name", N_("File"), "name"),
        _column("at", N_("Created"), "at"),
        _column("bytes", N_("Size"), "bytes", "number"),
        _column("version", N_("Version")),
        _column("state", N_("Verified"), "state"),
    ),
    actions=(
        BulkAction("verify", N_("Verify"), run=lambda visit, key: backups.verify(visit.ctx, key),
                   says=N_ngettext("Integrity check started.", "{count} integrity checks started.")),
        BulkAction("remove", N_("Remove"), deletes=True, run=lambda visit, key: backups.remove(visit.ctx, key),
                   confirm=N_("Permanently remove the selected backups?"),
                   says=N_ngettext("Backup removed.", "{count} backups removed.")),
    ),
    changes="proven admin",
    empty=N_("No backups yet. Each holds all records, files and settings, and can be restored on another machine."),
    source=RowSource(_rows),
))  # fmt: skip


@page("GET", BASE, "admin")
def show(visit: Visit, form: Form | None = None) -> PageResponse:
    """All backups, the newest first."""
    form = form or Form()
    if not backups.can_be_made(visit.service):
        return render(visit, "backups_elsewhere.html", form=form, labels=LABELS)
    state = backup_overview.overview(visit.ctx)
    values: dict[str, Any] = {"form": form, "labels": LABELS, "backups": state, "most": bytes_text(MAX_UPLOAD_BYTES)}
    if state.folder and not state.trouble:
        page = worklist.page_of(visit, RowView(visit, LIST), "backups.html", **values)
    else:
        page = render(visit, "backups.html", view=None, worklist=LIST, **values)
    return again(page, AGAIN_SECONDS) if state.is_made and not form.is_wrong else page


@page("GET", f"{BASE}/{{name}}", "admin")
def show_one(visit: Visit, form: Form | None = None) -> PageResponse:
    """A backup: its content, and its actions."""
    form = form or Form.from_values({"typed": ""})
    backup = backups.find_backup(visit.ctx, visit.arguments["name"])
    name = backup.path.name
    is_read = name in backups.being_verified(visit.ctx)
    page = render(
        visit,
        "backup.html",
        form=form,
        labels=LABELS,
        each=backup,
        path=_path(backup),
        look=backups.checks(visit.ctx).get(name),
        is_read=is_read,
        last=restoring.last(visit.ctx),
        step=backups.steps(visit.ctx).get(name, ""),
    )
    return again(page, AGAIN_SECONDS) if is_read and not form.is_wrong and not form.get("typed") else page


def _path(each: Backup) -> str:
    return f"{BASE}/{each.path.stem}"
