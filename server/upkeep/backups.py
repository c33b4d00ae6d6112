"""Backups that the service makes by itself: when, into which folder, which of them are kept, and whether they are
sound. Copying is store/backup.py; putting one back is restoring.py."""

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
from server.jobs.queue import JobQueue, job
from server.jobs.scheduler import at_start, periodic
from server.mailroom.mailboxes.problems import MAX_ERROR_CHARACTERS
from server.outbox.sender import default_sender, way_of
from server.people.administrators import administrators
from server.people.password_change import ServiceMail, send
from server.record_types.shared.points import POINTS
from server.records import activity, live_settings, speech
from server.records.service_settings import get, put
from server.records.writing import RecordWriter
from server.settings import MiB, Settings
from server.store import backup
from server.store.backup import Contents
from server.store.copying import PART, sync
from server.store.store_local import StoreLocal
from server.store.tables import Column, Table
from server.store.transaction import Transaction
from server.translation import N_, lazy_gettext
from server.upkeep import scheduled_jobs

DOING = "look at backups"  # what administrators alone may

KIND, VERIFY = "backup", "backup.verify"
MAX_UPLOAD_BYTES = 64 * MiB  # bytes of an uploaded backup, which is held in memory meanwhile
PROGRESS: StoreLocal[tuple[int, int]] = StoreLocal()  # (pages copied, all of them) of a copy that is being made
VERIFYING: StoreLocal[dict[str, str]] = StoreLocal()  # {name of a backup that is being read: the step}
FAILURE = "backup_failure"  # the service setting that keeps how the last one failed
HOUR_SECONDS = 3600
NAME = re.compile(r"helpdesk-([0-9]{8}-[0-9]{6})\.db\Z")
ANY_NAME = re.compile(r"(?:helpdesk|uploaded)-([0-9]{8}-[0-9]{6})\.db\Z")  # including uploaded ones
ASIDE = re.compile(r"\.(?:before-restore|not-restored)-([0-9]{9,12})(?:-[0-9]+)?\Z")  # what a restore left
MOMENT = "%Y%m%d-%H%M%S"
OWN_FOLDER = "backups"  # inside the data folder, if backups are set up in the console
NO_FOLDER = "there is no folder for backups; set them up on the page of backups, or set backup_folder"
SUBJECT = N_("No backup could be made")
TEXT = N_("""\
The last backup of {url} failed:

{error}

It is tried again by itself. What there is of backups, and what is wrong: {url}/admin/backups
""")
_log = log.get("backup")

LOOK = Table(
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
)  # what reading all of a backup has shown; bytes: of the file as it was then


@dataclass(frozen=True)
class BackupCheck:
    """What reading all of a backup has shown. at: when, Unix seconds. program: the version that it is of. tickets: how
    many it holds. problem: "" for a sound one."""

    at: int
    program: str
    tickets: int
    problem: str


@dataclass(frozen=True)
class BackupFailure:
    """at: when the last backup failed, Unix seconds. error: why."""

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
        """Whether it was uploaded: retention rules do not apply to it."""
        return not NAME.match(self.path.name)


def list_backups(settings: Settings) -> list[Backup]:
    """The backups that the service made, the newest first; [] without a folder. Files with other names are not looked
    at. Raises Unavailable when the folder cannot be read."""
    return [each for each in list_all_backups(settings) if not each.is_sent]


def list_all_backups(settings: Settings) -> list[Backup]:
    """The same with those that were sent."""
    if not settings.backup_folder:
        return []
    folder = Path(settings.backup_folder)
    try:
        paths = list(folder.iterdir()) if folder.exists() else []
    except OSError as error:
        raise Unavailable(f"the backup folder {folder} cannot be read ({error.strerror}); check it") from error
    found = [Backup(path, at) for path in paths if (at := _moment(path.name))]
    return sorted(found, key=lambda each: each.at, reverse=True)


def make(service: Service, now: int) -> Backup:
    """Make a backup in the folder of the settings, read all of it, then remove those that no rule keeps. Raises
    Unavailable without a folder, or when it cannot be written; Full; Damaged for one that is not sound, which is kept
    anyway."""
    settings, database = service.settings, service.store.file
    folder = _folder(settings)
    while (path := folder / time.strftime(f"helpdesk-{MOMENT}.db", time.gmtime(now))).exists():
        now += 1  # another one of the same second
    made = Backup(path, now)
    _remove_unfinished(folder)
    try:
        size = backup.make(database, made.path, lambda *far: PROGRESS.set(service.store, far))
    finally:
        PROGRESS.clear(service.store)
    _log.info("backup.made", file=made.path.name, bytes=size)
    try:
        look_at(service, made, now)
    except Damaged:
        _remove_superfluous(service)
        raise
    _remove_superfluous(service)
    return made


def _remove_superfluous(service: Service) -> None:
    """Beside a sound one those that are damaged count for nothing, or a few bad days would drive out all that can be
    restored. They themselves go by the same rules: one may be sound, and its disk have failed when it was read. After
    the clock was set none is removed: which is the newest may not be true."""
    if clock_watch.holds(service):
        return
    settings = service.settings
    found, looks = list_backups(settings), seen(service)
    damaged = {each for each in found if each.path.name in looks and looks[each.path.name].problem}
    sound = [each for each in found if each not in damaged]
    for each in (*superfluous(sound, settings), *(each for each in superfluous(found, settings) if each in damaged)):
        each.path.unlink(missing_ok=True)
        _log.info("backup.removed", file=each.path.name)


@periodic("databases that restores put aside", deletes=True)
def remove_put_aside(service: Service, now: int) -> int:
    """Removes backups that no retention rule keeps; returns when to run again, in a day."""
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
    """The folder for backups, made when it is missing."""
    if not settings.backup_folder:
        raise Unavailable(NO_FOLDER)
    folder = Path(settings.backup_folder)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"the backup folder {folder} cannot be made ({error.strerror}); check it") from error
    return folder


def superfluous(backups: Sequence[Backup], settings: Settings) -> list[Backup]:
    """The backups that no retention rule keeps: neither among the newest, nor the last of a recent day, ISO week or
    month that has one. Days are in UTC. backups: newest first."""
    kept = set(backups[: settings.backup_keep_last])
    for count, span in (
        (settings.backup_keep_days, "%Y-%m-%d"),
        (settings.backup_keep_weeks, "%G-%V"),
        (settings.backup_keep_months, "%Y-%m"),
    ):
        kept |= set(_last_of_each(backups, count, span))
    return [each for each in backups if each not in kept]


def _last_of_each(backups: Sequence[Backup], count: int, span: str) -> list[Backup]:
    """The last backup of each of the newest `count` spans. span: the form of time.strftime that names one."""
    last: dict[str, Backup] = {}
    for each in backups:
        last.setdefault(time.strftime(span, time.gmtime(each.at)), each)
    return list(last.values())[:count]


def slot_of(now: int, settings: Settings) -> int:
    """When the last scheduled backup was due, in Unix seconds: in steps of backup_hours, counted from backup_at on the
    first day of 1970, so that each day begins with one if the steps divide it evenly."""
    hour, minute = map(int, settings.backup_at.split(":"))
    first, step = hour * HOUR_SECONDS + minute * 60, settings.backup_hours * HOUR_SECONDS
    return now - (now - first) % step


@periodic("backups")
def add_due(service: Service, now: int) -> int | None:
    """Add a job when the backup of this slot is missing; answers when the next slot begins. One that was made by a
    clock far ahead counts for none."""
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
def _remove_half_sent(service: Service, now: int) -> None:
    """Temporary files of a process that is gone. Removed here, since no upload can be under way yet."""
    if service.settings.backup_folder:
        for path in Path(service.settings.backup_folder).glob(f"uploaded-*.db{PART}"):
            path.unlink(missing_ok=True)


@job(KIND)
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
    ctx, told = own_context(service, now), {"at": now, "error": error[:MAX_ERROR_CHARACTERS]}
    known = service.store.read(administrators)
    letters = {id: ServiceMail(SUBJECT, TEXT, speech.of_worker(service, id)) for id in known}

    def write(tx: Transaction) -> None:
        is_known = get(tx, FAILURE) is not None
        put(tx, FAILURE, told)
        if is_known:
            return
        writing, sender = RecordWriter(ctx, tx), default_sender(tx)
        ids, message = [id for id in administrators(tx) if id in letters], {"message": f"{SUBJECT}: {told['error']}"}
        # Every worker reads this one, and the reason may hold a folder of the machine.
        writing.log("custom.other", APP, 0, {"message": f"{SUBJECT}; administrators are told why"})
        shown = activity.params(writing, POINTS["custom.other"].pattern, APP, 0, message)
        for id in ids:  # directly, since the entry belongs to no record that they could watch
            activity.notify(writing, id, "custom.other", WORKER, id, shown)
        if sender and way_of(tx, service.registry, sender) is not None:
            for worker in filter(None, (writing.record("worker", id) for id in ids)):
                send(writing, worker, letters[worker["id"]], {"url": service.base_url, "error": told["error"]})

    try:
        service.store.write(write)
    except HelpdeskError:  # such as a full disk, which the backup may have failed for
        _log.exception("backup.failure_not_noted")


def failure(ctx: Context) -> BackupFailure | None:
    """How the last backup failed; None when it was made. Raises AdminOnly."""
    ctx.require_admin(DOING)
    found = ctx.service.store.read(lambda tx: get(tx, FAILURE))
    return BackupFailure(found["at"], found["error"]) if found else None


def progress(ctx: Context) -> tuple[int, int] | None:
    """(pages that are copied, all of them) of the backup that is being made; None when none is. Raises AdminOnly."""
    ctx.require_admin(DOING)
    return PROGRESS.get(ctx.service.store)


def set_up(ctx: Context) -> None:
    """Make backups from now on, into a folder of the data folder, the first one at once. Raises AdminOnly; Invalid
    where the settings file or a variable says otherwise; Unavailable where the database is no file."""
    require_file(ctx)
    live_settings.change(ctx, {"backup_folder": OWN_FOLDER})
    start(ctx)


def are_here(service: Service) -> bool:
    """Whether the service makes backups: only of a file; database servers are backed up where they run."""
    return service.store.path is not None


def require_file(ctx: Context) -> Path:
    """The database file. Raises AdminOnly, Unavailable if the database is not a file."""
    ctx.require_admin(DOING)
    return ctx.service.store.file


def start(ctx: Context) -> None:
    """Schedules a backup for now. Raises AdminOnly, Unavailable without a folder."""
    require_file(ctx)
    if not ctx.service.settings.backup_folder:
        raise Unavailable(NO_FOLDER)
    scheduled_jobs.begin(ctx, KIND, "backup.made")


# -- looking at them ---------------------------------------------------------------------------------------------------


def look_at(service: Service, found: Backup, now: int) -> None:
    """Read all of a backup and note what that shows. Raises Damaged, NotFound."""
    name = found.path.name
    steps = VERIFYING.made(service.store, dict)
    try:
        contents = backup.verify(found.path, lambda step: steps.update({name: step}))
    except Damaged as error:
        _note(service, found, {"at": now, "bytes": found.bytes, "problem": error.message[:MAX_ERROR_CHARACTERS]})
        raise
    finally:
        steps.pop(name, None)
    _note_sound(service, found, contents, now)


def _note_sound(service: Service, found: Backup, contents: Contents, now: int) -> None:
    tickets = contents.tables.get("ticket", 0)
    _note(service, found, {"at": now, "bytes": contents.bytes, "program": contents.program, "tickets": tickets})


def _note(service: Service, found: Backup, seen: dict[str, Any]) -> None:
    """Stores the result of verifying a backup, and deletes results of removed ones."""
    names = {each.path.name for each in list_all_backups(service.settings)}

    def write(tx: Transaction) -> None:
        tx.put(LOOK, {"name": found.path.name, "program": "", "tickets": 0, "problem": "", **seen})
        for row in tx.find(LOOK):
            if row[0] not in names:
                tx.delete(LOOK, name=row[0])

    service.store.write(write)


@job(VERIFY)
def _verify(service: Service, payload: dict[str, Any], now: int) -> None:
    found = next((each for each in list_all_backups(service.settings) if each.path.name == payload["name"]), None)
    if found is None:
        return  # it was removed meanwhile
    try:
        look_at(service, found, now)
    except Damaged as error:  # which is noted, and not better at the next attempt
        _log.error("backup.damaged", file=found.path.name, reason=error.message)


def verify(ctx: Context, name: str) -> None:
    """Schedules the verification of a backup. Raises AdminOnly, NotFound."""
    found = find_backup(ctx, name)

    def write(tx: Transaction) -> None:
        _log_act(ctx, tx, "backup.verified", found)
        JobQueue.add(tx, VERIFY, ctx.now, {"name": found.path.name}, f"{VERIFY}:{found.path.name}")
        ctx.service.wake_after(tx)

    ctx.service.store.write(write)


def looks(ctx: Context) -> dict[str, BackupCheck]:
    """The results of verified backups by name, as far as their size has not changed since. Raises AdminOnly,
    Unavailable."""
    ctx.require_admin(DOING)
    return seen(ctx.service)


def seen(service: Service) -> dict[str, BackupCheck]:
    """The same for the service itself. Raises Unavailable."""
    sizes = {each.path.name: each.bytes for each in list_all_backups(service.settings)}
    rows = service.store.read(lambda tx: tx.find(LOOK))
    return {
        name: BackupCheck(at, program, tickets, problem)
        for name, size, at, program, tickets, problem in rows
        if sizes.get(name) == size
    }


def being_verified(ctx: Context) -> set[str]:
    """The names of backups that wait to be read, or are being read. Raises AdminOnly."""
    found, _ = scheduled_jobs.list_jobs(ctx, kind=VERIFY)
    return {scheduled_jobs.payload_of(each).get("name", "") for each in found if each.state != "failed"}


def steps(ctx: Context) -> dict[str, str]:
    """{name of a backup that is being read: the step, such as "step 1 of 3: reading the structure"}. Raises
    AdminOnly."""
    ctx.require_admin(DOING)
    return dict(VERIFYING.get(ctx.service.store) or {})


# -- single ones -------------------------------------------------------------------------------------------------------


def find_backup(ctx: Context, name: str) -> Backup:
    """The backup of the folder with this name, with or without .db. Raises AdminOnly, NotFound, Unavailable."""
    ctx.require_admin(DOING)
    wanted = f"{name.removesuffix('.db')}.db"
    found = next((each for each in list_all_backups(ctx.service.settings) if each.path.name == wanted), None)
    if found is None:
        raise NotFound(lazy_gettext("there is no backup {name} any more; load the list again", name=wanted[:100]))
    return found


def keep_sent(ctx: Context, content: bytes) -> Backup:
    """Stores an uploaded backup after reading all of it; anything that is not a complete backup of this program is
    refused and deleted. Raises AdminOnly, Damaged, Full, Unavailable."""
    require_file(ctx)
    settings = ctx.service.settings
    folder, at = (
        _folder(settings),
        max(ctx.now, *(each.at + 1 for each in list_all_backups(settings) if each.is_sent), 0),
    )
    made = Backup(folder / time.strftime(f"uploaded-{MOMENT}.db", time.gmtime(at)), at)
    part = made.path.with_name(made.path.name + PART)
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
        sync(part)
        contents = backup.verify(part)
        part.replace(made.path)
        sync(folder)
    except FileExistsError as error:
        raise Unavailable("another backup is being sent just now; try again", retry_after=1) from error
    except OSError as error:
        part.unlink(missing_ok=True)
        raise Unavailable(f"{made.path} cannot be written ({error.strerror}); check the backup folder") from error
    except Damaged as error:
        part.unlink(missing_ok=True)
        raise Damaged(error.message.replace(str(part), "what was sent")) from error
    _note_sound(ctx.service, made, contents, ctx.now)
    _tell(ctx, "backup.sent", made)
    return made


def fetched(ctx: Context, name: str) -> Backup:
    """A backup to download. It contains everything that the service knows, so the download is in the activity log.
    Raises AdminOnly, NotFound, Unavailable."""
    found = find_backup(ctx, name)
    _tell(ctx, "backup.downloaded", found)
    return found


def remove(ctx: Context, name: str) -> None:
    """Remove a backup. Raises AdminOnly, NotFound, Unavailable."""
    found = find_backup(ctx, name)
    try:
        found.path.unlink(missing_ok=True)
    except OSError as error:
        raise Unavailable(f"{found.path} cannot be removed ({error.strerror})") from error
    _tell(ctx, "backup.removed", found)


def _tell(ctx: Context, point: str, found: Backup) -> None:
    _log.warning(point, by=ctx.actor.name, file=found.path.name)
    ctx.service.store.write(lambda tx: _log_act(ctx, tx, point, found))


def _log_act(ctx: Context, tx: Transaction, point: str, found: Backup) -> None:
    RecordWriter(ctx, tx).log(point, APP, 0, {"file": found.path.name})


def newest(settings: Settings) -> Backup | None:
    """The newest backup in the folder, None if there is none."""
    return next(iter(list_backups(settings)), None)


def _moment(name: str) -> int:
    """The time in a backup's name, in Unix seconds; 0 for any other name.

    >>> _moment("helpdesk-20261120-101500.db"), _moment("helpdesk-20261320-101500.db"), _moment("helpdesk.db")
    (1795169700, 0, 0)
    """
    match = ANY_NAME.match(name)
    try:
        return timegm(time.strptime(match[1], MOMENT)) if match else 0
    except ValueError:  # such as a 13th month
        return 0


def _remove_unfinished(folder: Path) -> None:
    """What backups of this service have left that were killed; one at a time is made."""
    for path in folder.glob(f"helpdesk-*.db{PART}*"):
        if NAME.match(path.name.partition(PART)[0]):
            path.unlink(missing_ok=True)
