"""Copies a database that is in use into a new file: a snapshot, complete or not at all.

Writes may go on: a read transaction holds the snapshot, so that SQLite's backup never restarts and writers do not wait.
The write-ahead log grows meanwhile. backup.py checks the contents."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from server.errors import Conflict, Damaged, Full, HelpdeskError, Unavailable
from server.store.lock import try_lock

STEP_PAGES = 256  # per step; other threads run in between
SYNC_STEPS = 64  # steps between two syncs, so that the last one does not hold the disk for long
BUSY_TIMEOUT_MS = 10_000  # another program may open or close the source
NO_ROOM = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO))
IS_WINDOWS = os.name == "nt"
PART = ".part"  # suffix of an incomplete file

Progress = Callable[[int, int], None]  # copied pages, all pages


def copy_database(source: Path, target: Path, progress: Progress | None = None, *, at_rest: bool = False) -> None:
    """Copies a database into `target`, a file without a log. The target appears only once it is complete and on disk.

    at_rest: the source is not in use, and files beside it are ignored. Raises Conflict if the target exists or is being
    copied, Full for lack of room, Damaged if the source cannot be read, otherwise Unavailable."""
    if target.exists():
        raise Conflict(f"{target} already exists and is not overwritten; choose another name or remove it")
    part = target.with_name(target.name + PART)
    try:
        with _held(part):
            try:
                with closing(_reading(source, at_rest=at_rest)) as reading:
                    _require_room(reading, part)
                    _copy(reading, part, progress)
                sync(part)
                give_name(part, target)
            finally:
                for name in (part, part.with_name(part.name + "-journal")):
                    name.unlink(missing_ok=True)
        sync(target.parent)
    except (apsw.CorruptError, apsw.NotADBError) as error:
        advice = "choose another backup" if at_rest else "restore a backup"
        raise Damaged(f"{source} is damaged: {error}; {advice}") from error
    except (apsw.Error, OSError) as error:
        raise _failed(target, error) from error


def sync(path: Path) -> None:
    """Syncs a file, or the names in a folder, to disk. Raises OSError."""
    if path.is_dir() and IS_WINDOWS:  # folders cannot be opened there
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _held(part: Path) -> Iterator[None]:
    """Locks the unfinished file, and takes over one that a killed process left."""
    if IS_WINDOWS:  # where an open file cannot be removed
        try:
            part.unlink(missing_ok=True)
        except PermissionError as error:
            raise _is_written(part) from error
        yield
        return
    with open(os.open(part, os.O_RDWR | os.O_CREAT, 0o600), "r+", encoding="utf-8") as file:
        if not try_lock(file):
            raise _is_written(part)
        file.truncate(0)
        yield


def _is_written(part: Path) -> Conflict:
    return Conflict(f"{part} is being written by another process; wait for it or choose another name")


def _reading(source: Path, *, at_rest: bool) -> apsw.Connection:
    """Opens the source at a snapshot that lasts until it is closed."""
    if at_rest:
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection(f"{source.absolute().as_uri()}?immutable=1", flags=flags)
    else:
        connection = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    for pragma in ("query_only=1", "mmap_size=0"):
        connection.execute(f"PRAGMA {pragma}").fetchall()
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    return connection


def _require_room(reading: apsw.Connection, part: Path) -> None:
    pages, size = (reading.pragma(name) for name in ("page_count", "page_size"))
    free = shutil.disk_usage(part.parent).free
    if free < pages * size:
        raise Full(
            f"{part.parent} has {free // 2**20:,} MiB of free room, and {pages * size // 2**20 + 1:,} MiB are needed; "
            "free some or choose another disk"
        )


def _copy(reading: apsw.Connection, part: Path, progress: Progress | None) -> None:
    with closing(apsw.Connection(str(part))) as writing:
        writing.pragma("synchronous", "OFF")  # an incomplete copy is worthless, so it is synced at the end
        with writing.backup("main", reading, "main") as backup:
            steps = 0
            while not backup.done:
                backup.step(STEP_PAGES)
                steps += 1
                if steps % SYNC_STEPS == 0:
                    sync(part)
                if progress is not None:
                    progress(backup.page_count - backup.remaining, backup.page_count)
        writing.pragma("journal_mode", "DELETE")  # one file, with all that belongs to it


def give_name(part: Path, target: Path) -> None:
    """Renames the complete file, unless the target has appeared meanwhile."""
    try:
        os.link(part, target)
    except FileExistsError:
        raise Conflict(f"{target} was created in the meantime and is not overwritten; choose another name") from None
    except OSError:  # a file system without links
        if target.exists():
            raise
        part.replace(target)


def _failed(target: Path, error: Exception) -> HelpdeskError:
    reason = getattr(error, "strerror", None) or str(error)
    if isinstance(error, (apsw.FullError, apsw.IOError)) or getattr(error, "errno", 0) in NO_ROOM:
        return Full(
            f"{target} cannot be written: no space is left, or the disk fails ({reason}); the incomplete file was "
            f"removed"
        )
    return Unavailable(f"{target} cannot be created: {reason}")
