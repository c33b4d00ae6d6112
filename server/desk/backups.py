"""Backups that the service makes by itself: when, into which folder, and which of them are kept. Copying and putting
back is store/backup.py."""

import re
import time
from calendar import timegm
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server import log
from server.context import Context, Service
from server.desk import scheduled
from server.errors import Unavailable
from server.jobs.queue import JobQueue, job
from server.jobs.scheduler import periodic
from server.settings import Settings
from server.store import backup
from server.store.copying import PART

KIND = "backup"
HOUR_SECONDS = 3600
NAME = re.compile(r"helpdesk-([0-9]{8}-[0-9]{6})\.db\Z")
MOMENT = "%Y%m%d-%H%M%S"
NO_FOLDER = "there is no folder for backups; set backup_folder and start again"
_log = log.get("backup")


@dataclass(frozen=True)
class Backup:
    """A backup in the folder. at: Unix seconds of its making, as its name tells."""

    path: Path
    at: int

    @property
    def bytes(self) -> int:
        return self.path.stat().st_size


def listed(settings: Settings) -> list[Backup]:
    """The backups in the folder of the settings, the newest first; [] without a folder. Files with other names are not
    looked at. Raises Unavailable when the folder cannot be read. Source: ours."""
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
    """Make a backup in the folder of the settings, then remove those that no rule keeps. Raises Unavailable without a
    folder, or when it cannot be written; Full. Source: ours."""
    settings = service.settings
    if not settings.backup_folder:
        raise Unavailable(NO_FOLDER)
    folder = Path(settings.backup_folder)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"the backup folder {folder} cannot be made ({error.strerror}); check it") from error
    made = Backup(folder / time.strftime(f"helpdesk-{MOMENT}.db", time.gmtime(now)), now)
    _remove_unfinished(folder)
    size = backup.make(service.store.path, made.path)
    _log.info("backup.made", file=made.path.name, bytes=size)
    for each in superfluous(listed(settings), settings):
        each.path.unlink(missing_ok=True)
        _log.info("backup.removed", file=each.path.name)
    return made


def superfluous(backups: Sequence[Backup], settings: Settings) -> list[Backup]:
    """Those that no rule keeps: neither among the newest, nor the last of one of the newest days, ISO weeks or months
    that have any. Days are those of UTC. backups: the newest first. Source: ours."""
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
    """When the last backup was to be made, Unix seconds at or before now: steps of backup_hours, counted from backup_at
    of the first day of 1970, so that days begin with one where they divide evenly."""
    hour, minute = map(int, settings.backup_at.split(":"))
    first, step = hour * HOUR_SECONDS + minute * 60, settings.backup_hours * HOUR_SECONDS
    return now - (now - first) % step


@periodic("backups")
def add_due(service: Service, now: int) -> int | None:
    """Add a job when the backup of this slot is missing; answers when the next slot begins. One that was made by a
    clock far ahead counts for none."""
    settings = service.settings
    if not settings.backup_folder:
        return None
    slot, step = slot_of(now, settings), settings.backup_hours * HOUR_SECONDS
    if not any(slot <= each.at <= now + step for each in listed(settings)):
        service.store.write(lambda tx: JobQueue.add(tx, KIND, now, {}, KIND))
    return slot + step


@job(KIND)
def _make_one(service: Service, payload: dict[str, Any], now: int) -> None:
    make(service, now)


def start(ctx: Context) -> None:
    """Let the scheduler make a backup now. Raises AdminOnly, Unavailable without a folder. Source: ours."""
    if not ctx.service.settings.backup_folder:
        raise Unavailable(NO_FOLDER)
    scheduled.begin(ctx, KIND)


def newest(settings: Settings) -> Backup | None:
    """The last backup in the folder; None when there is none."""
    return next(iter(listed(settings)), None)


def _moment(name: str) -> int:
    """When the backup of a name was made; 0 for a name that is none of ours.

    >>> _moment("helpdesk-20261120-101500.db"), _moment("helpdesk-20261320-101500.db"), _moment("helpdesk.db")
    (1795169700, 0, 0)
    """
    match = NAME.match(name)
    try:
        return timegm(time.strptime(match[1], MOMENT)) if match else 0
    except ValueError:  # such as a 13th month
        return 0


def _remove_unfinished(folder: Path) -> None:
    """What backups of this service have left that were killed; one at a time is made."""
    for path in folder.glob(f"helpdesk-*.db{PART}*"):
        if NAME.match(path.name.partition(PART)[0]):
            path.unlink(missing_ok=True)
