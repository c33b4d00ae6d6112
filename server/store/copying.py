"""Copies a database that is in use into a new file: one moment of it, wholly or not at all.

The source may be written meanwhile: a read transaction holds the moment, so that SQLite's backup never has to begin
again, and writers wait for nothing. The write-ahead log grows as long. Not for what a copy must hold: backup.py."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from server.errors import Conflict, Damaged, Full, HelpdeskError, Unavailable
from server.store.lock import try_lock

STEP_PAGES = 256  # copied at once; in between other threads have their turn
SYNC_STEPS = 64  # steps between two syncs, so that the last one does not hold the disk for long
BUSY_TIMEOUT_MS = 10_000  # another program may begin or end its use of the source
NO_ROOM = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO))
IS_WINDOWS = os.name == "nt"
PART = ".part"  # behind the name of a file that is not whole yet

Progress = Callable[[int, int], None]  # pages that are copied, and all of them


def copy_database(source: Path, target: Path, progress: Progress | None = None, *, at_rest: bool = False) -> None:
    """Copy a database into `target`, a file of its own without a log beside it. It is there, on disk and whole, or it
    is not there.

    at_rest: nobody uses the source, and nothing beside it is looked at. Raises Conflict when there is a target already
    or another copy to it is being made, Full for lack of room, Damaged when the source cannot be read, Unavailable when
    the copy cannot be made for other reasons."""
    if target.exists():
        raise Conflict(f"{target} is there already, and nothing is written over; choose another name or remove it")
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
    """Have a file on disk, or the names in a folder. Raises OSError."""
    if path.is_dir() and IS_WINDOWS:  # which cannot open folders
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _held(part: Path) -> Iterator[None]:
    """The unfinished file, kept from others; one that somebody left who was killed is taken over."""
    if IS_WINDOWS:  # where a file that is open is neither removed nor written where it is locked
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
    """The source, at one moment that lasts until it is closed."""
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
        writing.pragma("synchronous", "OFF")  # what is not whole is worth nothing, so it is synced at its end
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
    """Give the whole file its name, unless somebody else took it meanwhile."""
    try:
        os.link(part, target)
    except FileExistsError:
        raise Conflict(f"{target} has come meanwhile, and nothing is written over; choose another name") from None
    except OSError:  # a file system without links
        if target.exists():
            raise
        part.replace(target)


def _failed(target: Path, error: Exception) -> HelpdeskError:
    reason = getattr(error, "strerror", None) or str(error)
    if isinstance(error, (apsw.FullError, apsw.IOError)) or getattr(error, "errno", 0) in NO_ROOM:
        return Full(f"{target} cannot be written: no room is left, or the disk fails ({reason}); nothing of it is kept")
    return Unavailable(f"{target} cannot be made: {reason}")
