"""Creates, verifies and restores backups: checked copies of the database. upkeep/backups.py has the schedule and the
retention."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw

from server import clock
from server.dataclass import dataclass
from server.errors import Damaged, NotFound, Unavailable
from server.store.checkpoints import BUSY_TIMEOUT_MS
from server.store.copying import PART, Progress, copy_database, sync
from server.store.dialect import add_functions
from server.store.schema import PROGRAM, kind_of_file
from server.store.sqlite import damage_of, dangling_of
from server.store.sqlite_schema import SCHEMA_NUMBER

Report = Callable[[str], None]  # called with a phrase for each step
LOGS = ("-wal", "-journal")  # beside a database in use, or after a crash
SHOWN_PROBLEMS = 3
STEPS = ("reading the structure", "following the references", "counting the rows")  # names that `verify` reports
REFUSED = {
    "damaged": "{0} is not a backup of this program, or its beginning is damaged; choose another one",
    "foreign": "{0} is a database of another program; choose a backup created by `helpdesk backup`",
    "newer": "{0} was created by a newer version of this program; restore it with that version",
    "short": "{0} is incomplete: its end is missing. Copy it again from its source, or choose another one",
}


@dataclass(frozen=True)
class Contents:
    """The contents of a verified backup. bytes: its size. tables: {name: number of rows}. schema: its number. program:
    the last version that opened it, "" if it stores none."""

    bytes: int
    tables: dict[str, int]
    schema: int = SCHEMA_NUMBER
    program: str = ""


@dataclass(frozen=True)
class RestoreResult:
    """kept: the previous database, None if there was none. problem: why its log could not be merged into it; "" if it
    was."""

    contents: Contents
    kept: Path | None
    problem: str = ""


def make(database: Path, target: Path, progress: Progress | None = None) -> int:
    """Copies the database, which may be in use, to `target`; returns the size in bytes. Raises Conflict if the file
    exists, Full, Unavailable."""
    copy_database(database, target, progress)
    return target.stat().st_size


def require_backup(file: Path) -> None:
    """Checks a file without reading all of it. Raises NotFound, or Damaged if it is foreign, newer, truncated or in
    use."""
    if not file.is_file():
        raise NotFound(f"there is no backup {file}; check the name")
    kind = kind_of_file(file)
    if kind != "ours":
        raise Damaged(REFUSED[kind].format(file))
    for ending in LOGS:
        log = file.with_name(file.name + ending)
        if log.exists() and log.stat().st_size:
            raise Damaged(
                f"{file} is a database in use and no backup: {log.name} beside it holds a part of it. Make a backup of "
                "it with `helpdesk backup`"
            )


def verify(file: Path, report: Report = lambda what: None) -> Contents:
    """Verifies a whole backup with SQLite's checks and counts its rows. Changes nothing.

    report: called with each of the STEPS, such as "step 1 of 3: reading the structure". Raises NotFound, Damaged."""
    require_backup(file)
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        with closing(apsw.Connection(f"{file.absolute().as_uri()}?immutable=1", flags=flags)) as connection:
            return _contents(connection, file, report)
    except apsw.Error as error:
        raise Damaged(f"{file} is damaged: {error}; choose another backup") from error


def _contents(connection: apsw.Connection, file: Path, report: Report) -> Contents:
    def step(number: int) -> None:
        report(f"step {number} of {len(STEPS)}: {STEPS[number - 1]}")

    add_functions(connection)
    step(1)
    problems = damage_of(connection)
    step(2)
    problems += dangling_of(connection)
    if problems:
        more = f" and {len(problems) - SHOWN_PROBLEMS} more" if len(problems) > SHOWN_PROBLEMS else ""
        raise Damaged(f"{file} is damaged: {'; '.join(problems[:SHOWN_PROBLEMS])}{more}. Choose another backup")
    number = connection.pragma("user_version")
    if number > SCHEMA_NUMBER:
        raise Damaged(REFUSED["newer"].format(file))
    step(3)
    names = connection.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' "
        "ORDER BY name"
    ).fetchall()
    tables = {str(row[0]): int(connection.execute(f'SELECT count(*) FROM "{row[0]}"').get) for row in names}
    program = connection.execute(f"SELECT value FROM meta WHERE name = '{PROGRAM}'").get if "meta" in tables else ""
    return Contents(file.stat().st_size, tables, number, str(program or ""))


def restore(
    file: Path, database: Path, progress: Progress | None = None, report: Report = lambda what: None
) -> RestoreResult:
    """Replaces the database by a backup. The caller holds the lock of its folder.

    A kill leaves either database, whole. Raises the errors of prepare and put_in_place."""
    contents = prepare(file, database, progress, report, report)
    report("putting it in place")
    previous, problem = put_in_place(database)
    return RestoreResult(contents, previous, problem)


def prepare(
    file: Path,
    database: Path,
    progress: Progress | None = None,
    report: Report = lambda what: None,
    steps: Report = lambda what: None,
) -> Contents:
    """Copies a backup beside the database and verifies the copy. Leaves the database, which may be in use, alone.

    report: called with the current stage. steps: called with the progress of the check, as in verify. Raises NotFound,
    Damaged for a rejected file, Full, Unavailable."""
    require_backup(file)
    part = _prepared(database)
    remove_unfinished(database)
    report("copying")
    copy_database(file, part, progress, at_rest=True)
    try:
        report("checking")
        return verify(part, steps)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def put_in_place(database: Path) -> tuple[Path | None, str]:
    """Replaces the database, which must not be open, by the prepared copy. Returns the new name of the previous one, if
    any, and its problem, as in RestoreResult. Raises Unavailable if it is in use or cannot be renamed; it then stays in
    place."""
    part = _prepared(database)
    try:
        problem = _fold_log(database)
        previous = _set_aside(database, "before-restore")
        part.replace(database)
        sync(database.parent)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise Unavailable(f"{database} cannot be replaced ({error.strerror}); it is unchanged") from error
        raise
    return previous, problem


def put_back(database: Path, previous: Path) -> Path:
    """Undoes a restore: the previous database gets its name again; returns the new name of the restored one. Neither
    may be open. A kill leaves either database, whole. Raises Unavailable."""
    try:
        aside = _set_aside(database, "not-restored")
        previous.replace(database)
        for ending in LOGS:
            if previous.with_name(previous.name + ending).exists():
                previous.with_name(previous.name + ending).replace(database.with_name(database.name + ending))
        sync(database.parent)
    except OSError as error:
        raise Unavailable(f"{previous} cannot be put back as {database} ({error.strerror}); do it by hand") from error
    assert aside is not None
    return aside


def _prepared(database: Path) -> Path:
    return database.with_name(f"{database.name}.restoring")


def remove_unfinished(database: Path) -> None:
    """Removes the files of a restore that was killed."""
    for ending in (".restoring", f".restoring{PART}", f".restoring{PART}-journal"):
        database.with_name(database.name + ending).unlink(missing_ok=True)


def _fold_log(database: Path) -> str:
    """Merges the write-ahead log into the file, so that the file is complete; returns the reason if that is impossible,
    else "". SQLite would apply a remaining log to the backup. Raises Unavailable if the database is in use."""
    if not database.exists():
        return ""
    if kind_of_file(database) == "damaged":  # SQLite would delete a log that it cannot match
        return "its beginning is damaged"
    try:
        with closing(apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            if connection.pragma("journal_mode", "DELETE") == "delete":
                return ""
    except (apsw.BusyError, apsw.LockedError):
        pass
    except apsw.Error as error:
        return str(error)
    raise Unavailable(f"{database} is used by another command; wait for its end, then try again")


def _set_aside(database: Path, word: str) -> Path | None:
    """Renames the database, and logs that could not be merged, with this word; returns the new path."""
    if not database.exists():
        return None
    new_path = _free_name(database.with_name(f"{database.name}.{word}-{clock.now()}"))
    endings = [each for each in (*LOGS, "-shm") if database.with_name(database.name + each).exists()]
    for ending in ("", *endings):
        _second_name(database.with_name(database.name + ending), new_path.with_name(new_path.name + ending))
    sync(database.parent)
    for ending in endings:
        database.with_name(database.name + ending).unlink()
    return new_path


def _free_name(path: Path) -> Path:
    free, count = path, 1
    while free.exists():
        count += 1
        free = path.with_name(f"{path.name}-{count}")
    return free


def _second_name(file: Path, name: Path) -> None:
    with contextlib.suppress(OSError):  # a file system without links
        os.link(file, name)
        return
    handle, part = tempfile.mkstemp(dir=name.parent, prefix=name.name, suffix=PART)
    os.close(handle)
    shutil.copyfile(file, part)
    sync(Path(part))
    os.replace(part, name)
