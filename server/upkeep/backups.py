"""Makes scheduled backups, removes old ones by the retention rules, and verifies them. store/backup.py copies
databases; restoring.py restores backups."""

import os
import re
import time
from calendar import timegm
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from server import log
from server.access.actor import APP, WORKER
from server.access.service_actor import own_context
from server.context import Context, Service
from server.dataclass import dataclass
from server.errors import Damaged, HelpdeskError, NotFound, Unavailable
from server.jobs import clock_watch
from server.jobs.job_queue import JobQueue, job
from server.jobs.scheduler import at_start, periodic
from server.mailroom.mailboxes.problems import MAX_ERROR_CHARACTERS
from server.outbox.sender import default_sender, way_of
from server.people.administrators import administrators
from server.record_types.shared.points import POINTS
from server.records import activity, catalogs, live_settings
from server.records.service_settings import get, put
from server.records.writing import RecordWriter
from server.settings import MiB, Settings
from server.sign_in.password_change import ServiceMail, send
from server.store import backup
from server.store.backup import Contents
from server.store.copying import PART, sync
from server.store.store_local import StoreLocal
from server.store.tables import Column, Table
from server.store.transaction import Transaction
from server.translation import N_, lazy_gettext
from server.upkeep import scheduled_jobs

DOING = "look at backups"  # act in the refusal for workers who are not administrators

KIND, VERIFY = "backup", "backup.verify"
MAX_UPLOAD_BYTES = 64 * MiB  # bytes of an uploaded backup, which is held in memory
PROGRESS: StoreLocal[tuple[int, int]] = StoreLocal()  # (copied pages, all pages) of a running backup
VERIFYING: StoreLocal[dict[str, str]] = StoreLocal()  # {name of a backup under verification: the step}
FAILURE = "backup_failure"  # the service setting with the last failure
HOUR_SECONDS = 3600
NAME = re.compile(r"helpdesk-([0-9]{8}-[0-9]{6})\.db\Z")
ANY_NAME = re.compile(r"(?:helpdesk|uploaded)-([0-9]{8}-[0-9]{6})\.db\Z")  # including uploaded ones
ASIDE = re.compile(r"\.(?:before-restore|not-restored)-([0-9]{9,12})(?:-[0-9]+)?\Z")  # put aside by a restore
MOMENT = "%Y%m%d-%H%M%S"
OWN_FOLDER = "backups"  # inside the data folder, if backups are set up in the console
NO_FOLDER = "no backup folder is set; set up backups on the page Backups, or set backup_folder"
SUBJECT = N_("Backup failed")
TEXT = N_("""\
The last backup of {url} failed:

{error}

It will be retried automatically. The backups and their problems are listed at {url}/admin/backups
""")
_log = log.get("backup")

CHECK = Table(
    "backup_look",
    [
        Column("name", "TEXT"),
        Column("bytes"),
        Column("at"),
        Column("program", "TEXT"),
        Column("tickets"),
        Column("problem", "TEXT"),
    ],
    key=("name",),
)  # results of verifications; bytes: the size of the file at that time


@dataclass(frozen=True)
class BackupCheck:
    """The result of verifying a backup. at: Unix seconds. program: the version that wrote it. tickets: their number.
    problem: "" for a sound backup."""

    at: int
    program: str
    tickets: int
    problem: str


@dataclass(frozen=True)
class BackupFailure:
    """The failure of the last backup. at: Unix seconds."""

    at: int
    error: str


@dataclass(frozen=True)
class Backup:
    """A backup in the folder. at: when it was made or uploaded, in Unix seconds, from its name. bytes: 0 if it was
    removed since it was listed."""

    path: Path
    at: int

    @property
    def bytes(self) -> int:
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    @property
    def is_sent(self) -> bool:
        """Whether it was uploaded. Retention rules do not apply to uploads."""
        return not NAME.match(self.path.name)


def list_backups(settings: Settings) -> list[Backup]:
    """Lists the backups that the service made, the newest first; [] without a folder. Ignores files with other names.
    Raises Unavailable if the folder cannot be read."""
    return [each for each in list_all_backups(settings) if not each.is_sent]


def list_all_backups(settings: Settings) -> list[Backup]:
    """Lists the backups of the service and uploaded ones, as list_backups."""
    if not settings.backup_folder:
        return []
    folder = Path(settings.backup_folder)
    try:
        paths = list(folder.iterdir()) if folder.exists() else []
    except OSError as error:
        raise Unavailable(f"the backup folder {folder} cannot be read ({error.strerror}); check it") from error
    backups = [Backup(path, at) for path in paths if (at := _moment(path.name))]
    return sorted(backups, key=lambda each: each.at, reverse=True)


def make(service: Service, now: int) -> Backup:
    """Makes a backup in the folder of the settings, verifies it, and removes those that no rule keeps. Raises
    Unavailable without a folder or if it cannot be written; Full; Damaged if the backup is not sound, which stays in
    the folder."""
    settings, database = service.settings, service.store.file
    folder = _folder(settings)
    while (path := folder / time.strftime(f"helpdesk-{MOMENT}.db", time.gmtime(now))).exists():
        now += 1  # another backup was made in the same second
    new = Backup(path, now)
    _remove_unfinished(folder)
    try:
        size = backup.make(database, new.path, lambda *far: PROGRESS.set(service.store, far))
    finally:
        PROGRESS.clear(service.store)
    _log.info("backup.made", file=new.path.name, bytes=size)
    try:
        check(service, new, now)
    except Damaged:
        _remove_superfluous(service)
        raise
    _remove_superfluous(service)
    return new


def _remove_superfluous(service: Service) -> None:
    """Removes the backups that no retention rule keeps. Rules for sound backups ignore damaged ones, or a few bad days
    would displace all usable backups. The same rules apply to damaged ones, since one may be sound and its disk have
    failed when it was read. After the clock was set none is removed, since it is uncertain which is the newest."""
    if clock_watch.holds(service):
        return
    settings = service.settings
    backups, checks_by_name = list_backups(settings), read_checks(service)
    damaged = {each for each in backups if each.path.name in checks_by_name and checks_by_name[each.path.name].problem}
    sound = [each for each in backups if each not in damaged]
    for each in (*superfluous(sound, settings), *(each for each in superfluous(backups, settings) if each in damaged)):
        each.path.unlink(missing_ok=True)
        _log.info("backup.removed", file=each.path.name)


@periodic(
    N_("databases that restores put aside"),
    N_("Removes those that no retention rule for backups keeps."),
    deletes=True,
)
def remove_put_aside(service: Service, now: int) -> int:
    """Removes the databases that restores put aside and no retention rule keeps; returns when to run again, in a
    day."""
    database = service.store.path
    if database is None:
        return now + 24 * HOUR_SECONDS
    aside = [
        Backup(path, int(match[1]))
        for path in database.parent.glob(f"{database.name}.*")
        if (match := ASIDE.search(path.name))
    ]
    for each in superfluous(sorted(aside, key=lambda each: each.at, reverse=True), service.settings):
        for ending in ("", *backup.LOGS, "-shm"):
            each.path.with_name(each.path.name + ending).unlink(missing_ok=True)
        _log.info("restore.removed", file=each.path.name)
    return now + 24 * HOUR_SECONDS


def _folder(settings: Settings) -> Path:
    """Returns the folder for backups, and creates it if it is missing."""
    if not settings.backup_folder:
        raise Unavailable(NO_FOLDER)
    folder = Path(settings.backup_folder)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"the backup folder {folder} cannot be created ({error.strerror}); check it") from error
    return folder


def superfluous(backups: Sequence[Backup], settings: Settings) -> list[Backup]:
    """Returns the backups that no retention rule keeps: neither among the newest, nor the last of a recent day, ISO
    week or month that has one. Days are in UTC. backups: newest first."""
    retained = set(backups[: settings.backup_keep_last])
    for count, span in (
        (settings.backup_keep_days, "%Y-%m-%d"),
        (settings.backup_keep_weeks, "%G-%V"),
        (settings.backup_keep_months, "%Y-%m"),
    ):
        retained |= set(_last_of_each(backups, count, span))
    return [each for each in backups if each not in retained]


def _last_of_each(backups: Sequence[Backup], count: int, span: str) -> list[Backup]:
    """Returns the last backup of each of the newest `count` spans. span: the format of time.strftime that identifies a
    span."""
    last: dict[str, Backup] = {}
    for each in backups:
        last.setdefault(time.strftime(span, time.gmtime(each.at)), each)
    return list(last.values())[:count]


def slot_of(now: int, settings: Settings) -> int:
    """Returns when the last scheduled backup was due, in Unix seconds: in steps of backup_hours, counted from backup_at
    on the first day of 1970, so that each day begins with one if the steps divide it evenly."""
    hour, minute = map(int, settings.backup_at.split(":"))
    first, step = hour * HOUR_SECONDS + minute * 60, settings.backup_hours * HOUR_SECONDS
    return now - (now - first) % step


@periodic(N_("backups"), N_("Adds a job if a scheduled backup is missing."))
def add_due(service: Service, now: int) -> int | None:
    """Adds a job if the backup of this slot is missing; returns when the next slot begins. Ignores backups with a time
    far in the future, made while the clock was wrong."""
    settings = service.settings
    if not settings.backup_folder or service.store.path is None:
        return None
    slot, step = slot_of(now, settings), settings.backup_hours * HOUR_SECONDS
    try:
        is_made = any(slot <= each.at <= now + step for each in list_backups(settings))
    except Unavailable:  # the job notifies administrators
        is_made = False
    if not is_made:
        service.store.write(lambda tx: JobQueue.add(tx, KIND, now, {}, KIND))
    return slot + step


@at_start("backups that were sent half")
def _remove_partial_uploads(service: Service, now: int) -> None:
    """Removes temporary files of uploads that a process left. No upload can be running at the start."""
    if service.settings.backup_folder:
        for path in Path(service.settings.backup_folder).glob(f"uploaded-*.db{PART}"):
            path.unlink(missing_ok=True)


@job(KIND, N_("Creates a backup of the database"))
def _make_one(service: Service, payload: dict[str, Any], now: int) -> None:
    try:
        make(service, now)
    except Exception as error:
        _failed(service, now, error.message if isinstance(error, HelpdeskError) else str(error))
        raise
    service.store.write(lambda tx: put(tx, FAILURE, None))


def _failed(service: Service, now: int, error: str) -> None:
    """Logs the failure and notifies administrators once until a backup succeeds: in the console, and by mail if it is
    set up."""
    ctx, values = own_context(service, now), {"at": now, "error": error[:MAX_ERROR_CHARACTERS]}
    recipients = service.store.read(administrators)
    letters = {id: ServiceMail(SUBJECT, TEXT, catalogs.worker_catalog(service, id)) for id in recipients}

    def write(tx: Transaction) -> None:
        is_known = get(tx, FAILURE) is not None
        put(tx, FAILURE, values)
        if is_known:
            return
        writing, sender = RecordWriter(ctx, tx), default_sender(tx)
        ids = [id for id in administrators(tx) if id in letters]
        message = {"message": f"{SUBJECT}: {values['error']}"}
        # Every worker can read this entry, and the reason may contain a path of the machine.
        writing.log("custom.other", APP, 0, {"message": f"{SUBJECT}; administrators are told why"})
        params = activity.params(writing, POINTS["custom.other"].pattern, APP, 0, message)
        for id in ids:  # directly, since the entry belongs to no record that they could watch
            activity.notify(writing, id, "custom.other", WORKER, id, params)
        if sender and way_of(tx, service.registry, sender) is not None:
            for worker in filter(None, (writing.record("worker", id) for id in ids)):
                send(writing, worker, letters[worker["id"]], {"url": service.base_url, "error": values["error"]})

    try:
        service.store.write(write)
    except HelpdeskError:  # such as a full disk, which may be the cause of the failure
        _log.exception("backup.failure_not_noted")


def failure(ctx: Context) -> BackupFailure | None:
    """Returns the failure of the last backup; None if it succeeded. Raises AdminOnly."""
    ctx.require_admin(DOING)
    stored = ctx.service.store.read(lambda tx: get(tx, FAILURE))
    return BackupFailure(stored["at"], stored["error"]) if stored else None


def progress(ctx: Context) -> tuple[int, int] | None:
    """Returns (copied pages, all pages) of a running backup; None if none is running. Raises AdminOnly."""
    ctx.require_admin(DOING)
    return PROGRESS.get(ctx.service.store)


def set_up(ctx: Context) -> None:
    """Turns on scheduled backups into a folder inside the data folder, and starts the first one. Raises AdminOnly;
    Invalid if the settings file or a variable overrides it; Unavailable if the database is not a file."""
    require_file(ctx)
    live_settings.change(ctx, {"backup_folder": OWN_FOLDER})
    start(ctx)


def can_be_made(service: Service) -> bool:
    """Returns whether the service can make backups: only of a file; database servers are backed up where they run."""
    return service.store.path is not None


def require_file(ctx: Context) -> Path:
    """Returns the database file. Raises AdminOnly, Unavailable if the database is not a file."""
    ctx.require_admin(DOING)
    return ctx.service.store.file


def start(ctx: Context) -> None:
    """Schedules a backup for now. Raises AdminOnly, Unavailable without a folder."""
    require_file(ctx)
    if not ctx.service.settings.backup_folder:
        raise Unavailable(NO_FOLDER)
    scheduled_jobs.begin(ctx, KIND, "backup.made")


# -- verification ------------------------------------------------------------------------------------------------------


def check(service: Service, entry: Backup, now: int) -> None:
    """Verifies a backup and stores the result. Raises Damaged, NotFound."""
    name = entry.path.name
    steps = VERIFYING.made(service.store, dict)
    try:
        contents = backup.verify(entry.path, lambda step: steps.update({name: step}))
    except Damaged as error:
        problem = error.message[:MAX_ERROR_CHARACTERS]
        _store_check(service, entry, {"at": now, "bytes": entry.bytes, "problem": problem})
        raise
    finally:
        steps.pop(name, None)
    _store_sound(service, entry, contents, now)


def _store_sound(service: Service, entry: Backup, contents: Contents, now: int) -> None:
    tickets = contents.tables.get("ticket", 0)
    _store_check(service, entry, {"at": now, "bytes": contents.bytes, "program": contents.program, "tickets": tickets})


def _store_check(service: Service, entry: Backup, result: dict[str, Any]) -> None:
    """Stores the result of verifying a backup, and deletes results of removed ones."""
    names = {each.path.name for each in list_all_backups(service.settings)}

    def write(tx: Transaction) -> None:
        tx.put(CHECK, {"name": entry.path.name, "program": "", "tickets": 0, "problem": "", **result})
        for row in tx.find(CHECK):
            if row[0] not in names:
                tx.delete(CHECK, name=row[0])

    service.store.write(write)


@job(VERIFY, N_("Reads a whole backup to verify it"))
def _verify(service: Service, payload: dict[str, Any], now: int) -> None:
    entry = next((each for each in list_all_backups(service.settings) if each.path.name == payload["name"]), None)
    if entry is None:
        return  # removed since the job was added
    try:
        check(service, entry, now)
    except Damaged as error:  # stored already, and a retry would not help
        _log.error("backup.damaged", file=entry.path.name, reason=error.message)


def verify(ctx: Context, name: str) -> None:
    """Schedules the verification of a backup. Raises AdminOnly, NotFound."""
    entry = find_backup(ctx, name)

    def write(tx: Transaction) -> None:
        _log_act(ctx, tx, "backup.verified", entry)
        JobQueue.add(tx, VERIFY, ctx.now, {"name": entry.path.name}, f"{VERIFY}:{entry.path.name}")
        ctx.service.wake_after(tx)

    ctx.service.store.write(write)


def checks(ctx: Context) -> dict[str, BackupCheck]:
    """Returns {name: result} of verified backups whose size has not changed since. Raises AdminOnly, Unavailable."""
    ctx.require_admin(DOING)
    return read_checks(ctx.service)


def read_checks(service: Service) -> dict[str, BackupCheck]:
    """Returns the same for the service itself. Raises Unavailable."""
    sizes = {each.path.name: each.bytes for each in list_all_backups(service.settings)}
    rows = service.store.read(lambda tx: tx.find(CHECK))
    return {
        name: BackupCheck(at, program, tickets, problem)
        for name, size, at, program, tickets, problem in rows
        if sizes.get(name) == size
    }


def being_verified(ctx: Context) -> set[str]:
    """Returns the names of backups whose verification is waiting or running. Raises AdminOnly."""
    jobs, _ = scheduled_jobs.list_jobs(ctx, kind=VERIFY)
    return {scheduled_jobs.payload_of(each).get("name", "") for each in jobs if each.state != "failed"}


def steps(ctx: Context) -> dict[str, str]:
    """Returns {name of a backup under verification: step, such as "step 1 of 3: reading the structure"}. Raises
    AdminOnly."""
    ctx.require_admin(DOING)
    return dict(VERIFYING.get(ctx.service.store) or {})


# -- single backups ----------------------------------------------------------------------------------------------------


def find_backup(ctx: Context, name: str) -> Backup:
    """Returns the backup of the folder with this name, with or without .db. Raises AdminOnly, NotFound, Unavailable."""
    ctx.require_admin(DOING)
    file_name = f"{name.removesuffix('.db')}.db"
    entry = next((each for each in list_all_backups(ctx.service.settings) if each.path.name == file_name), None)
    if entry is None:
        raise NotFound(lazy_gettext("backup {name} no longer exists; reload the list", name=file_name[:100]))
    return entry


def store_upload(ctx: Context, content: bytes) -> Backup:
    """Verifies and stores an uploaded backup; rejects anything that is not a complete backup of this program. Raises
    AdminOnly, Damaged, Full, Unavailable."""
    require_file(ctx)
    settings = ctx.service.settings
    folder, at = (
        _folder(settings),
        max(ctx.now, *(each.at + 1 for each in list_all_backups(settings) if each.is_sent), 0),
    )
    new = Backup(folder / time.strftime(f"uploaded-{MOMENT}.db", time.gmtime(at)), at)
    part = new.path.with_name(new.path.name + PART)
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
        sync(part)
        contents = backup.verify(part)
        part.replace(new.path)
        sync(folder)
    except FileExistsError as error:
        raise Unavailable("another backup is being uploaded right now; try again", retry_after=1) from error
    except OSError as error:
        part.unlink(missing_ok=True)
        raise Unavailable(f"{new.path} cannot be written ({error.strerror}); check the backup folder") from error
    except Damaged as error:
        part.unlink(missing_ok=True)
        raise Damaged(error.message.replace(str(part), "what was sent")) from error
    _store_sound(ctx.service, new, contents, ctx.now)
    _record(ctx, "backup.sent", new)
    return new


def fetch(ctx: Context, name: str) -> Backup:
    """Returns a backup for download. It contains all data of the service, so the activity log records the download.
    Raises AdminOnly, NotFound, Unavailable."""
    entry = find_backup(ctx, name)
    _record(ctx, "backup.downloaded", entry)
    return entry


def remove(ctx: Context, name: str) -> None:
    """Removes a backup. Raises AdminOnly, NotFound, Unavailable."""
    entry = find_backup(ctx, name)
    try:
        entry.path.unlink(missing_ok=True)
    except OSError as error:
        raise Unavailable(f"{entry.path} cannot be removed ({error.strerror})") from error
    _record(ctx, "backup.removed", entry)


def _record(ctx: Context, point: str, entry: Backup) -> None:
    _log.warning(point, by=ctx.actor.name, file=entry.path.name)
    ctx.service.store.write(lambda tx: _log_act(ctx, tx, point, entry))


def _log_act(ctx: Context, tx: Transaction, point: str, entry: Backup) -> None:
    RecordWriter(ctx, tx).log(point, APP, 0, {"file": entry.path.name})


def newest(settings: Settings) -> Backup | None:
    """Returns the newest backup of the service, or None."""
    return next(iter(list_backups(settings)), None)


def _moment(name: str) -> int:
    """Returns the time in a backup's name, in Unix seconds; 0 for any other name.

    >>> _moment("helpdesk-20261120-101500.db"), _moment("helpdesk-20261320-101500.db"), _moment("helpdesk.db")
    (1795169700, 0, 0)
    """
    match = ANY_NAME.match(name)
    try:
        return timegm(time.strptime(match[1], MOMENT)) if match else 0
    except ValueError:  # such as a 13th month
        return 0


def _remove_unfinished(folder: Path) -> None:
    """Removes the files of killed backups. Only one backup runs at a time."""
    for path in folder.glob(f"helpdesk-*.db{PART}*"):
        if NAME.match(path.name.partition(PART)[0]):
            path.unlink(missing_ok=True)
