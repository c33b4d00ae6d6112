"""`helpdesk backup` and `helpdesk restore`: copy the database of a data folder into a file and back."""

import argparse
import sys
from pathlib import Path
from typing import Any

from server import app, log
from server.access.service_actor import command_context
from server.cli.arguments import command
from server.cli.opening import settings_of
from server.cli.progress import Progress
from server.errors import HelpdeskError, Invalid, Unavailable
from server.settings import Settings
from server.store import backup, lock
from server.store.backup import Contents
from server.store.database import NO_FILE
from server.upkeep import restoring

VERIFY = "verify"
MIB = 1024 * 1024
COUNTED = ("ticket", "message", "worker")  # record types in the summary, which help to recognize a backup


def declare(commands: Any) -> None:
    make = command(
        commands,
        "backup",
        _backup,
        "Copy the database to a new file, even while a server runs, or verify such a file. "
        "Existing files are never overwritten, and an interrupted copy leaves no file.",
    )
    make.add_argument("action", nargs="?", choices=(VERIFY,), metavar=VERIFY, help="read all of FILE and verify it")
    make.add_argument("file", metavar="FILE", help="the backup")
    back = command(
        commands,
        "restore",
        _restore,
        "Replace the database with a backup, after verifying all of it. No server may be running "
        "on the data folder. The previous database is kept next to it, as "
        "helpdesk.db.before-restore-TIME.",
    )
    back.add_argument("file", metavar="FILE", help="the backup")


def _backup(options: argparse.Namespace) -> None:
    file = Path(options.file)
    if options.action == VERIFY:
        progress = Progress()
        print(f"{file} is valid: {_summary(backup.verify(file, progress.step))}")
        return
    settings = settings_of(options)
    log.configure("warning", settings.log_format)
    if file.is_dir():
        raise Invalid(f"{file} is a folder; enter a file in it")
    database = app.require_file(settings)
    progress = Progress()
    try:
        size = backup.make(database, file, progress.show)
    finally:
        progress.end()
    print(f"{file}: {_size(size)}")


def _restore(options: argparse.Namespace) -> None:
    settings = settings_of(options)
    log.configure("warning", settings.log_format)
    file, folder = Path(options.file), Path(settings.data)
    backup.require_backup(file)
    if settings.database:
        raise Unavailable(
            f"{NO_FILE}. What {file} holds comes into an empty database of PostgreSQL with `helpdesk restore` into an "
            "empty data folder without the setting database, and `helpdesk migrate-database` from there"
        )
    app.make_folder(folder)
    folder_lock = lock.FolderLock(folder)
    folder_lock.take()
    progress = Progress()
    try:
        done = backup.restore(file, folder / app.DATABASE, progress.show, progress.step)
        _log(settings, file, done.kept)
    finally:
        progress.end()
        folder_lock.release()
    print(f"{folder / app.DATABASE} is {file} now: {_summary(done.contents)}")
    if done.kept is not None:
        print(f"the previous database is {done.kept}{f' ({done.problem})' if done.problem else ''}")


def _log(settings: Settings, file: Path, previous: Path | None) -> None:
    """Logs the restoration in the restored database. If that cannot be opened, the next start reports the reason."""
    try:
        service = app.open_service(settings)
    except HelpdeskError as error:
        print(f"helpdesk: this was not added to the activity log: {error.message}", file=sys.stderr)
        return
    try:
        restoring.log_restored(command_context(service), file.name, "" if previous is None else previous.name)
    finally:
        service.store.close()


def _summary(contents: Contents) -> str:
    counts = [(contents.tables.get(name, 0), name) for name in COUNTED]
    return ", ".join([_size(contents.bytes), *(f"{n:,} {name}{'' if n == 1 else 's'}" for n, name in counts)])


def _size(size: int) -> str:
    return f"{size / MIB:,.1f} MiB"
